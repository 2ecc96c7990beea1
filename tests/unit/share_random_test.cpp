// How CPUs are dealt out on nodes made at random.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "affinity/cores.hpp"
#include "affinity/share.hpp"
#include "support/catch.hpp"
#include "support/shares.hpp"

namespace affinity = railhead::affinity;
using namespace railhead::test::shares;
using railhead::CpuSet;

namespace {

struct Made {
    Node node;
    Positions gpus;
    CpuSet granted;
};

unsigned up_to(std::mt19937& random, unsigned most) {
    return static_cast<unsigned>(random() % (most + 1));
}

/// A run of cores, with all their threads.
std::string some_cores(std::mt19937& random, unsigned cores, unsigned threads) {
    const auto first = up_to(random, cores - 1);
    const auto last = first + up_to(random, cores - 1 - first);
    std::string list;
    for (unsigned thread = 0; thread < threads; ++thread) {
        list += fmt::format("{}{}-{}", thread == 0 ? "" : ",", first + thread * cores,
                            last + thread * cores);
    }
    return list;
}

/// GPUs with few different sets of local CPUs, as machines have them, and any CPUs granted.
Made make(unsigned seed) {
    std::mt19937 random{seed};
    const auto cores = 1 + up_to(random, 23);
    const auto threads = 1 + up_to(random, 1);
    std::vector<std::string> sets(1 + up_to(random, 3));
    std::ranges::generate(sets, [&] { return some_cores(random, cores, threads); });
    std::vector<std::string> near(1 + up_to(random, 7));
    std::ranges::generate(near, [&] { return sets[random() % sets.size()]; });
    Made made{node_of(cores, threads, near), {}, {}};
    made.gpus = all_gpus(made.node);
    for (unsigned cpu = 0; cpu < cores * threads; ++cpu) {
        if (up_to(random, 3) > 0) {
            made.granted.add(cpu);
        }
    }
    return made;
}

/// Whether each GPU can have a core of its own (Kuhn's matching).
bool cores_go_round(const Made& made) {
    const auto cores = affinity::cores_within(made.node, made.granted);
    std::vector<std::size_t> owner(cores.size(), made.gpus.size());
    std::vector<bool> seen;
    const std::function<bool(std::size_t)> seat = [&](std::size_t gpu) {
        for (std::size_t core = 0; core < cores.size(); ++core) {
            if (seen[core] || (cores[core] & made.node.gpus[gpu].cpus).empty()) {
                continue;
            }
            seen[core] = true;
            if (owner[core] == made.gpus.size() || seat(owner[core])) {
                owner[core] = gpu;
                return true;
            }
        }
        return false;
    };
    return std::ranges::all_of(made.gpus, [&](std::size_t gpu) {
        seen.assign(cores.size(), false);
        return seat(gpu);
    });
}

std::size_t cores_of(const Made& made, const affinity::Share& share) {
    return affinity::cores_within(made.node, share.cpus).size();
}

}  // namespace

TEST_CASE("shares of any node are disjoint, granted, even, and leave no near core unused",
          "[affinity][share]") {
    unsigned meet = 0;
    for (unsigned seed = 0; seed < 3000; ++seed) {
        const auto made = make(seed);
        const auto shares = affinity::share_cpus(made.node, made.gpus, made.granted);
        CAPTURE(seed);
        CpuSet used;
        CpuSet near;
        bool disjoint = true;
        for (const auto gpu : made.gpus) {
            const auto& share = shares[gpu];
            const auto local = made.node.gpus[gpu].cpus & made.granted;
            CHECK((share.cpus - local).empty());
            CHECK(share.cpus.empty() == local.empty());
            disjoint = disjoint && (share.cpus & used).empty();
            used |= share.cpus;
            near |= local;
        }
        CHECK(used == near);
        if (!cores_go_round(made)) {
            ++meet;
            continue;
        }
        CHECK(disjoint);
        for (const auto a : made.gpus) {
            CHECK(shares[a].gpus == 1);
            for (const auto b : made.gpus) {
                if (made.node.gpus[a].cpus == made.node.gpus[b].cpus) {
                    CHECK(cores_of(made, shares[a]) <= cores_of(made, shares[b]) + 1);
                }
            }
        }
    }
    CHECK(meet > 300);  // both kinds are among them
    CHECK(meet < 2700);
}

TEST_CASE("no GPU has two cores more than another that could take one of them",
          "[affinity][share]") {
    for (unsigned seed = 0; seed < 3000; ++seed) {
        const auto made = make(seed);
        if (!cores_go_round(made)) {
            continue;
        }
        const auto shares = affinity::share_cpus(made.node, made.gpus, made.granted);
        CAPTURE(seed);
        for (const auto rich : made.gpus) {
            for (const auto poor : made.gpus) {
                if (!(shares[rich].cpus & made.node.gpus[poor].cpus).empty()) {
                    CHECK(cores_of(made, shares[rich]) <= cores_of(made, shares[poor]) + 1);
                }
            }
        }
    }
}
