// What the site's policy says of a node's type, and how it reaches a task.
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "plugin/spank_host.hpp"
#include "support/paths.hpp"

using fake_spank::job;
using namespace spank_host;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

namespace {

/// The trust in a policy goes by the owner of slurm.conf: here, whoever runs the test.
ScopedVariable own_slurm_conf(const TempDir& folder) {
    return ScopedVariable{"SLURM_CONF", folder.write("slurm.conf", "")};
}

/// A policy that says for the node "gpu1" what `body` says.
std::string policy_file(const TempDir& folder, const std::string& body) {
    return folder.write("railhead.toml",
                        "[[node_type]]\nname = \"h100\"\nnodes = \"gpu[1-4]\"\n" + body);
}

Plugin plugin_with_policy(const std::string& file) {
    return Plugin{{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"),
                   "nccl_conf=/nonexistent", "health=off", "policy=" + file}};
}

}  // namespace

TEST_CASE("what the policy says of the node's type reaches the task", "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    const auto file = policy_file(folder, "rails = [\"mlx5_0\", \"mlx5_9\"]\nrail_only = true\n"
                                          "socket_interface = \"bond0\"\n"
                                          "env = { NCCL_IB_TC = \"106\" }\n");
    auto& job = step("0", 1, 0);
    auto plugin = plugin_with_policy(file);
    SECTION("of the node that has the type") {
        job.environment["SLURM_STEP_NODELIST"] = "gpu1";
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "=mlx5_0:1,mlx5_9:1");  // mlx5_9 is not on this node
        CHECK(variable("UCX_NET_DEVICES") == "mlx5_0:1");
        CHECK(variable("NCCL_SOCKET_IFNAME") == "=bond0");
        CHECK(variable("GLOO_SOCKET_IFNAME") == "bond0");
        CHECK(variable("NCCL_CROSS_NIC") == "0");
        CHECK(variable("NCCL_IB_TC") == "106");
    }
    SECTION("not of another node") {
        job.environment["SLURM_STEP_NODELIST"] = "gpu5";
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);
        CHECK(variable("NCCL_IB_TC") == "(unset)");
    }
    SECTION("not when the job says --rail=off") {
        job.environment["SLURM_STEP_NODELIST"] = "gpu1";
        job.environment["RAILHEAD_RAIL"] = "off";
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "(unset)");
        CHECK(variable("NCCL_IB_TC") == "(unset)");
    }
}

TEST_CASE("the node is the one at our place of the step's list", "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    const auto file = policy_file(folder, "env = { NCCL_IB_TC = \"106\" }\n");
    struct Case {
        std::string why, step_list, job_list, inherited;
        std::uint32_t kind, place;
        bool has_type;
    };
    const auto c = GENERATE(values<Case>({
        {"second of the step", "cpu1,gpu2", "cpu1,gpu2", "", 0, 1, true},
        {"first of the step", "cpu1,gpu2", "cpu1,gpu2", "", 0, 0, false},
        {"srun in a batch script on another node", "cpu1", "gpu1,cpu1", "gpu1", 0, 0, false},
        {"a batch step that inherited a step's list", "cpu1", "gpu[1-2]", "cpu1", batch_step, 0, true},
        {"no list at all", "", "", "gpu1", 0, 0, false},
        {"beyond the list", "gpu1", "gpu1", "", 0, 7, false},
    }));
    CAPTURE(c.why);
    auto& job = step("0", 1, 0);
    for (const auto& [name, value] : {std::pair{"SLURM_STEP_NODELIST", c.step_list},
                                      std::pair{"SLURM_JOB_NODELIST", c.job_list},
                                      std::pair{"SLURMD_NODENAME", c.inherited}}) {
        if (!value.empty()) {
            job.environment[name] = value;
        }
    }
    job.items[S_JOB_STEPID] = c.kind;
    job.items[S_JOB_NODEID] = c.place;
    auto plugin = plugin_with_policy(file);
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    job.environment.erase("SLURMD_NODENAME");  // the batch script's; Slurm puts it right for the task
    REQUIRE(plugin.task_init() == 0);
    CHECK((variable("NCCL_IB_TC") == "106") == c.has_type);
}

TEST_CASE("a task that learns that it is on another node gets that one's type",
          "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    const auto file = policy_file(folder, "rails = \"mlx5_3\"\nenv = { NCCL_IB_TC = \"106\" }\n");
    const auto [from, to, rails, extra] =
        GENERATE(table<std::string, std::string, std::string, std::string>({
            {"cpu1", "gpu1", "mlx5_3:1", "106"},
            {"gpu1", "cpu1", eight_rails, "(unset)"},
        }));
    auto& job = step("0", 1, 0);
    job.environment["SLURM_STEP_NODELIST"] = from;
    auto plugin = plugin_with_policy(file);
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    job.environment["SLURMD_NODENAME"] = to;
    REQUIRE(plugin.task_init() == 0);
    CHECK(variable("NCCL_IB_HCA") == "=" + rails);
    CHECK(variable("NCCL_IB_TC") == extra);
}

TEST_CASE("what the policy says holds on a node that cannot be read", "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    const auto file = policy_file(folder, "env = { NCCL_IB_TC = \"106\" }\n");
    step("0", 1, 0).environment["SLURM_STEP_NODELIST"] = "gpu1";
    Plugin plugin{{"topology=/nonexistent", "policy=" + file}};
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("NCCL_IB_TC") == "106");
    CHECK(variable("NCCL_IB_HCA") == "(unset)");
}

TEST_CASE("a policy that cannot be trusted or read is logged once, and the step goes on without",
          "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    auto file = policy_file(folder, "env = { NCCL_IB_TC = \"106\" }\n");
    std::string expected;
    SECTION("written by others") {
        std::filesystem::permissions(file, std::filesystem::perms::others_write,
                                     std::filesystem::perm_options::add);
        expected = "can be written by others";
    }
    SECTION("broken") {
        policy_file(folder, "memory = \"near\"\nrails = 3\n");
        expected = "railhead.toml:4:10: expected one of \"prefer\", \"bind\", \"off\", not \"near\", "
                   "and 1 more error: going on without the policy";
    }
    SECTION("broken where submission is meant") {
        policy_file(folder, "[gang]\nmode = \"no\"\n");
        expected = "going on without the policy";
    }
    SECTION("named, and not there") {
        file = folder.path("absent.toml");
        expected = "there is no policy";
    }
    step("0", 1, 0).environment["SLURM_STEP_NODELIST"] = "gpu1";
    auto plugin = plugin_with_policy(file);
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("NCCL_IB_TC") == "(unset)");
    CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);
    REQUIRE(job().log.size() == 1);
    CHECK_THAT(job().log.front(), ContainsSubstring(expected));
}
