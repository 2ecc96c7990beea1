#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "rails/fingerprint.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/golden.hpp"
#include "support/nodes.hpp"
#include "support/sysfs_tree.hpp"

using railhead::test::Ran;
using railhead::test::SysfsTree;

namespace {

/// railhead health on the node n01, a two-cpu-8gpu.xml with the ports of `tree`, without a site.
Ran run(const SysfsTree& tree, const std::vector<std::string>& more = {}) {
    const railhead::test::TempDir nowhere;
    const railhead::test::ScopedVariable conf{"SLURM_CONF", nowhere.path("slurm.conf")};
    const railhead::test::ScopedVariable name{"SLURMD_NODENAME", "n01"};
    std::vector<std::string> arguments{"health", "--hwloc-xml",
                                       railhead::test::node_file("two-cpu-8gpu.xml"), "--root",
                                       tree.root()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return railhead::test::run(arguments);
}

/// The ports of the eight rails, all well.
void add_rails(const SysfsTree& tree) {
    tree.add_ports(railhead::test::recorded_node("two-cpu-8gpu.xml").nics);
}

void break_two(const SysfsTree& tree) {
    tree.write_port("mlx5_3", "state", "1: DOWN");
    tree.write_port("mlx5_3", "phys_state", "2: Polling");
    tree.write_port("mlx5_5", "rate", "200 Gb/sec (2X NDR)");
}

/// A scontrol that writes its words down and says that the node is in `state`.
class FakeScontrol {
 public:
    explicit FakeScontrol(const std::string& state, int status = 0) {
        folder_.write("scontrol",
                      "#!/bin/sh\necho \"$*\" >>" + folder_.path("words") +
                          "\necho \"NodeName=n01 Arch=x86_64\"\necho \"   State=" + state +
                          " ThreadsPerCore=1\"\nexit " + std::to_string(status) + "\n");
        ::chmod(path().c_str(), 0755);
    }
    [[nodiscard]] std::string path() const { return folder_.path("scontrol"); }
    [[nodiscard]] std::string words() const {
        std::ifstream file{folder_.path("words")};
        return {std::istreambuf_iterator<char>{file}, {}};
    }

 private:
    railhead::test::TempDir folder_;
};

}  // namespace

TEST_CASE("railhead health: one line and status 0 where all is well", "[cli][health]") {
    const SysfsTree tree;
    add_rails(tree);
    const auto ran = run(tree);
    CHECK(ran.status == 0);
    CHECK(ran.out == "railhead: healthy: 8 GPUs, 8 rails\n");
    CHECK(ran.err.empty());
}

TEST_CASE("railhead health: one line for the drain and status 1 where not", "[cli][health]") {
    const SysfsTree tree;
    add_rails(tree);
    break_two(tree);
    const auto ran = run(tree);
    CHECK(ran.status == 1);
    CHECK(ran.out == "railhead: mlx5_3 port 1 down; mlx5_5 200 of 400 Gb/s\n");
    CHECK(ran.err.empty());
}

TEST_CASE("the line of a node that lost everything is short enough for a drain", "[cli][health]") {
    const SysfsTree tree;
    const auto ran = run(tree);
    CHECK(ran.status == 1);
    CHECK(ran.out.size() < 200);
    CHECK(std::ranges::count(ran.out, '\n') == 1);
}

TEST_CASE("the option --verbose says what to do, --json all of it", "[cli][health][golden]") {
    const SysfsTree tree;
    add_rails(tree);
    break_two(tree);
    const auto text = run(tree, {"--verbose"}).out;
    CHECK(text == railhead::test::golden("golden/cli/health.txt", text));
    const auto json = run(tree, {"--json"}).out;
    CHECK(json == railhead::test::golden("golden/cli/health.json", json));
    CHECK(nlohmann::json::parse(json)["schema"] == "railhead.health/1");
}

TEST_CASE("the site may say which rails and how many GPUs there are", "[cli][health]") {
    const SysfsTree tree;
    add_rails(tree);
    const auto ran = run(tree, {"--rails", "mlx5_0,mlx5_9", "--gpus", "10"});
    CHECK(ran.status == 1);
    CHECK(ran.out == "railhead: 8 of 10 GPUs; mlx5_9 missing\n");
}

TEST_CASE("rails that are not those of the type of node are drift", "[cli][health]") {
    const SysfsTree tree;
    add_rails(tree);
    const auto node = railhead::test::recorded_node("two-cpu-8gpu.xml");
    const auto own = railhead::rails::identify_rails(node, railhead::rails::plan_rails(node), "");
    CHECK(run(tree, {"--expect", own.fingerprint}).status == 0);

    const auto drifted = run(tree, {"--expect", "0123456789abcdef"});
    CHECK(drifted.status == 1);
    CHECK(drifted.out == "railhead: rails " + own.fingerprint + ", expected 0123456789abcdef\n");
}

TEST_CASE("the option --strict counts advice, and not being able to tell", "[cli][health]") {
    const SysfsTree tree;
    add_rails(tree);
    for (int i = 0; i < 8; ++i) {
        tree.write_device("mlx5_" + std::to_string(i), "current_link_speed", "16.0 GT/s PCIe");
    }
    CHECK(run(tree).status == 0);
    CHECK(run(tree, {"--strict"}).status == 1);

    std::ostringstream out;
    std::ostringstream err;
    railhead::cli::Console console{out, err};
    CHECK(railhead::cli::run({"health", "--hwloc-xml", "/nonexistent/node.xml"}, console) == 2);
    CHECK(out.str().empty());
    railhead::cli::Console strict{out, err};
    CHECK(railhead::cli::run({"health", "--strict", "--hwloc-xml", "/nonexistent/node.xml"},
                             strict) == 1);
    CHECK(out.str().starts_with("railhead: cannot tell: cannot open \"/nonexistent/node.xml\""));
}

// ---- drain --------------------------------------------------------------------------------

TEST_CASE("the option --drain drains an unhealthy node for the line's reason", "[cli][health][drain]") {
    const SysfsTree tree;
    add_rails(tree);
    break_two(tree);
    const FakeScontrol scontrol{"IDLE"};
    const auto ran = run(tree, {"--drain", "--scontrol", scontrol.path()});
    CHECK(ran.status == 1);
    CHECK(ran.err == "railhead: n01 drained\n");
    CHECK(scontrol.words() ==
          "show node n01\nupdate NodeName=n01 State=DRAIN Reason=railhead: mlx5_3 port 1 down; "
          "mlx5_5 200 of 400 Gb/s\n");
}

TEST_CASE("a node that somebody has drained keeps its reason", "[cli][health][drain]") {
    const SysfsTree tree;
    const FakeScontrol scontrol{"IDLE+DRAIN"};
    const auto ran = run(tree, {"--drain", "--scontrol", scontrol.path()});
    CHECK(ran.status == 1);
    CHECK(ran.err == "railhead: n01 is drained already\n");
    CHECK(scontrol.words() == "show node n01\n");
}

TEST_CASE("a healthy node is neither drained nor resumed", "[cli][health][drain]") {
    const SysfsTree tree;
    add_rails(tree);
    const FakeScontrol scontrol{"IDLE+DRAIN"};
    CHECK(run(tree, {"--drain", "--scontrol", scontrol.path()}).status == 0);
    CHECK(scontrol.words().empty());
}

TEST_CASE("the rails of the node's type are those that it should have", "[cli][health]") {
    const SysfsTree tree;
    add_rails(tree);
    const railhead::test::TempDir folder;
    const auto policy = folder.write("railhead.toml",
                                     "[[node_type]]\nname = \"h100\"\nnodes = \"n[01-04]\"\n"
                                     "rails = [\"mlx5_0\", \"mlx5_9\"]\n");
    CHECK(run(tree, {"--policy", policy}).out == "railhead: mlx5_9 missing\n");
    CHECK(run(tree, {"--policy", policy, "--rails", "mlx5_0"}).status == 0);
}

TEST_CASE("a drain that fails is told and the node stays unhealthy",
          "[cli][health][drain][errors]") {
    const SysfsTree tree;
    const auto [node, status, message] = GENERATE(table<std::string, int, std::string>({
        {"n01", 1, "ended with an error"},
        {"n[01-99]", 0, "\"n[01-99]\" is no node's name"},
        {"ALL State=DOWN", 0, "is no node's name"},
        {"-h", 0, "\"-h\" is no node's name"},
    }));
    const FakeScontrol scontrol{"IDLE", status};
    const auto ran = run(tree, {"--drain", "--node=" + node, "--scontrol", scontrol.path()});
    CHECK(ran.status == 1);
    CHECK_THAT(ran.err, ContainsSubstring(message));
}

TEST_CASE("options of the drain without --drain are refused", "[cli][health][errors]") {
    const SysfsTree tree;
    CHECK(run(tree, {"--scontrol", "/usr/bin/scontrol"}).status == 2);
}
