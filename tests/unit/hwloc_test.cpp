// Machines that hwloc knows and verbs do not, and trees of other machines.
#include <filesystem>
#include <string>
#include <vector>

#include "node/probe.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace node = railhead::node;
using node::Path;
using railhead::test::cpus;
using railhead::test::recorded_node;

TEST_CASE("Slingshot NICs have no verbs, and are rails by libfabric's name", "[node][hwloc]") {
    const auto node = recorded_node("slingshot-mi300a.xml");
    REQUIRE(node.nics.size() == 2);  // without the management NIC, which is an interface only
    CHECK(node.nics[0].name == "cxi0");
    CHECK(node.nics[0].netdevs == std::vector<std::string>{"hsi0"});
    CHECK(node.nics[0].kind == "17db:0501");
    CHECK(node.nics[1].name == "fabric1");  // renamed: its number is not known
    CHECK(node.paths ==
          std::vector<std::vector<Path>>{{Path::phb, Path::sys}, {Path::sys, Path::phb}});
}

TEST_CASE("a partitioned GPU is one GPU with several of ROCm's numbers", "[node][hwloc]") {
    const auto node = recorded_node("slingshot-mi300a.xml");
    REQUIRE(node.gpus.size() == 2);
    CHECK(node.gpus[0].rocm_indices == std::vector<unsigned>{0, 1, 2});
    CHECK(node.gpus[1].rocm_indices == std::vector<unsigned>{3});
}

TEST_CASE("Omni-Path is a NIC like others", "[node][hwloc]") {
    const auto node = recorded_node("omni-path.xml");
    REQUIRE(node.nics.size() == 1);
    CHECK(node.nics[0].name == "hfi1_0");
    CHECK(node.nics[0].gbit_per_s == 100.0);
    CHECK(node.paths[0][0] == Path::sys);
    CHECK(node.paths[1][0] == Path::phb);
}

TEST_CASE("below a root lies another machine", "[node][probe]") {
    const railhead::test::TempDir folder;
    const auto put = [&](const std::string& name, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path{folder.path(name)}.parent_path());
        static_cast<void>(folder.write(name, text));
    };
    for (const std::string cpu : {"0", "1", "2"}) {
        const auto base = "sys/devices/system/cpu/cpu" + cpu + "/topology/";
        put(base + "physical_package_id", "0\n");
        put(base + "core_id", cpu + "\n");
        put(base + "thread_siblings", std::to_string(1U << static_cast<unsigned>(cpu[0] - '0')));
        put(base + "core_siblings", "7\n");
    }
    put("sys/devices/system/cpu/online", "0-2\n");
    put("sys/devices/system/cpu/possible", "0-2\n");
    put("proc/cpuinfo", "processor\t: 0\n\nprocessor\t: 1\n\nprocessor\t: 2\n");

    const auto node = node::probe({.root = folder.path()});

    REQUIRE(node);
    CHECK(node->cores.size() == 3);
    CHECK(node->allowed == cpus("0-2"));
}
