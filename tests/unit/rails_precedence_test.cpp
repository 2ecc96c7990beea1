// Whose word counts for a variable, in steps inside of steps too.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rails/environment.hpp"
#include "support/catch.hpp"
#include "support/launches.hpp"
#include "support/nodes.hpp"

namespace rails = railhead::rails;
using namespace railhead::test::launches;
using railhead::test::recorded_node;

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
