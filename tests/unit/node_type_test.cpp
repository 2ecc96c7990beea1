// [[node_type]]: what is read, what may be set, and what `railhead check` finds.
#include <algorithm>
#include <string>

#include "policy/check.hpp"
#include "policy/parse.hpp"
#include "policy/site_variable.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"

namespace {

using namespace railhead;
using namespace railhead::policy;

std::string type(const std::string& name, const std::string& nodes, const std::string& more = "") {
    return "[[node_type]]\nname = \"" + name + "\"\nnodes = \"" + nodes + "\"\n" + more + "\n";
}

/// "warning: text" lines about node types, those that say all is well left out.
std::vector<std::string> findings(const std::string& toml) {
    std::vector<std::string> lines;
    for (const auto& finding : check_node_types(test::make_site(toml))) {
        CHECK(finding.subject == "node_type");
        if (finding.level != Level::fine) {
            lines.push_back((finding.level == Level::advice ? "advice: " : "warning: ") +
                            finding.text);
        }
    }
    return lines;
}

using Lines = std::vector<std::string>;

constexpr const char* two_rails = "rails = [\"mlx5_0\", \"mlx5_1\"]";

}  // namespace

TEST_CASE("every key of a node type is read", "[policy][node_type]") {
    const auto policy = parse_policy(type("h100", "gpu[001-003]", R"(
rails = ["mlx5_0", "mlx5_3:2"]
nccl_ib_hca = false
ucx_net_devices = false
nvshmem = true
socket_interface = ["bond0", "eth1.20"]
rail_only = true
topo_file = "/opt/ndv5.xml"
env = { NCCL_IB_TC = "106", NCCL_DEBUG = "WARN" }
memory = "bind"
omp_num_threads = true
health = "strict"
)"),
                                     "railhead.toml");
    REQUIRE(policy);
    REQUIRE(policy->node_types.size() == 1);
    const auto& one = policy->node_types[0];
    CHECK(one.name == "h100");
    CHECK(one.nodes == "gpu[001-003]");
    CHECK(one.rails == Lines{"mlx5_0", "mlx5_3:2"});
    CHECK_FALSE(one.nccl_ib_hca);
    CHECK_FALSE(one.ucx_net_devices);
    CHECK(one.nvshmem);
    CHECK(one.socket_interface == Lines{"bond0", "eth1.20"});
    CHECK(one.rail_only);
    CHECK(one.topo_file == "/opt/ndv5.xml");
    REQUIRE(one.env.size() == 2);
    CHECK((one.env[0].name == "NCCL_DEBUG" && one.env[0].value == "WARN"));
    CHECK((one.env[1].name == "NCCL_IB_TC" && one.env[1].value == "106"));
    CHECK(one.memory == rails::Memory::bind);
    CHECK(one.omp_num_threads == true);
    CHECK(one.health == rails::Health::strict);
    CHECK(one.where.line == 1);
}

TEST_CASE("a node type that says nothing changes nothing", "[policy][node_type]") {
    const auto policy = parse_policy(type("h100", "gpu1"), "railhead.toml");
    REQUIRE(policy);
    const auto& one = policy->node_types.at(0);
    CHECK(one.rails.empty());
    CHECK(one.nccl_ib_hca);
    CHECK(one.ucx_net_devices);
    CHECK_FALSE(one.nvshmem);
    CHECK_FALSE(one.rail_only);
    CHECK_FALSE(one.omp_num_threads.has_value());
    CHECK_FALSE(one.memory.has_value());
    CHECK_FALSE(one.health.has_value());
}

TEST_CASE("a single rail or interface needs no list", "[policy][node_type]") {
    const auto policy = parse_policy(
        type("t", "n1", "rails = \"mlx5_0\"\nsocket_interface = \"bond0\""), "railhead.toml");
    REQUIRE(policy);
    CHECK(policy->node_types[0].rails == Lines{"mlx5_0"});
    CHECK(policy->node_types[0].socket_interface == Lines{"bond0"});
}

TEST_CASE("a site may set what is its own, and not what is Slurm's, the user's or code",
          "[policy][node_type]") {
    for (const std::string name : {"NCCL_IB_TC", "NCCL_DEBUG", "UCX_TLS", "FI_PROVIDER",
                                   "UCX_NET_DEVICES", "NCCL_TOPO_FILE", "SITE_1", "_x"}) {
        CAPTURE(name);
        CHECK(refusal_of_variable(name).empty());
    }
    const auto [name, reason] = GENERATE(table<std::string, std::string>({
        {"LD_PRELOAD", "load other code"},
        {"LD_LIBRARY_PATH", "load other code"},
        {"GLIBC_TUNABLES", "load other code"},
        {"PYTHONPATH", "load other code"},
        {"BASH_ENV", "load other code"},
        {"PATH", "the user's"},
        {"HOME", "the user's"},
        {"NCCL_CONF_FILE", "the user's"},
        {"SLURM_JOB_ID", "Slurm's"},
        {"SLURMD_NODENAME", "Slurm's"},
        {"PMIX_RANK", "Slurm's"},
        {"CUDA_VISIBLE_DEVICES", "which GPUs a task sees"},
        {"CUDA_DEVICE_ORDER", "how they are numbered"},
        {"RAILHEAD_SET", "Railhead's own"},
        {"NCCL_IB_HCA", "write the rails"},
        {"", "letters, digits"},
        {"1A", "letters, digits"},
        {"A B", "letters, digits"},
        {"A=B", "letters, digits"},
    }));
    CAPTURE(name);
    CHECK_THAT(refusal_of_variable(name), ContainsSubstring(reason));
}

// ---- railhead check -----------------------------------------------------------------------

TEST_CASE("types that fit the cluster have nothing to be told", "[check][node_type]") {
    CHECK(findings("").empty());
    CHECK(findings(type("a", "n[1-4]", two_rails) + type("b", "n[5-8]", two_rails)).empty());
}

TEST_CASE("what is wrong with node types is told by check", "[check][node_type]") {
    struct Case {
        std::string why, toml;
        Lines expected;
    };
    const auto c = GENERATE_COPY(values<Case>({
        {"the first counts, so the second is not what it seems",
         type("a", "n[1-4]", two_rails) + type("b", "n[3-8]", two_rails),
         {"warning: railhead.toml:5: \"b\" names n[3-4] that \"a\" has, which comes first and "
          "counts"}},
        {"a typing error, or a node that is gone",
         type("a", "n[1-9]", two_rails),
         {"warning: railhead.toml:1: \"a\" names 1 node unknown to slurm.conf, the first is "
          "\"n9\""}},
        {"traps 18: declared here, found there",
         type("a", "n[1-6]", two_rails),
         {"warning: partition main: n[7-8] have no type while others of it have one: the rails "
          "there are found, and a job on both may get two lists"}},
        {"mlx5_0 is mlx5_0:1",
         type("a", "n[1-8]", "rails = [\"mlx5_0\", \"mlx5_1\", \"mlx5_0:1\"]"),
         {"warning: railhead.toml:1: \"a\" names the rail mlx5_0:1 twice"}},
        {"a type without rails leaves them to each node",
         type("a", "n[1-8]"),
         {"advice: railhead.toml:1: \"a\" names no rails: each node finds its own, and a node that "
          "lacks one tells NCCL another list than the rest"}},
        {"unless NCCL is not told at all", type("a", "n[1-8]", "nccl_ib_hca = false"), {}},
    }));
    CAPTURE(c.why);
    CHECK(findings(c.toml) == c.expected);
}
