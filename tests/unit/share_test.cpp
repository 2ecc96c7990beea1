// How CPUs are dealt out on nodes made by hand.
#include "affinity/share.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "affinity/binding.hpp"
#include "affinity/cores.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/shares.hpp"

namespace affinity = railhead::affinity;
using namespace railhead::test::shares;
using affinity::Reach;
using railhead::test::cpus;

namespace {

std::string shares(const Node& node, const std::string& granted, Reach reach = Reach::local) {
    std::vector<std::string> lists;
    for (const auto& share : affinity::share_cpus(node, all_gpus(node), cpus(granted), reach)) {
        lists.push_back(to_string(share.cpus));
    }
    return fmt::format("{}", fmt::join(lists, " | "));
}

}  // namespace

TEST_CASE("each core goes to one of the GPUs that it is near, as evenly as can be",
          "[affinity][share]") {
    struct Case {
        std::string why;
        unsigned cores, threads;
        std::vector<std::string> near;
        std::string granted, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"equal sets: runs that differ by a core",
         8,
         1,
         {"0-7", "0-7", "0-7"},
         "0-7",
         "0-1 | 2-4 | 5-7"},
        {"SNC: one GPU's driver says the socket, the other's a part of it",
         8,
         1,
         {"0-7", "0-3"},
         "0-7",
         "4-7 | 0-3"},
        {"a part within a part", 16, 1, {"0-15", "0-7", "0-3"}, "0-15", "8-15 | 4-7 | 0-3"},
        {"sets that meet in the middle", 12, 1, {"0-7", "4-11"}, "0-11", "0-5 | 6-11"},
        {"sets that meet, and little is granted of one",
         12,
         1,
         {"0-7", "4-11"},
         "0-7",
         "0-3 | 4-7"},
        {"a chain: the one in the middle yields to both sides",
         9,
         1,
         {"0-2", "0-8", "6-8"},
         "0-8",
         "0-2 | 3-5 | 6-8"},
        {"a GPU that the machine does not place: what no other is near",
         16,
         1,
         {"0-7", "0-7", "0-15"},
         "0-15",
         "0-3 | 4-7 | 8-15"},
        {"both threads of a core stay together",
         4,
         2,
         {"0-3,4-7", "0-1,4-5"},
         "0-7",
         "2-3,6-7 | 0-1,4-5"},
        {"--hint=nomultithread: the second threads are not granted",
         4,
         2,
         {"0-3,4-7", "0-1,4-5"},
         "0-3",
         "2-3 | 0-1"},
        {"more GPUs than cores: threads",
         2,
         2,
         {"0-3", "0-3", "0-3", "0-3"},
         "0-3",
         "0 | 2 | 1 | 3"},
        {"more GPUs than threads: all share", 1, 1, {"0", "0"}, "0", "0 | 0"},
        {"one has enough beside two that share", 4, 1, {"0", "0", "0-3"}, "0-3", "0 | 0 | 1-3"},
        {"no grant near one", 8, 1, {"0-3", "4-7"}, "0-3", "0-3 | "},
    }));
    CAPTURE(c.why);
    CHECK(shares(node_of(c.cores, c.threads, c.near), c.granted) == c.expected);
}

TEST_CASE("a core that no GPU is near goes round within its socket, if it is asked for",
          "[affinity][share]") {
    // Two sockets of two NUMA nodes each; a GPU on nodes 0 and 2 (bug report 43 has eight nodes).
    auto node = node_of(16, 1, {"0-3", "8-11"});
    for (unsigned i = 0; i < 4; ++i) {
        node.numa.push_back({i, i / 2, cpus(fmt::format("{}-{}", 4 * i, 4 * i + 3)), 0});
    }
    CHECK(shares(node, "0-15") == "0-3 | 8-11");
    CHECK(shares(node, "0-15", Reach::socket) == "0-7 | 8-15");

    const affinity::StepTasks step{{0, 1}, 2};
    const auto bound = [&](unsigned cpus_per_task) {
        return to_string(bind(node, step, {{0}}, {cpus("0-15"), cpus("0-7"), cpus_per_task}).cpus);
    };
    CHECK(bound(4) == "0-3");
    CHECK(bound(5) == "0-7");
}

TEST_CASE("cores beside a GPU that the step does not have are not taken for spare",
          "[affinity][share]") {
    auto node = node_of(8, 1, {"0-3", "4-7"});
    node.numa = {{0, 0, cpus("0-3"), 0}, {1, 0, cpus("4-7"), 0}};
    const auto shares = affinity::share_cpus(node, {0}, cpus("0-7"), Reach::socket);
    CHECK(shares[0].cpus == cpus("0-3"));
}

TEST_CASE("48 cores of 8 NUMA nodes for 4 GPUs: 6 cores near each, 12 if they are asked for",
          "[affinity][share]") {
    // Bug report 43: two sockets, two threads a core, numbered as Linux does.
    auto node = node_of(48, 2, {"6-11,54-59", "12-17,60-65", "30-35,78-83", "42-47,90-95"});
    for (unsigned i = 0; i < 8; ++i) {
        node.numa.push_back(
            {i, i / 4, cpus(fmt::format("{}-{},{}-{}", 6 * i, 6 * i + 5, 6 * i + 48, 6 * i + 53)),
             0});
    }
    const auto bound = [&](const std::string& granted, unsigned cpus_per_task) {
        const affinity::Grant grant{cpus(granted), cpus(granted), cpus_per_task};
        return bind(node, {{0, 1, 2, 3}, 4}, {{1}}, grant).cpus;
    };
    CHECK(to_string(bound("0-95", 12)) == "12-17,60-65");
    const auto wide = bound("0-95", 24);
    CHECK(affinity::cores_within(node, wide).size() == 12);
    CHECK(wide.size() == 24);
    CHECK((wide & cpus("12-17,60-65")) == cpus("12-17,60-65"));
    CHECK(to_string(bound("0-47", 6)) == "12-17");  // nomultithread
}

TEST_CASE("no CPU outside the step's cpuset is handed out", "[affinity][share]") {
    // Bug report 13: a script of masks for the whole node, in a step that has a part of it.
    const auto node = node_of(32, 2, {"0-15,32-47", "0-15,32-47", "16-31,48-63", "16-31,48-63"});
    CHECK(shares(node, "0-7,32-39,16-19,48-51") ==
          "0-3,32-35 | 4-7,36-39 | 16-17,48-49 | 18-19,50-51");
}
