// The plugin in srun, sbatch and salloc: its options, and what it notes for the nodes.
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "plugin/spank_host.hpp"

using fake_spank::job;
using namespace spank_host;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

TEST_CASE("the options are the same in every command and in slurmstepd", "[plugin]") {
    const auto context = GENERATE(S_CTX_LOCAL, S_CTX_ALLOCATOR, S_CTX_REMOTE);
    auto& job = fake_spank::reset();
    job.context = context;
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    std::vector<std::string> names;
    for (const auto& option : job.options) {
        names.push_back(option.name);
        CHECK(option.help.starts_with("[railhead] "));
    }
    CHECK(names == std::vector<std::string>{"railhead", "rail", "gpu-affinity", "mp-group",
                                            "ckpt-interval", "ckpt-signal", "ckpt-dir"});
}

TEST_CASE("slurmd and its scripts get no options", "[plugin]") {
    auto& job = fake_spank::reset();
    job.context = GENERATE(S_CTX_SLURMD, S_CTX_JOB_SCRIPT);
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    CHECK(job.options.empty());
}

TEST_CASE("an option takes its values and refuses others by name", "[plugin]") {
    auto& job = fake_spank::reset();
    job.context = S_CTX_LOCAL;
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    const auto take = [&](std::size_t option, const char* value) {
        return job.options.at(option).take(job.options.at(option).value, value, 0);
    };
    CHECK(take(0, "on") == 0);
    CHECK(take(1, "auto") == 0);
    CHECK(take(2, "OFF") == 0);
    CHECK(take(3, "8") == 0);
    CHECK(take(0, "of") == -1);
    CHECK(job.has_logged("error: railhead: --railhead=of: takes on|off"));
    CHECK(take(3, "0") == -1);
    CHECK(job.has_logged("error: railhead: --mp-group=0: takes a whole number from 1"));
    CHECK(take(3, "many") == -1);
    CHECK(take(1, nullptr) == -1);
}

TEST_CASE("what the user set reaches slurmctld's plugin", "[plugin]") {
    auto& job = fake_spank::reset();
    job.context = GENERATE(S_CTX_LOCAL, S_CTX_ALLOCATOR);
    const ScopedVariable off{"RAILHEAD", "off"};
    const ScopedVariable group{"RAILHEAD_MP_GROUP", "8"};
    const ScopedVariable home{"HOME", "/nonexistent"};
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.post_opt() == 0);
    CHECK(job.control ==
          std::map<std::string, std::string>{{"RAILHEAD", "off"}, {"RAILHEAD_MP_GROUP", "8"}});
}

TEST_CASE("srun notes what the user's own NCCL file sets, so that no node reads it", "[plugin]") {
    const TempDir home;
    const ScopedVariable variable_home{"HOME", home.path()};
    const ScopedVariable noted{"RAILHEAD_NCCL_CONF", "left from before"};
    fake_spank::reset().context = S_CTX_LOCAL;
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    SECTION("no file") {
        REQUIRE(plugin.post_opt() == 0);
        CHECK(std::getenv("RAILHEAD_NCCL_CONF") == nullptr);
    }
    SECTION("~/.nccl.conf") {
        home.write(".nccl.conf", "NCCL_DEBUG=INFO\nNCCL_IB_HCA==mlx5_0\n");
        REQUIRE(plugin.post_opt() == 0);
        CHECK(std::getenv("RAILHEAD_NCCL_CONF") == std::string{"NCCL_DEBUG,NCCL_IB_HCA"});
    }
    SECTION("NCCL_CONF_FILE") {
        home.write(".nccl.conf", "NCCL_IB_HCA==mlx5_0\n");
        const ScopedVariable file{"NCCL_CONF_FILE", home.write("own", "UCX_NET_DEVICES=all\n")};
        REQUIRE(plugin.post_opt() == 0);
        CHECK(std::getenv("RAILHEAD_NCCL_CONF") == std::string{"UCX_NET_DEVICES"});
    }
}

TEST_CASE("srun notes that the user bound the tasks", "[plugin]") {
    const auto [value, noted] = GENERATE(table<std::string, bool>(
        {{"none", true}, {"cores", true}, {"verbose", false}, {"quiet", false}, {"", false}}));
    CAPTURE(value);
    const ScopedVariable home{"HOME", "/nonexistent"};
    const ScopedVariable old{"RAILHEAD_CPU_BIND", "left from before"};
    const ScopedVariable bind{"SLURM_CPU_BIND", value};
    fake_spank::reset().context = S_CTX_LOCAL;
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.post_opt() == 0);
    CHECK((std::getenv("RAILHEAD_CPU_BIND") != nullptr) == noted);
}

TEST_CASE("a misspelt plugstack argument is refused by the commands", "[plugin]") {
    const auto context = GENERATE(S_CTX_LOCAL, S_CTX_ALLOCATOR);
    const auto ended = in_child([&] {
        fake_spank::job().context = context;
        Plugin plugin{{"strickt=true"}};
        plugin.init();
    });
    CHECK(ended.status == 1);
    CHECK(ended.log ==
          "error: railhead: plugstack.conf: unknown key in plugstack argument 'strickt=true': did "
          "you mean 'strict'?\n");
}

TEST_CASE("a misspelt variable is refused by the commands as its option would be", "[plugin]") {
    const auto ended = in_child([] {
        fake_spank::job().context = S_CTX_LOCAL;
        const ScopedVariable off{"RAILHEAD_RAIL", "offf"};
        Plugin plugin;
        plugin.init();
        plugin.post_opt();
    });
    CHECK(ended.status == 1);
    CHECK(ended.log == "error: railhead: RAILHEAD_RAIL=offf: takes auto|off\n");
}
