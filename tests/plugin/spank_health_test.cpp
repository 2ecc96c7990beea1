// What becomes of a step on a node whose rails are not as they should be.
#include "plugin/spank_host.hpp"

#include <cstdint>
#include "support/sysfs_tree.hpp"

using fake_spank::job;
using namespace spank_host;
using railhead::test::SysfsTree;

namespace {

/// The plugin on two-cpu-8gpu.xml, with the ports of `tree`.
std::vector<std::string> arguments(const SysfsTree& tree, const std::string& health) {
    std::vector<std::string> words{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"),
                                   "nccl_conf=/nonexistent", "root=" + tree.root()};
    if (!health.empty()) {
        words.push_back("health=" + health);
    }
    return words;
}

/// A step on the node n01.
fake_spank::Job& step_here(const std::string& gpus, std::uint32_t tasks, std::uint32_t local_id) {
    auto& job = step(gpus, tasks, local_id);
    job.environment["SLURMD_NODENAME"] = "n01";
    return job;
}

void add_rails(const SysfsTree& tree) {
    tree.add_ports(railhead::test::recorded_node("two-cpu-8gpu.xml").nics);
}

void break_one(const SysfsTree& tree) {
    tree.write_port("mlx5_3", "state", "1: DOWN");
}

const std::string down = "mlx5_3 port 1 down";

}  // namespace

TEST_CASE("a node whose rails are well says nothing", "[plugin][health]") {
    const OwnMask mask;
    const auto* const health = GENERATE("note", "warn", "strict");
    CAPTURE(health);
    const SysfsTree tree;
    add_rails(tree);
    step_here("0", 1, 0);
    Plugin plugin{arguments(tree, health)};
    REQUIRE(plugin.run_step() == 0);
    CHECK(job().log.empty());
}

TEST_CASE("what is wrong with a rail is noted, told, or ends the step, as the site says",
          "[plugin][health]") {
    struct Case {
        std::string health;
        bool noted, told, ended;
    };
    const auto c = GENERATE(values<Case>({{"off", false, false, false},
                                          {"", true, false, false},  // the default
                                          {"note", true, false, false},
                                          {"warn", true, true, false},
                                          {"strict", true, true, true}}));
    CAPTURE(c.health);
    const OwnMask mask;
    const SysfsTree tree;
    add_rails(tree);
    break_one(tree);
    auto& job = step_here("0", 1, 0);
    Plugin plugin{arguments(tree, c.health)};
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    CHECK(job.has_logged("info: railhead: " + down) == c.noted);
    CHECK_FALSE(job.has_logged("error: "));

    CHECK(plugin.task_init() == (c.ended ? -1 : 0));

    CHECK(job.has_logged("error: railhead: n01: " + down) == c.told);
    CHECK((variable("NCCL_IB_HCA") == "=" + eight_rails) == !c.ended);  // a rail is still a rail
}

TEST_CASE("the first task of each node tells, and strict ends them all", "[plugin][health]") {
    struct Case {
        std::string why;
        std::uint32_t node, local_id;
        bool told;
    };
    const auto c = GENERATE(values<Case>({{"first task of the first node", 0, 0, true},
                                          {"second task", 0, 1, false},
                                          {"first task of another node", 5, 0, true}}));
    CAPTURE(c.why);
    const OwnMask mask;
    const SysfsTree tree;
    add_rails(tree);
    break_one(tree);
    auto& job = step_here("0,1", 2, c.local_id);
    job.items[S_JOB_NODEID] = c.node;
    Plugin plugin{arguments(tree, "strict")};
    CHECK(plugin.run_step() == -1);
    CHECK(job.has_logged("error: railhead: n01: " + down) == c.told);
}

TEST_CASE("nobody looks at rails for a step that does not want them", "[plugin][health]") {
    const OwnMask mask;
    const auto [why, name, value] = GENERATE(table<std::string, std::string, std::string>({
        {"no GPUs", "SLURM_STEP_GPUS", ""},
        {"the user turned rails off", "RAILHEAD_RAIL", "off"},
        {"the user turned us off", "RAILHEAD", "off"},
    }));
    CAPTURE(why);
    const SysfsTree tree;  // all rails are missing
    auto& job = step_here("0", 1, 0);
    if (value.empty()) {
        job.environment.clear();
    } else {
        job.environment[name] = value;
    }
    Plugin plugin{arguments(tree, "strict")};
    CHECK(plugin.run_step() == 0);
    CHECK(job.log.empty());
}

TEST_CASE("the type of node counts before plugstack.conf", "[plugin][health]") {
    const OwnMask mask;
    const auto [health, ended] = GENERATE(table<std::string, bool>({
        {"health = \"strict\"", true},
        {"health = \"off\"", false},
        {"", true},  // what plugstack.conf says
    }));
    CAPTURE(health);
    const SysfsTree tree;
    add_rails(tree);
    break_one(tree);
    const railhead::test::TempDir folder;
    step_here("0", 1, 0);
    auto words = arguments(tree, ended ? (health.empty() ? "strict" : "note") : "strict");
    words.push_back("policy=" + folder.write("railhead.toml",
                                             "[[node_type]]\nname = \"h100\"\n"
                                             "nodes = \"n[01-04]\"\n" +
                                                 health + "\n"));
    Plugin plugin{words};
    CHECK(plugin.run_step() == (ended ? -1 : 0));
}

TEST_CASE("a rail of the site's own list that is missing ends the step under strict",
          "[plugin][health]") {
    const OwnMask mask;
    const SysfsTree tree;
    add_rails(tree);
    auto& job = step_here("0", 1, 0);
    auto words = arguments(tree, "strict");
    words.emplace_back("nics=mlx5_0,mlx5_9");
    Plugin plugin{words};
    CHECK(plugin.run_step() == -1);
    CHECK(job.has_logged("error: railhead: n01: mlx5_9 missing"));
}
