// Memory of tasks, the map for launchers, and the line that tells of both.
#include "affinity/memory.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "affinity/binding_line.hpp"
#include "affinity/gpu_map.hpp"
#include "affinity/own_memory.hpp"
#include "affinity/share.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"

namespace affinity = railhead::affinity;
using affinity::Memory;
using affinity::MemoryPolicy;
using railhead::test::cpus;
using railhead::test::node_with;
using railhead::test::recorded_node;
using Positions = std::vector<std::size_t>;

namespace {

/// NUMA nodes 0 and 1 of four CPUs each, and 2, the memory of a GPU; GPU i is on node i.
railhead::node::Node three_nodes() {
    auto node = node_with(std::vector<std::vector<railhead::node::Path>>(3));
    node.numa = {{0, 0, cpus("0-3"), 0}, {1, 0, cpus("4-7"), 0}, {2, 0, {}, 0}};
    for (unsigned i = 0; i < 3; ++i) {
        node.gpus[i].numa = i;
    }
    return node;
}

}  // namespace

TEST_CASE("memory comes from the NUMA node of the task's GPUs", "[affinity][memory]") {
    struct Case {
        std::string why;
        Positions gpus;
        MemoryPolicy policy;
        std::string allowed, mask, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"preferred", {1}, MemoryPolicy::prefer, "0-2", "4-7", "prefer: 1"},
        {"bound, by policy", {1}, MemoryPolicy::bind, "0-2", "4-7", "bind: 1"},
        {"off, by policy", {1}, MemoryPolicy::off, "0-2", "4-7", "none: switched off"},
        {"GPUs of two nodes", {0, 1}, MemoryPolicy::prefer, "0-2", "0-7", "prefer: 0-1"},
        {"only nodes that the cgroup allows",
         {1},
         MemoryPolicy::prefer,
         "0",
         "0-7",
         "none: memory node 1 is not allowed here"},
        {"never the memory of a GPU",
         {2},
         MemoryPolicy::prefer,
         "0-2",
         "0-7",
         "none: memory node 2 has no CPUs"},
        {"CPUs on the wrong node: near them is better",
         {1},
         MemoryPolicy::prefer,
         "0-2",
         "0-3",
         "none: none of its CPUs is near memory node 1"},
        {"all or nothing",
         {0, 1},
         MemoryPolicy::bind,
         "0",
         "0-7",
         "none: memory node 1 is not allowed here"},
    }));
    CAPTURE(c.why);
    CHECK(to_string(affinity::place_memory(
              three_nodes(), c.gpus, {c.policy, cpus(c.allowed), cpus(c.mask)})) == c.expected);
}

TEST_CASE("a GPU near several NUMA nodes leaves memory where it is touched", "[affinity][memory]") {
    auto node = three_nodes();
    node.gpus[0].numa.reset();
    const auto memory =
        affinity::place_memory(node, {0}, {MemoryPolicy::prefer, cpus("0-1"), cpus("0-7")});
    CHECK(memory.nodes.empty());
    CHECK(to_string(memory) == "none: GPU 0 has no NUMA node of its own");
}

TEST_CASE("the allowed memory is read from the kernel's status", "[affinity][memory]") {
    CHECK(affinity::parse_allowed_memory("Mems_allowed:\t3\nMems_allowed_list:\t0-1,4\n") ==
          cpus("0-1,4"));
    CHECK_FALSE(affinity::parse_allowed_memory("Cpus_allowed_list:\t0-1\n"));
    CHECK_FALSE(affinity::parse_allowed_memory("Mems_allowed_list:\tx\n"));
}

TEST_CASE("the kernel keeps the policy for what a process starts", "[affinity][memory]") {
    const auto allowed = affinity::read_allowed_memory();
    if (!allowed || !allowed->contains(0)) {
        SKIP("needs memory node 0");
    }
    const auto [policy, word] = GENERATE(table<MemoryPolicy, std::string>(
        {{MemoryPolicy::prefer, "prefer:0"}, {MemoryPolicy::bind, "bind:0"}}));
    const pid_t child = ::fork();
    if (child == 0) {
        if (!affinity::write_own_memory({policy, cpus("0"), {}})) {
            ::_exit(2);
        }
        const auto script = "grep -q ' " + word + " ' /proc/self/numa_maps";
        ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
        ::_exit(3);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a memory node that the kernel refuses is an error and changes nothing",
          "[affinity][memory][errors]") {
    const auto done = affinity::write_own_memory({MemoryPolicy::bind, cpus("900"), {}});
    REQUIRE_FALSE(done);
    CHECK_THAT(done.error().message, ContainsSubstring("the kernel refuses memory node 900: "));
}

// ---- the map ------------------------------------------------------------------------------

namespace {

nlohmann::json map_of(const railhead::node::Node& node, const Positions& gpus,
                      const std::string& granted, const Memory& memory = {}) {
    const auto shares = affinity::share_cpus(node, gpus, cpus(granted));
    std::vector<affinity::MapEntry> entries;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        entries.push_back({gpus[i], shares[i].cpus, memory, std::to_string(gpus[i])});
    }
    return nlohmann::json::parse(
        affinity::gpu_map(node, railhead::rails::plan_rails(node), entries));
}

}  // namespace

TEST_CASE("the map tells each local rank its CPUs, memory and NIC", "[affinity][map]") {
    const auto map = map_of(recorded_node("dgx-h100.xml"), {0, 1, 2, 3, 4, 5, 6, 7}, "0-63",
                            {MemoryPolicy::prefer, cpus("1"), {}});
    REQUIRE(map.size() == 8);
    CHECK(map[4] == nlohmann::json{{"gpu", 4},
                                   {"visible", "4"},
                                   {"index", 4},
                                   {"pci", "0000:9d:00.0"},
                                   {"numa", 1},
                                   {"cpus", "32-39"},
                                   {"memory", 1},
                                   {"memory_policy", "prefer"},
                                   {"nic", "mlx5_6:1"},
                                   {"path", "PXB"}});
}

TEST_CASE("the map goes by the task's own numbers", "[affinity][map]") {
    const auto map = map_of(recorded_node("dgx-h100.xml"), {5, 2}, "0-7");
    CHECK(map[0]["gpu"] == 0);
    CHECK(map[0]["index"] == 5);
    CHECK(map[0]["cpus"] == "");
    CHECK_FALSE(map[0].contains("memory"));
    CHECK(map[1]["index"] == 2);
    CHECK(map[1]["cpus"] == "0-7");
}

TEST_CASE("a name that would break JSON does not", "[affinity][map]") {
    auto node = node_with({{railhead::node::Path::pix}});
    node.nics[0].name = "a\"b\\c";
    const auto map = map_of(node, {0}, "");
    CHECK(map[0]["nic"] == "a?b?c:1");
    CHECK_FALSE(map[0].contains("numa"));
}

// ---- the line -----------------------------------------------------------------------------

TEST_CASE("one line says what a task was given", "[affinity][line]") {
    affinity::BindingLine line;
    line.who = "node n01 task 3 rank 11";
    line.gpus = {{3, "0000:45:00.0"}};
    line.cpus = cpus("12-15,76-79");
    line.numa = "0";
    line.memory = "0";
    line.nics = "mlx5_3:1";
    line.path = "PIX";
    CHECK(to_string(line) ==
          "node n01 task 3 rank 11: GPU 3 (0000:45:00.0), CPUs 12-15,76-79 (NUMA 0), memory 0, "
          "NIC mlx5_3:1 PIX");

    line.cpus_kept = "--cpu-bind was given";
    line.memory = "";
    line.nics = "";
    CHECK(to_string(line) ==
          "node n01 task 3 rank 11: GPU 3 (0000:45:00.0), CPUs 12-15,76-79 (NUMA 0) as they were: "
          "--cpu-bind was given, memory as it was, NIC none");
}
