// How long a review takes: the time that slurmctld spends in us, under its locks, at each
// submission.
//
//   review_bench [--budget MICROSECONDS] [--reviews N]
//                                            exit 1 when the p99 of all requests is above it, or
//                                            when N (a million) reviews leave more memory in use
//
// 10,240 nodes of 8 GPUs behind 512 leaves, 20 policy rules, requests of every kind in turn; once
// with a fixed wait alone, once with a price, leaves set aside and lemons.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/lemons.hpp"
#include "policy/parse.hpp"
#include "policy/review.hpp"
#include "support/clusters.hpp"

namespace {

using namespace railhead;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t nodes = 10'240;
constexpr std::uint32_t leaves = 512;

std::string policy_text(const std::string& placement) {
    std::string toml = "mode = \"enforce\"\nnotes = \"all\"\n" + placement;
    for (int i = 0; i < 20; ++i) {
        toml += fmt::format(
            "[[rule]]\nname = \"rule {0}\"\n"
            "match = {{ account = [\"team{0}-*\", \"*-llm{0}\"], min_gpus = {1} }}\n"
            "placement.wait_most = \"{0}m\"\n",
            i, 8 * i);
    }
    return toml;
}

/// The last leaf of every eight is set aside; every 500th node is a lemon.
policy::Site site_with_all_rules(const test::ClusterShape& shape) {
    auto cluster = test::make_cluster(shape);
    std::string lemons;
    for (std::uint32_t i = 0; i < nodes; ++i) {
        cluster.nodes[i].features = {"h100", i % 2 == 0 ? "even" : "odd"};
        if (i / (nodes / leaves) % 8 == 7) {
            cluster.nodes[i].features.emplace_back("small");
        }
        lemons += i % 500 == 0 ? fmt::format("n{} never slow\n", i + 1) : "";
    }
    auto policy = policy::parse_policy(
        policy_text("placement = { slowdown = 0.06, set_aside = \"small\" }\n"
                    "checkpoint = { declares = [\"RESUME\", \"LLM_LOAD\"], signal = \"USR2\" }\n"),
        "railhead.toml");
    return policy::compile(std::move(policy.value()), std::move(cluster), {test::make_fabric(shape)},
                           policy::parse_lemons(lemons, "railhead.lemons").entries);
}

struct Named {
    const char* name;
    job::JobRequest request;
};

/// A batch script of a hundred lines that starts its tasks at the end.
std::string_view script() {
    static const auto text = [] {
        std::string lines = "#!/bin/bash\n";
        for (int i = 0; i < 100; ++i) {
            lines += fmt::format("export A_VARIABLE_OF_THE_SCRIPT_{0}=\"a value, the {0}th\"\n", i);
        }
        return lines + "srun python train.py\n";
    }();
    return text;
}

/// An environment of 200 variables, none of them ours.
std::span<const char* const> environment() {
    static const std::vector<const char*> variables(200, "A_VARIABLE_OF_THE_USER=a value");
    return variables;
}

std::vector<Named> requests() {
    std::vector<Named> all;
    const auto add = [&](const char* name, auto set) {
        job::JobRequest request;
        request.account = "team7-llm";
        set(request);
        all.push_back({name, request});
    };
    add("CPU job", [](auto& r) { r.tasks = 64; });
    add("1 GPU", [](auto& r) { r.gpus_per_job = "gres/gpu:1"; });
    add("16 GPUs, count open", [](auto& r) {
        r.gpus_per_job = "gres/gpu:16";
        r.tasks = 16;
    });
    add("1,024 nodes stated", [](auto& r) {
        r.gpus_per_node = "gres/gpu:h100:8";
        r.min_nodes = r.max_nodes = 1024;
        r.tasks_per_node = 8;
        r.tasks = 8192;
    });
    add("isolated GPUs", [](auto& r) {
        r.gpus_per_task = "gres/gpu:1";
        r.tasks = 512;
    });
    add("16 nodes, -C and -x", [](auto& r) {
        r.gpus_per_node = "gres/gpu:8";
        r.min_nodes = r.max_nodes = 16;
        r.constraint = "h100&even";
        r.exclude = "n[1-20,100,300-310]";
    });
    const auto batch = [](auto& r) {
        r.gpus_per_node = "gres/gpu:8";
        r.min_nodes = r.max_nodes = 16;
        r.batch = true;
        r.script = script();
        r.environment = environment();
    };
    add("16 nodes, sbatch", batch);
    add("16 nodes, can resume", [&](auto& r) {
        batch(r);
        r.checkpoint.interval = "auto";  // the policy's signal goes by the script
    });
    add("16 nodes, with a clock", [&](auto& r) {
        batch(r);
        r.checkpoint.signal = "USR1";
    });
    return all;
}

double percentile(std::vector<double>& sorted, double share) {
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

/// Microseconds of each of `rounds` reviews, sorted.
std::vector<double> measure(const job::JobRequest& request, const policy::Site& site, int rounds) {
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(rounds));
    std::size_t kept = 0;
    for (int i = 0; i < rounds; ++i) {
        const auto start = Clock::now();
        const auto review = policy::review(request, site);
        const auto text = policy::user_text(review, request, site.policy.notes);
        const auto line = policy::log_line(review, 1000);
        const std::chrono::duration<double, std::micro> took = Clock::now() - start;
        kept += text.size() + line.size();
        times.push_back(took.count());
    }
    std::ranges::sort(times);
    return kept > 0 ? times : std::vector<double>{};
}

/// The p99 of the slowest kind of request.
double measure_all(const char* title, const policy::Site& site) {
    fmt::print("{}\n\n{:<22}{:>10}{:>10}{:>10}\n", title, "review of", "p50 us", "p99 us", "max us");
    double worst = 0;
    for (const auto& [name, request] : requests()) {
        auto times = measure(request, site, 20'000);
        worst = std::max(worst, percentile(times, 0.99));
        fmt::print("{:<22}{:>10.2f}{:>10.2f}{:>10.1f}\n", name, percentile(times, 0.5),
                   percentile(times, 0.99), times.back());
    }
    fmt::print("\n");
    return worst;
}

/// KiB of memory in use by this process.
long resident_kib() {
    std::ifstream statm{"/proc/self/statm"};
    long size = 0;
    long resident = 0;
    statm >> size >> resident;
    constexpr long page_kib = 4;
    return resident * page_kib;
}

/// How many KiB `reviews` reviews leave in use that a hundredth of them did not.
long growth_kib(const policy::Site& site, std::size_t reviews) {
    const auto all = requests();
    const auto review_times = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto& request = all[i % all.size()].request;
            const auto review = policy::review(request, site);
            static_cast<void>(policy::user_text(review, request, site.policy.notes));
        }
        return resident_kib();
    };
    const auto before = review_times(reviews / 100);
    return review_times(reviews) - before;
}

}  // namespace

int main(int argc, char** argv) {
    double budget = 0;
    std::size_t reviews = 1'000'000;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--budget") == 0) {
            budget = std::strtod(argv[i + 1], nullptr);
        } else if (std::strcmp(argv[i], "--reviews") == 0) {
            reviews = std::strtoul(argv[i + 1], nullptr, 10);
        }
    }
    test::ClusterShape shape;
    shape.nodes = nodes;
    shape.leaves = leaves;
    const auto start = Clock::now();
    const auto plain = test::make_site(policy_text("placement.wait = \"5m\"\n"), shape);
    const std::chrono::duration<double, std::milli> compiled = Clock::now() - start;
    fmt::print("10,240 nodes, 512 leaves, 20 rules; compiled in {:.1f} ms\n\n", compiled.count());
    const auto all = site_with_all_rules(shape);
    const auto worst = std::max(measure_all("a fixed wait", plain),
                                measure_all("a price, leaves set aside, 21 lemons", all));
    constexpr long most_growth_kib = 256;
    const auto growth = growth_kib(all, reviews);
    fmt::print("{} reviews: {} KiB more in use\n", reviews, growth);
    if (budget > 0 && (worst > budget || growth > most_growth_kib)) {
        fmt::print("\nworst p99 {:.1f} us, budget {:.1f} us; growth {} KiB, at most {}\n", worst, budget,
                   growth, most_growth_kib);
        return 1;
    }
    return 0;
}
