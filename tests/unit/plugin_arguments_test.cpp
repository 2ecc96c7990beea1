#include "rails/plugin_arguments.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace rails = railhead::rails;

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
