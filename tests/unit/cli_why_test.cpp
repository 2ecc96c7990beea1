// railhead rails --why, on recorded nodes.
#include <sstream>

#include "base/text.hpp"
#include "command.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/golden.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

using railhead::test::Ran;
using railhead::test::run;

namespace {

using railhead::test::ScopedVariable;
using railhead::test::TempDir;

constexpr const char* policy = R"([[node_type]]
name = "h100"
nodes = "gpu[001-064]"
rails = ["mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_77"]
ucx_net_devices = false
socket_interface = "bond0"
rail_only = true
env = { NCCL_IB_TC = "106" }
)";

/// `railhead rails` for gpu001, a DGX under the policy above, with these options after it.
Ran on_dgx(const std::vector<std::string>& more) {
    const TempDir folder;
    const auto file = folder.write("railhead.toml", policy);
    std::vector<std::string> arguments{
        "rails",  "--hwloc-xml", railhead::test::node_file("dgx-h100.xml"), "--policy", file,
        "--node", "gpu001"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
}

void check_golden(const Ran& ran, const std::string& name) {
    CHECK(ran.status == 0);
    CHECK(ran.err.empty());
    for (const auto line : railhead::split(ran.out, '\n')) {
        CAPTURE(line);
        CHECK(line.size() <= 80);
    }
    CHECK(ran.out == railhead::test::golden("golden/why/" + name + ".txt", ran.out));
}

}  // namespace

TEST_CASE("the answers of --why are as we reviewed them", "[cli][why][golden]") {
    const std::string variable = GENERATE("NCCL_IB_HCA", "UCX_NET_DEVICES", "NCCL_SOCKET_IFNAME",
                                          "NCCL_IB_TC", "NCCL_DEBUG", "RAILHEAD");
    CAPTURE(variable);
    check_golden(on_dgx({"--why", variable}), variable);
}

TEST_CASE("the option --why alone is a table of all", "[cli][why][golden]") {
    check_golden(on_dgx({"--why"}), "all");
}

TEST_CASE("the answers of --why as JSON are as we reviewed them", "[cli][why][golden]") {
    const auto ran = on_dgx({"--json", "--why", "NCCL_IB_HCA"});
    CHECK(ran.status == 0);
    CHECK(ran.out == railhead::test::golden("golden/why/NCCL_IB_HCA.json", ran.out));
}

TEST_CASE("without a type of node, what is found counts", "[cli][why]") {
    const auto ran = run({"rails", "--hwloc-xml", railhead::test::node_file("two-cpu-8gpu.xml"),
                          "--why=NCCL_IB_HCA"});
    CHECK(ran.status == 0);
    CHECK_THAT(ran.out, ContainsSubstring("NCCL_IB_HCA is set by this node\n"));
}

TEST_CASE("the rails of the type are those that `rails` shows", "[cli][rails]") {
    const auto ran = on_dgx({});
    CHECK_THAT(ran.out,
               ContainsSubstring("mlx5_77    in the site's list of rails, but not on this node"));
    CHECK_THAT(ran.out, ContainsSubstring("NCCL_CROSS_NIC"));
}

TEST_CASE("a node that no type has is said to have none", "[cli][why]") {
    const TempDir folder;
    const auto ran =
        run({"rails", "--hwloc-xml", railhead::test::node_file("dgx-h100.xml"), "--policy",
             folder.write("railhead.toml", policy), "--node", "gpu065", "--why=NCCL_IB_TC"});
    CHECK(ran.status == 0);
    CHECK(ran.err == "railhead: warning: no node type has the node \"gpu065\"\n");
    CHECK_THAT(ran.out, ContainsSubstring("NCCL_IB_TC is not set: nobody says anything of it\n"));
}

TEST_CASE("a broken policy is warned of, and the node answers without it", "[cli][why]") {
    const TempDir folder;
    const auto ran = run({"rails", "--hwloc-xml", railhead::test::node_file("dgx-h100.xml"),
                          "--policy", folder.write("railhead.toml", "[[node_type]]\n"), "--node",
                          "gpu001", "--why=NCCL_IB_HCA"});
    CHECK_THAT(ran.err, ContainsSubstring("railhead.toml:1:1: a [[node_type]] needs a name"));
    CHECK_THAT(ran.out, ContainsSubstring("is set by this node"));
}

TEST_CASE("on this machine the environment and the user's file count", "[cli][why]") {
    const TempDir home;
    const ScopedVariable variable_home{"HOME", home.path()};
    const ScopedVariable slurm_conf{"SLURM_CONF", home.path("slurm.conf")};
    const ScopedVariable job{"SLURM_JOB_ID", "1"};
    home.write("plugstack.conf", "optional spank_railhead.so nics=mlx5_5 nccl_conf=" +
                                     home.write("nccl.conf", "NCCL_IB_HCA==site\n") + "\n");
    SECTION("the environment") {
        const ScopedVariable own{"NCCL_IB_HCA", "=mine"};
        const auto ran = run({"rails", "--why=NCCL_IB_HCA"});
        CHECK_THAT(ran.out, ContainsSubstring("NCCL_IB_HCA is set by the environment\n"));
        CHECK_THAT(ran.out, ContainsSubstring("=site"));
        CHECK_THAT(ran.out, ContainsSubstring("=mlx5_5:1"));
    }
    SECTION("the user's file") {
        home.write(".nccl.conf", "NCCL_IB_HCA==file\n");
        const auto ran = run({"rails", "--why=NCCL_IB_HCA"});
        CHECK_THAT(ran.out, ContainsSubstring("NCCL_IB_HCA is set by " + home.path(".nccl.conf")));
    }
    SECTION("the site's file") {
        CHECK_THAT(run({"rails", "--why=NCCL_IB_HCA"}).out,
                   ContainsSubstring("NCCL_IB_HCA is set by " + home.path("nccl.conf")));
    }
    SECTION("the policy, and a job that was told nothing") {
        home.write("nccl.conf", "");
        const auto ran = run({"rails", "--why=NCCL_IB_HCA"});
        CHECK_THAT(ran.out, ContainsSubstring("NCCL_IB_HCA is set by nics= of plugstack.conf\n"));
        CHECK_THAT(ran.out, ContainsSubstring("not set in this job"));
    }
    SECTION("a topology file that is not there") {
        const ScopedVariable topo{"NCCL_TOPO_FILE", home.path("absent.xml")};
        CHECK_THAT(run({"rails", "--why=NCCL_TOPO_FILE"}).out, ContainsSubstring("absent.xml"));
    }
    SECTION("Railhead's switch") {
        const ScopedVariable off{"RAILHEAD_RAIL", "off"};
        CHECK_THAT(run({"rails", "--why=RAILHEAD_RAIL"}).out,
                   ContainsSubstring("RAILHEAD_RAIL is set by the environment\n"));
    }
}
