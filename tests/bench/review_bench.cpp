// How long a review takes: the time that slurmctld spends in us, under its locks, at each
// submission.
//
//   review_bench [--budget MICROSECONDS]     exit 1 when the p99 of all requests is above it
//
// 10,240 nodes of 8 GPUs behind 512 leaves, 20 policy rules, requests of every kind in turn.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/review.hpp"
#include "support/clusters.hpp"

namespace {

using namespace railhead;
using Clock = std::chrono::steady_clock;

std::string policy_text() {
    std::string toml = "mode = \"enforce\"\nnotes = \"all\"\n";
    for (int i = 0; i < 20; ++i) {
        toml += fmt::format(
            "[[rule]]\nname = \"rule {0}\"\n"
            "match = {{ account = [\"team{0}-*\", \"*-llm{0}\"], min_gpus = {1} }}\n"
            "placement.wait = \"{0}m\"\n",
            i, 8 * i);
    }
    return toml;
}

struct Named {
    const char* name;
    job::JobRequest request;
};

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

}  // namespace

int main(int argc, char** argv) {
    double budget = 0;
    if (argc == 3 && std::strcmp(argv[1], "--budget") == 0) {
        budget = std::strtod(argv[2], nullptr);
    }
    test::ClusterShape shape;
    shape.nodes = 10'240;
    shape.leaves = 512;
    const auto start = Clock::now();
    const auto site = test::make_site(policy_text(), shape);
    const std::chrono::duration<double, std::milli> compiled = Clock::now() - start;
    fmt::print("10,240 nodes, 512 leaves, 20 rules; compiled in {:.1f} ms\n\n", compiled.count());
    fmt::print("{:<22}{:>10}{:>10}{:>10}\n", "review of", "p50 us", "p99 us", "max us");
    double worst = 0;
    for (const auto& [name, request] : requests()) {
        auto times = measure(request, site, 20'000);
        worst = std::max(worst, percentile(times, 0.99));
        fmt::print("{:<22}{:>10.2f}{:>10.2f}{:>10.1f}\n", name, percentile(times, 0.5),
                   percentile(times, 0.99), times.back());
    }
    if (budget > 0 && worst > budget) {
        fmt::print("\nworst p99 {:.1f} us is above the budget of {:.1f} us\n", worst, budget);
        return 1;
    }
    return 0;
}
