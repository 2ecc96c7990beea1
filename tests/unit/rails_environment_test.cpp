#include "rails/environment.hpp"

#include <map>
#include <set>

#include "rails/nccl_conf.hpp"
#include "rails/plugin_arguments.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace rails = railhead::rails;
using railhead::test::node_with;
using railhead::test::recorded_node;
using rails::plan_rails;

namespace {

constexpr auto pix = railhead::node::Path::pix;
constexpr auto sys = railhead::node::Path::sys;

}  // namespace

// ---- the environment ----------------------------------------------------------------------

namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

rails::Lookup lookup_in(const Variables& variables) {
    return [variables](std::string_view name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional{found->second};
    };
}

/// "NAME=value" for what is set, "-NAME" for what is taken away, "NAME<owner" for what is kept.
std::set<std::string> texts(const rails::EnvironmentPlan& plan) {
    std::set<std::string> all;
    for (const auto& [name, value] : plan.changes) {
        all.insert(value ? name + "=" + *value : "-" + name);
    }
    for (const auto& [name, by] : plan.kept) {
        all.insert(name + "<" + by);
    }
    return all;
}

}  // namespace

TEST_CASE("NCCL gets the list of the job, UCX the NICs of the task", "[rails][environment]") {
    const auto node = node_with({{pix, sys}, {sys, pix}});
    const auto plan = plan_rails(node);
    CHECK(texts(rails::plan_environment(node, plan, {1}, {}, lookup_in({}))) ==
          std::set<std::string>{"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1", "UCX_NET_DEVICES=mlx5_1:1",
                                "RAILHEAD_RAILS=mlx5_0:1,mlx5_1:1", "RAILHEAD_NIC=mlx5_1:1"});
}

TEST_CASE("NCCL's list is the same for every task", "[rails][environment]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    const auto plan = plan_rails(dgx);
    std::set<std::string> lists;
    for (const auto& gpu : plan.gpus) {
        const auto environment = rails::plan_environment(dgx, plan, gpu.nics, {}, lookup_in({}));
        lists.insert(environment.changes.at(0).name + *environment.changes.at(0).value);
    }
    CHECK(lists.size() == 1);
}

TEST_CASE("the word of the user and of NCCL's files counts", "[rails][environment]") {
    const auto node = node_with({{pix}});
    const auto plan = plan_rails(node);
    const auto result = rails::plan_environment(
        node, plan, {0}, {{"UCX_NET_DEVICES", "/etc/nccl.conf"}, {"NCCL_DEBUG", "/etc/nccl.conf"}},
        lookup_in({{"NCCL_IB_HCA", "mlx5_0"}}));
    CHECK(texts(result) ==
          std::set<std::string>{"NCCL_IB_HCA<the environment", "UCX_NET_DEVICES</etc/nccl.conf",
                                "RAILHEAD_RAILS=mlx5_0:1", "RAILHEAD_NIC=mlx5_0:1"});
}

TEST_CASE("what an outer step of ours left is not the user's word", "[rails][environment]") {
    const auto node = node_with({{pix, sys}, {sys, pix}});
    const auto plan = plan_rails(node);
    const Variables outer{{"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"},
                          {"RAILHEAD_RAILS", "mlx5_0:1,mlx5_1:1"},
                          {"UCX_NET_DEVICES", "mlx5_0:1"},
                          {"RAILHEAD_NIC", "mlx5_0:1"}};
    CHECK(texts(rails::plan_environment(node, plan, {1}, {}, lookup_in(outer)))
              .contains("UCX_NET_DEVICES=mlx5_1:1"));

    auto changed = outer;
    changed["UCX_NET_DEVICES"] = "mlx5_9:1";  // the user's, since then
    CHECK(texts(rails::plan_environment(node, plan, {1}, {}, lookup_in(changed)))
              .contains("UCX_NET_DEVICES<the environment"));
}

TEST_CASE("taking our traces away leaves the user's values", "[rails][environment]") {
    const auto changes = rails::clean_environment(lookup_in({{"NCCL_IB_HCA", "=mlx5_0:1"},
                                                             {"RAILHEAD_RAILS", "mlx5_0:1"},
                                                             {"UCX_NET_DEVICES", "all"},
                                                             {"RAILHEAD_NIC", "mlx5_0:1"}}));
    CHECK(texts({changes, {}, {}}) ==
          std::set<std::string>{"-NCCL_IB_HCA", "-RAILHEAD_RAILS", "-RAILHEAD_NIC"});
    CHECK(rails::clean_environment(lookup_in({})).empty());
}

TEST_CASE("a batch step gets only what is equal for the whole job", "[rails][environment]") {
    const auto node = node_with({{pix}});
    constexpr bool per_task = false;
    CHECK(
        texts(rails::plan_environment(node, plan_rails(node), {0}, {}, lookup_in({}), per_task)) ==
        std::set<std::string>{"NCCL_IB_HCA==mlx5_0:1", "RAILHEAD_RAILS=mlx5_0:1"});
}

TEST_CASE("devices without verbs are not told to NCCL's InfiniBand transport",
          "[rails][environment]") {
    const auto [kind, name] = GENERATE(
        table<std::string, std::string>({{"1d0f:efa2", "EFA"}, {"17db:0501", "Slingshot"}}));
    auto node = node_with({{pix}});
    node.nics[0].kind = kind;
    const auto plan = rails::plan_environment(node, plan_rails(node), {0}, {}, lookup_in({}));
    CHECK(texts(plan) == std::set<std::string>{"RAILHEAD_RAILS=mlx5_0:1", "RAILHEAD_NIC=mlx5_0:1"});
    CHECK(plan.silence == "NCCL reaches " + name + " devices through libfabric");
}

TEST_CASE("a node without rails sets nothing", "[rails][environment]") {
    const auto node = node_with({{}});
    CHECK(texts(rails::plan_environment(node, plan_rails(node), {}, {}, lookup_in({}))).empty());
}

// ---- NCCL's files -------------------------------------------------------------------------

TEST_CASE("a file of NCCL's sets the names before the equals signs", "[rails][nccl_conf]") {
    CHECK(rails::parse_nccl_conf("# comment\nNCCL_IB_HCA==mlx5_0,mlx5_1\n"
                                 "#NCCL_ALGO=ring\nNCCL_DEBUG=WARN\n no value\n=x\n"
                                 "NCCL_SOCKET_IFNAME = eth0\r\n") ==
          std::vector<std::string>{"NCCL_IB_HCA", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME"});
}

TEST_CASE("no file sets nothing; a pipe, a folder or a huge file is an error",
          "[rails][nccl_conf]") {
    const railhead::test::TempDir folder;
    CHECK(rails::read_nccl_conf(folder.path("absent"))->empty());
    CHECK_FALSE(rails::read_nccl_conf(folder.path()));
    folder.write("huge", std::string(rails::nccl_conf_limit + 1, 'x'));
    CHECK_FALSE(rails::read_nccl_conf(folder.path("huge")));
    folder.write("nccl.conf", "NCCL_IB_HCA=mlx5_0\n");
    CHECK(*rails::read_nccl_conf(folder.path("nccl.conf")) ==
          std::vector<std::string>{"NCCL_IB_HCA"});
}

// ---- arguments of plugstack.conf ----------------------------------------------------------

TEST_CASE("the arguments of plugstack.conf are read", "[rails][arguments]") {
    const auto none = rails::parse_plugin_arguments({});
    REQUIRE(none);
    CHECK(none->rail);
    CHECK(none->gpu_affinity);
    CHECK_FALSE(none->strict);
    CHECK(none->nccl_conf == "/etc/nccl.conf");
    CHECK(none->memory == rails::MemoryPolicy::prefer);
    CHECK_FALSE(none->omp_cores);

    const auto all = rails::parse_plugin_arguments(
        {"topology=/etc/slurm/dgx.xml", "nics=mlx5_0,mlx5_3:1", "nccl_conf=/opt/nccl.conf",
         "rail=off", "gpu_affinity=off", "memory=bind", "omp_num_threads=cores", "strict=true",
         "verbose"});
    REQUIRE(all);
    CHECK(all->topology == "/etc/slurm/dgx.xml");
    CHECK(all->nics == std::vector<std::string>{"mlx5_0", "mlx5_3:1"});
    CHECK(all->nccl_conf == "/opt/nccl.conf");
    CHECK_FALSE(all->rail);
    CHECK_FALSE(all->gpu_affinity);
    CHECK(all->memory == rails::MemoryPolicy::bind);
    CHECK(all->omp_cores);
    CHECK(all->strict);
    CHECK(all->verbose);
}

TEST_CASE("what is wrong with an argument is said with a way out", "[rails][arguments][errors]") {
    const auto [argument, message] = GENERATE(table<std::string, std::string>({
        {"topolgy=/x", "unknown key in plugstack argument 'topolgy=/x': did you mean 'topology'?"},
        {"colour=red",
         "unknown key in plugstack argument 'colour=red': the keys are topology, nics, nccl_conf, "
         "rail, gpu_affinity, memory, omp_num_threads, user_off, health, root, strict, verbose"},
        {"rail=on", "bad value in plugstack argument 'rail=on': rail takes auto or off"},
        {"strict", "bad value in plugstack argument 'strict': strict takes true or false"},
        {"memory=interleave",
         "bad value in plugstack argument 'memory=interleave': memory takes prefer, bind or off"},
        {"topology=dgx.xml",
         "bad value in plugstack argument 'topology=dgx.xml': topology takes an "
         "absolute path"},
        {"root=tree", "bad value in plugstack argument 'root=tree': root takes an absolute path"},
        {"health=maybe",
         "bad value in plugstack argument 'health=maybe': health takes off, note, warn or strict"},
        {"nics=a,,b",
         "bad value in plugstack argument 'nics=a,,b': nics takes RDMA devices: mlx5_0,mlx5_1"},
        {"verbose=2", "bad value in plugstack argument 'verbose=2': verbose takes true or false"},
    }));
    const auto parsed = rails::parse_plugin_arguments({argument});
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().message == message);
    CHECK_FALSE(rails::parse_plugin_arguments({"rail=off", "rail=auto"}));
}
