// What is odd about a node's rails, told in words.
#include <string>
#include <vector>

#include "rails/warnings.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
namespace rails = railhead::rails;
using node::Path;
using railhead::test::node_with;

namespace {

constexpr auto pix = Path::pix;
constexpr auto phb = Path::phb;
constexpr auto far = Path::node;
constexpr auto sys = Path::sys;

std::vector<std::string> warnings_of(const node::Node& node) {
    return rails::find_warnings(node, rails::plan_rails(node));
}

/// GPUs that are all linked to each other.
node::Node linked(std::size_t gpus) {
    auto node = node_with(std::vector<std::vector<Path>>(gpus));
    node.links.assign(gpus, std::vector<node::GpuLink>(gpus, {sys, 18}));
    for (std::size_t i = 0; i < gpus; ++i) {
        node.links[i][i] = {pix, 0};
    }
    return node;
}

void cut_links(node::Node& node, std::size_t gpu) {
    for (std::size_t other = 0; other < node.links.size(); ++other) {
        node.links[gpu][other].direct = node.links[other][gpu].direct = 0;
    }
}

}  // namespace

TEST_CASE("a node with a rail for each GPU is nothing to warn of", "[rails][warnings]") {
    CHECK(warnings_of(node_with({{pix, far}, {far, pix}})).empty());
    CHECK(warnings_of(node_with({{pix, pix}, {pix, pix}})).empty());  // a switch of 2 and 2
    CHECK(warnings_of(node_with({})).empty());
    CHECK(warnings_of(node_with({{}, {}})).empty());  // no NIC: the report says so already
}

TEST_CASE("GPUs without a rail of their own are told", "[rails][warnings]") {
    const auto [why, paths, expected] =
        GENERATE(table<std::string, std::vector<std::vector<Path>>, std::string>({
            {"the other socket",
             {{pix, far}, {far, pix}, {sys, sys}},
             "GPU 2 has no local NIC here: SYS at best, where others have PIX"},
            {"the same socket",
             {{pix}, {far}, {far}},
             "GPUs 1-2 have no NIC as near as others: NODE at best, where others have PIX"},
            {"no switch at all",
             {{phb}, {sys}},
             "GPU 1 has no local NIC here: SYS at best, where others have PHB"},
            {"nowhere",
             {{sys, sys}, {sys, sys}},
             "no NIC is near any GPU (every path is SYS): they are paired by their order alone"},
        }));
    CAPTURE(why);
    CHECK(warnings_of(node_with(paths)) == std::vector{expected});
}

TEST_CASE("a machine that hides its PCI tree is told", "[rails][warnings]") {
    CHECK(warnings_of(node_with({{phb, phb}, {phb, phb}, {phb, phb}})) ==
          std::vector<std::string>{"no PCI locality is visible: all GPUs have PHB to the same "
                                   "2 NICs, which are dealt in order; the provider's topology file "
                                   "(NCCL_TOPO_FILE) would tell more"});
    CHECK(warnings_of(
              node_with({{pix, pix, sys}, {pix, pix, sys}, {pix, pix, sys}, {sys, sys, pix}})) ==
          std::vector<std::string>{"GPUs 0-2 have PIX to the same 2 NICs, which are dealt in "
                                   "order: nothing tells them apart"});
}

TEST_CASE("a GPU that lost its NVLinks is told", "[rails][warnings]") {
    auto node = linked(8);
    CHECK(warnings_of(node).empty());
    cut_links(node, 2);
    CHECK(warnings_of(node) ==
          std::vector<std::string>{"GPU 2 has no NVLinks, which all other GPUs have: it lost "
                                   "them, or they are off"});
    cut_links(node, 3);
    CHECK(warnings_of(node).empty());  // two without: the machine may be made so
}

TEST_CASE("machines without NVLink, or with bridges for pairs, lost none", "[rails][warnings]") {
    auto none = linked(4);
    for (std::size_t gpu = 0; gpu < 4; ++gpu) {
        cut_links(none, gpu);
    }
    CHECK(warnings_of(none).empty());
    auto pair = linked(3);  // 0 and 1 have a bridge, 2 has none
    cut_links(pair, 2);
    CHECK(warnings_of(pair).empty());
    CHECK(warnings_of(linked(1)).empty());
}
