#include "rails/environment.hpp"

#include <algorithm>
#include <map>
#include <optional>
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

/// A launch of a task with all that it refers to; a test changes what it is about.
struct Case {
    railhead::node::Node node = node_with({{pix, sys}, {sys, pix}});
    std::vector<std::string> declared;
    std::vector<std::size_t> nics{1};
    std::vector<rails::FileSetting> files;
    Variables variables;
    std::optional<rails::NodeType> type;
    bool per_task = true;

    /// The answer of `ask` to the launch.
    template <class Ask>
    auto asked(const Ask& ask) const {
        const auto plan = plan_rails(node, declared);
        const auto lookup = lookup_in(variables);
        return ask(rails::Launch{.node = node,
                                 .plan = plan,
                                 .nics = nics,
                                 .files = files,
                                 .environment = lookup,
                                 .type = type ? &*type : nullptr,
                                 .declared_by = declared.empty() ? "" : "the site",
                                 .per_task = per_task});
    }
    [[nodiscard]] rails::EnvironmentPlan plan() const { return asked(&rails::plan_environment); }
};

/// "NAME=value" for what is set, "-NAME" for what is taken away, "NAME<owner" for what is kept.
std::set<std::string> texts(const rails::EnvironmentPlan& plan) {
    std::set<std::string> all;
    for (const auto& [name, value] : plan.changes) {
        if (name != rails::own_marks) {
            all.insert(value ? name + "=" + *value : "-" + name);
        }
    }
    for (const auto& [name, by] : plan.kept) {
        all.insert(name + "<" + by);
    }
    return all;
}

/// The environment of a task that was given `plan`.
Variables applied(Variables variables, const rails::EnvironmentPlan& plan) {
    for (const auto& [name, value] : plan.changes) {
        if (value) {
            variables[name] = *value;
        } else {
            variables.erase(name);
        }
    }
    return variables;
}

rails::NodeType type_h100() {
    rails::NodeType type;
    type.name = "h100";
    return type;
}

using Texts = std::set<std::string>;

}  // namespace

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

// ---- whose word counts --------------------------------------------------------------------

namespace {

/// Has the one that stands on this rung say `value` of NCCL_SOCKET_IFNAME or, where only a node
/// can say something, of NCCL_IB_HCA.
void speak(rails::Rung rung, const std::string& name, const std::string& value, Case& c) {
    switch (rung) {
        case rails::Rung::user:
            c.variables[name] = value;
            break;
        case rails::Rung::user_file:
            c.files.push_back({name, value, rung, "~/.nccl.conf"});
            break;
        case rails::Rung::site_file:
            c.files.push_back({name, value, rung, "/etc/nccl.conf"});
            break;
        case rails::Rung::policy:
            c.declared = {"mlx5_1"};
            c.type->env.push_back({"NCCL_IB_TC", "1"});
            break;
        case rails::Rung::automatic:
            break;  // the node always says something
    }
}

}  // namespace

TEST_CASE("of any two who set a variable, the one on the higher rung wins",
          "[rails][environment][precedence]") {
    using rails::Rung;
    const std::vector rungs{Rung::user, Rung::user_file, Rung::site_file, Rung::policy,
                            Rung::automatic};
    for (std::size_t low = 0; low < rungs.size(); ++low) {
        for (std::size_t high = 0; high < low; ++high) {
            CAPTURE(to_string(rungs[high]), to_string(rungs[low]));
            Case c;
            c.type = type_h100();
            // Spoken in the wrong order where the files allow it.
            speak(rungs[high], "NCCL_IB_HCA", "high", c);
            speak(rungs[low], "NCCL_IB_HCA", "low", c);
            std::ranges::stable_sort(c.files, {}, &rails::FileSetting::rung);

            const auto verdict =
                c.asked([](const auto& launch) { return rails::judge("NCCL_IB_HCA", launch); });

            REQUIRE_FALSE(verdict.words.empty());
            CHECK(verdict.words.front().rung == rungs[high]);
            CHECK(std::ranges::is_sorted(verdict.words, {}, &rails::Word::rung));
            const auto set = texts(c.plan());
            CHECK(set.contains("NCCL_IB_HCA==mlx5_1:1") == (rungs[high] == Rung::policy));
            CHECK(std::ranges::any_of(set, [](const auto& text) {
                      return text.starts_with("NCCL_IB_HCA<");
                  }) == (rungs[high] < Rung::policy));
        }
    }
}

TEST_CASE("every variable of ours is left to the user and to NCCL's files",
          "[rails][environment][precedence]") {
    Case c;
    c.type = type_h100();
    c.type->nvshmem = c.type->rail_only = true;
    c.type->socket_interface = {"bond0"};
    c.type->topo_file = "/opt/ndv5.xml";
    c.type->env = {{"NCCL_IB_TC", "106"}};
    const auto names = rails::variables_of(&*c.type);
    REQUIRE(names.size() == 8);
    for (const auto& name : names) {
        CAPTURE(name);
        auto user = c;
        user.variables[name] = "";  // empty is a value too
        CHECK(texts(user.plan()).contains(name + "<the environment"));
        auto file = c;
        file.files = {{name, std::nullopt, rails::Rung::user_file, "the user's NCCL file"}};
        CHECK(texts(file.plan()).contains(name + "<the user's NCCL file"));
        auto site = c;
        site.files = {{name, "x", rails::Rung::site_file, "/etc/nccl.conf"}};
        CHECK(texts(site.plan()).contains(name + "</etc/nccl.conf"));
    }
}

TEST_CASE("another variable of the user's can speak for one of ours",
          "[rails][environment][precedence]") {
    Case c;
    c.type = type_h100();
    c.type->nvshmem = true;
    SECTION("NVSHMEM would drop the user's map for our list") {
        c.variables["NVSHMEM_HCA_PE_MAPPING"] = "mlx5_0:1:2";
        CHECK(texts(c.plan()).contains("NVSHMEM_HCA_LIST<the environment"));
    }
    SECTION("UCX would be left without TCP") {
        c.variables["UCX_TLS"] = "tcp,cuda";
        CHECK(texts(c.plan()).contains("UCX_NET_DEVICES<the environment"));
    }
    SECTION("UCX_TLS of other transports does not") {
        c.variables["UCX_TLS"] = "rc,cuda";
        CHECK(texts(c.plan()).contains("UCX_NET_DEVICES=mlx5_1:1"));
    }
}

// ---- steps inside of steps ----------------------------------------------------------------

TEST_CASE("what an outer step of ours left is not the user's word", "[rails][environment][marks]") {
    Case outer;
    outer.nics = {0};
    outer.type = type_h100();
    outer.type->rail_only = true;
    outer.type->env = {{"NCCL_IB_TC", "106"}};
    auto inner = Case{};
    inner.variables = applied({{"HOME", "/home/u"}}, outer.plan());
    REQUIRE(inner.variables.contains("NCCL_IB_TC"));

    SECTION("another task's NICs take the place of the old ones") {
        CHECK(texts(inner.plan()).contains("UCX_NET_DEVICES=mlx5_1:1"));
    }
    SECTION("what the user changed since then is the user's") {
        inner.variables["UCX_NET_DEVICES"] = "mlx5_9:1";
        CHECK(texts(inner.plan()).contains("UCX_NET_DEVICES<the environment"));
    }
    SECTION("what the user unset since then is unset") {
        inner.variables.erase("UCX_NET_DEVICES");
        CHECK(texts(inner.plan()).contains("UCX_NET_DEVICES=mlx5_1:1"));
    }
    SECTION("all of it can be taken away, and nothing else") {
        const rails::EnvironmentPlan clean{
            rails::clean_environment(lookup_in(inner.variables)), {}, {}};
        CHECK(applied(inner.variables, clean) == Variables{{"HOME", "/home/u"}});
    }
    SECTION("a node of another type inherits none of the first one's") {
        const rails::EnvironmentPlan clean{
            rails::clean_environment(lookup_in(inner.variables)), {}, {}};
        inner.variables = applied(inner.variables, clean);
        CHECK_FALSE(applied(inner.variables, inner.plan()).contains("NCCL_CROSS_NIC"));
    }
    SECTION("three deep is as one deep") {
        const auto second = applied(inner.variables, inner.plan());
        auto third = Case{};
        third.variables = second;
        third.nics = {0};
        CHECK(texts(third.plan()).contains("UCX_NET_DEVICES=mlx5_0:1"));
    }
}

TEST_CASE("taking our traces away leaves the user's values", "[rails][environment][marks]") {
    Case c;
    c.variables = {{"UCX_NET_DEVICES", "all"}};
    const auto inside = applied(c.variables, c.plan());
    CHECK(texts({rails::clean_environment(lookup_in(inside)), {}, {}}) ==
          Texts{"-NCCL_IB_HCA", "-RAILHEAD_RAILS", "-RAILHEAD_NIC"});
    CHECK(rails::clean_environment(lookup_in({})).empty());
}

TEST_CASE("marks that are garbage mark nothing", "[rails][environment][marks]") {
    const std::string marks = GENERATE("", ",", ":", "A", "A:", ":1", "A:zz,,B", "A:00000000");
    CAPTURE(marks);
    CHECK(rails::marked(lookup_in({{"RAILHEAD_SET", marks}, {"A", "a"}})).empty());
}

TEST_CASE("the marks of a full environment stay small", "[rails][environment][marks]") {
    Case c;
    c.node = recorded_node("dgx-h100.xml");
    c.type = type_h100();
    c.type->nvshmem = c.type->rail_only = true;
    c.type->socket_interface = {"bond0"};
    c.type->topo_file = "/opt/ndv5.xml";
    const auto set = applied({}, c.plan());
    CHECK(set.at("RAILHEAD_SET").size() < 200);
}

// ---- NCCL's files -------------------------------------------------------------------------

namespace {

std::vector<std::string> lines(const std::vector<rails::Setting>& settings) {
    std::vector<std::string> all;
    for (const auto& [name, value] : settings) {
        all.push_back(name + "=" + value);
    }
    return all;
}

}  // namespace

TEST_CASE("a file of NCCL's sets the names before the equals signs", "[rails][nccl_conf]") {
    CHECK(lines(rails::parse_nccl_conf("# comment\nNCCL_IB_HCA==mlx5_0,mlx5_1\n"
                                 "#NCCL_ALGO=ring\nNCCL_DEBUG=WARN\n no value\n=x\n"
                                 "NCCL_SOCKET_IFNAME = eth0\r\n")) ==
          std::vector<std::string>{"NCCL_IB_HCA==mlx5_0,mlx5_1", "NCCL_DEBUG=WARN",
                                   "NCCL_SOCKET_IFNAME=eth0"});
}

TEST_CASE("no file sets nothing; a pipe, a folder or a huge file is an error",
          "[rails][nccl_conf]") {
    const railhead::test::TempDir folder;
    CHECK(rails::read_nccl_conf(folder.path("absent"))->empty());
    CHECK_FALSE(rails::read_nccl_conf(folder.path()));
    folder.write("huge", std::string(rails::nccl_conf_limit + 1, 'x'));
    CHECK_FALSE(rails::read_nccl_conf(folder.path("huge")));
    folder.write("nccl.conf", "NCCL_IB_HCA=mlx5_0\n");
    CHECK(lines(*rails::read_nccl_conf(folder.path("nccl.conf"))) ==
          std::vector<std::string>{"NCCL_IB_HCA=mlx5_0"});
}

// ---- arguments of plugstack.conf ----------------------------------------------------------

TEST_CASE("the arguments of plugstack.conf are read", "[rails][arguments]") {
    const auto none = rails::parse_plugin_arguments({});
    REQUIRE(none);
    CHECK(none->rail);
    CHECK(none->gpu_affinity);
    CHECK_FALSE(none->strict);
    CHECK(none->nccl_conf == "/etc/nccl.conf");
    CHECK(none->memory == rails::Memory::prefer);
    CHECK_FALSE(none->omp_cores);
    CHECK(none->cache == "/run/railhead");

    const auto all = rails::parse_plugin_arguments(
        {"topology=/etc/slurm/dgx.xml", "nics=mlx5_0,mlx5_3:1", "nccl_conf=/opt/nccl.conf",
         "policy=/etc/railhead.toml", "cache=/run/facts", "rail=off", "gpu_affinity=off", "memory=bind",
         "omp_num_threads=cores", "strict=true", "verbose"});
    REQUIRE(all);
    CHECK(all->topology == "/etc/slurm/dgx.xml");
    CHECK(all->nics == std::vector<std::string>{"mlx5_0", "mlx5_3:1"});
    CHECK(all->nccl_conf == "/opt/nccl.conf");
    CHECK(all->policy == "/etc/railhead.toml");
    CHECK(all->cache == "/run/facts");
    CHECK(rails::parse_plugin_arguments({"cache=off"})->cache.empty());
    CHECK_FALSE(all->rail);
    CHECK_FALSE(all->gpu_affinity);
    CHECK(all->memory == rails::Memory::bind);
    CHECK(all->omp_cores);
    CHECK(all->strict);
    CHECK(all->verbose);
}

TEST_CASE("what is wrong with an argument is said with a way out", "[rails][arguments][errors]") {
    const auto [argument, message] = GENERATE(table<std::string, std::string>({
        {"topolgy=/x", "unknown key in plugstack argument 'topolgy=/x': did you mean 'topology'?"},
        {"colour=red",
         "unknown key in plugstack argument 'colour=red': the keys are topology, nics, nccl_conf, "
         "policy, cache, helper, rail, gpu_affinity, memory, omp_num_threads, user_off, health, "
         "root, strict, verbose"},
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
