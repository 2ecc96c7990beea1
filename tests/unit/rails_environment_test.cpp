#include "rails/environment.hpp"

#include <string>
#include <vector>

#include "rails/rail_plan.hpp"
#include "support/catch.hpp"
#include "support/launches.hpp"
#include "support/nodes.hpp"

namespace rails = railhead::rails;
using namespace railhead::test::launches;
using railhead::test::node_with;
using railhead::test::recorded_node;
using rails::plan_rails;

// ---- the environment ----------------------------------------------------------------------

TEST_CASE("NCCL gets the list of the job, UCX the NICs of the task", "[rails][environment]") {
    CHECK(texts(Case{}.plan()) ==
          Texts{"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1", "UCX_NET_DEVICES=mlx5_1:1",
                "RAILHEAD_RAILS=mlx5_0:1,mlx5_1:1", "RAILHEAD_NIC=mlx5_1:1"});
}

TEST_CASE("NCCL's list is the same for every task", "[rails][environment]") {
    Case c;
    c.node = recorded_node("dgx-h100.xml");
    const auto plan = plan_rails(c.node);
    Texts lists;
    for (const auto& gpu : plan.gpus) {
        c.nics = gpu.nics;
        const auto environment = c.plan();
        lists.insert(environment.changes.at(0).name + *environment.changes.at(0).value);
    }
    CHECK(lists.size() == 1);
}

TEST_CASE("a batch step gets only what is equal for the whole job", "[rails][environment]") {
    Case c;
    c.per_task = false;
    c.type = type_h100();
    c.type->env = {{"NCCL_IB_TC", "106"}};
    CHECK(texts(c.plan()) == Texts{"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1", "NCCL_IB_TC=106",
                                   "RAILHEAD_RAILS=mlx5_0:1,mlx5_1:1"});
}

TEST_CASE("devices that are not reached through verbs are told to nobody", "[rails][environment]") {
    const auto [why, name, kind, silence] =
        GENERATE(table<std::string, std::string, std::string, std::string>({
            {"Amazon", "rdmap16s27", "1d0f:efa2", "NCCL reaches EFA devices through libfabric"},
            {"Slingshot", "cxi0", "17db:0501", "NCCL reaches Slingshot devices through libfabric"},
            {"Slingshot, by name alone", "cxi0", "",
             "NCCL reaches Slingshot devices through libfabric"},
            {"Azure's front end", "mana_0", "1414:00ba",
             "MANA devices need not have what NCCL and UCX want of verbs"},
        }));
    CAPTURE(why);
    Case c;
    c.node = node_with({{pix}});
    c.nics = {0};
    c.node.nics[0].name = name;
    c.node.nics[0].kind = kind;
    c.type = type_h100();
    c.type->nvshmem = true;
    const auto plan = c.plan();
    CHECK(texts(plan) == Texts{"RAILHEAD_RAILS=" + name + ":1", "RAILHEAD_NIC=" + name + ":1"});
    CHECK(plan.silence == silence);
}

TEST_CASE("devices that speak verbs are told, whoever made them", "[rails][environment]") {
    const auto [name, kind] = GENERATE(table<std::string, std::string>({
        {"bnxt_re0", "14e4:1750"}, {"irdma0", "8086:1592"}, {"hfi1_0", "8086:24f0"}}));
    Case c;
    c.node = node_with({{pix}});
    c.nics = {0};
    c.node.nics[0].name = name;
    c.node.nics[0].kind = kind;
    CHECK(texts(c.plan()).contains("NCCL_IB_HCA==" + name + ":1"));
}

TEST_CASE("a node without rails is told nothing of them", "[rails][environment]") {
    Case c;
    c.node = node_with({{}});
    c.nics = {};
    CHECK(texts(c.plan()).empty());
    CHECK(c.plan().silence == "this node has no rails");
}

// ---- the site's words ---------------------------------------------------------------------

TEST_CASE("each key of a node type becomes its variable", "[rails][environment][node_type]") {
    struct Key {
        std::string why;
        void (*set)(rails::NodeType&);
        Texts expected;
    };
    const Texts always{"RAILHEAD_RAILS=mlx5_0:1,mlx5_1:1", "RAILHEAD_NIC=mlx5_1:1",
                       "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1", "UCX_NET_DEVICES=mlx5_1:1"};
    const auto key = GENERATE(values<Key>({
        {"nothing said: as without a type", [](auto&) {}, {}},
        {"NCCL matches exactly, Gloo knows only names",
         [](auto& t) { t.socket_interface = {"bond0", "eth1"}; },
         {"NCCL_SOCKET_IFNAME==bond0,eth1", "GLOO_SOCKET_IFNAME=bond0,eth1"}},
        {"no way between rails", [](auto& t) { t.rail_only = true; }, {"NCCL_CROSS_NIC=0"}},
        {"a virtual machine", [](auto& t) { t.topo_file = "/opt/ndv5.xml"; },
         {"NCCL_TOPO_FILE=/opt/ndv5.xml"}},
        {"one list for all PEs, which NVSHMEM narrows by distance",
         [](auto& t) { t.nvshmem = true; }, {"NVSHMEM_HCA_LIST=mlx5_0:1,mlx5_1:1"}},
        {"the site's own", [](auto& t) { t.env = {{"NCCL_IB_TC", "106"}, {"NCCL_IB_SL", "3"}}; },
         {"NCCL_IB_TC=106", "NCCL_IB_SL=3"}},
        {"what is not for this table", [](auto& t) { t.omp_num_threads = true; }, {}},
    }));
    CAPTURE(key.why);
    Case c;
    c.type = type_h100();
    key.set(*c.type);
    auto expected = key.expected;
    expected.insert(always.begin(), always.end());
    CHECK(texts(c.plan()) == expected);
}

TEST_CASE("a site can have NCCL or UCX not told", "[rails][environment][node_type]") {
    Case c;
    c.type = type_h100();
    SECTION("NCCL") {
        c.type->nccl_ib_hca = false;
        CHECK(texts(c.plan()) == Texts{"UCX_NET_DEVICES=mlx5_1:1", "RAILHEAD_NIC=mlx5_1:1",
                                       "RAILHEAD_RAILS=mlx5_0:1,mlx5_1:1"});
    }
    SECTION("NCCL, also of a declared list") {
        c.type->nccl_ib_hca = false;
        c.declared = {"mlx5_0"};
        CHECK_FALSE(texts(c.plan()).contains("NCCL_IB_HCA==mlx5_0:1"));
    }
    SECTION("UCX") {
        c.type->ucx_net_devices = false;
        CHECK_FALSE(texts(c.plan()).contains("UCX_NET_DEVICES=mlx5_1:1"));
    }
    SECTION("UCX, something else") {
        c.type->env = {{"UCX_NET_DEVICES", "all"}};
        CHECK(texts(c.plan()).contains("UCX_NET_DEVICES=all"));
    }
}

TEST_CASE("a declared list is told on a node that lacks one of it, or all",
          "[rails][environment][node_type]") {
    Case c;
    c.declared = {"mlx5_0", "mlx5_7:2"};
    CHECK(texts(c.plan()).contains("NCCL_IB_HCA==mlx5_0:1,mlx5_7:2"));
    c.node = {};
    c.nics = {};
    CHECK(texts(c.plan()) ==
          Texts{"NCCL_IB_HCA==mlx5_0:1,mlx5_7:2", "RAILHEAD_RAILS=mlx5_0:1,mlx5_7:2"});
}

TEST_CASE("the first type that has the node counts", "[rails][node_type]") {
    auto first = type_h100();
    first.nodes = "n[1-2]";
    auto second = type_h100();
    second.name = "rest";
    second.nodes = "n2,n3";
    const std::vector<rails::NodeType> types{first, second};
    CHECK(rails::find_node_type(types, "n2") == &types[0]);
    CHECK(rails::find_node_type(types, "n3") == &types[1]);
    CHECK(rails::find_node_type(types, "n") == nullptr);
    CHECK(rails::find_node_type({}, "n1") == nullptr);
}

TEST_CASE("the rails of the type count before those of plugstack.conf", "[rails][node_type]") {
    auto type = type_h100();
    CHECK(rails::declared_rails(&type, {"b"}).rails == std::vector<std::string>{"b"});
    type.rails = {"a"};
    CHECK(rails::declared_rails(&type, {"b"}).rails == std::vector<std::string>{"a"});
    CHECK(rails::declared_rails(&type, {"b"}).by == "node type \"h100\"");
    CHECK(rails::declared_rails(nullptr, {"b"}).by == "nics= of plugstack.conf");
    CHECK(rails::declared_rails(nullptr, {}).rails.empty());
}
