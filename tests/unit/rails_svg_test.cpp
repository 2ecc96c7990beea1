#include "report/rails_svg.hpp"

#include <set>
#include <string>

#include "report/node_layout.hpp"
#include "report/svg.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
namespace report = railhead::report;
using node::Path;
using railhead::rails::plan_rails;
using railhead::test::node_with;
using railhead::test::recorded_node;
using report::Joint;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

}  // namespace

TEST_CASE("devices behind one switch are drawn together", "[svg]") {
    const auto groups = report::group_devices(node_with({{Path::pxb, Path::node, Path::sys},
                                                         {Path::pix, Path::node, Path::sys},
                                                         {Path::node, Path::phb, Path::sys}}));
    REQUIRE(groups.size() == 3);
    CHECK(groups[0].joint == Joint::pcie_switch);
    CHECK(groups[0].gpus == std::vector<std::size_t>{0, 1});
    CHECK(groups[0].nics == std::vector<std::size_t>{0});
    CHECK(groups[1].joint == Joint::host_bridge);
    CHECK(groups[1].gpus == std::vector<std::size_t>{2});
    CHECK(groups[1].nics == std::vector<std::size_t>{1});
    CHECK(groups[2].joint == Joint::none);
    CHECK(groups[2].nics == std::vector<std::size_t>{2});
}

TEST_CASE("no device is drawn over another, and each has its place", "[svg]") {
    const auto* const file = GENERATE("dgx-h100.xml", "two-cpu-8gpu.xml", "memory-only-numa.xml");
    CAPTURE(file);
    const auto node = recorded_node(file);
    const auto layout = report::lay_out(node, 40);
    auto boxes = layout.gpus;
    boxes.insert(boxes.end(), layout.nics.begin(), layout.nics.end());
    CHECK(boxes.size() == node.gpus.size() + node.nics.size());
    for (std::size_t a = 0; a < boxes.size(); ++a) {
        CHECK(boxes[a].width > 0);
        CHECK(boxes[a].right() <= layout.width);
        CHECK(boxes[a].bottom() <= layout.height);
        for (std::size_t b = 0; b < a; ++b) {
            const bool apart = boxes[a].x >= boxes[b].right() || boxes[b].x >= boxes[a].right() ||
                               boxes[a].y >= boxes[b].bottom() || boxes[b].y >= boxes[a].bottom();
            CHECK(apart);
        }
    }
}

TEST_CASE("a pairing that crosses the machine is red, one within a switch is not", "[svg]") {
    const auto good = node_with({{Path::pix, Path::sys}, {Path::sys, Path::pix}});
    const auto picture = report::rails_svg(good, plan_rails(good));
    CHECK(count(picture, "class=\"far\"") == 0);
    CHECK(count(picture, "class=\"line r0\"") == 1);
    CHECK(count(picture, "class=\"line r1\"") == 1);

    const auto bad = node_with({{Path::pix}, {Path::sys}});
    const auto far = report::rails_svg(bad, plan_rails(bad));
    CHECK(count(far, "class=\"far\"") == 1);
    CHECK(count(far, "GPU 1 to mlx5_0: SYS") == 1);
    CHECK(count(far, "class=\"warn\"") == 1);
}

TEST_CASE("a GPU that lost its NVLink is marked", "[svg]") {
    auto node = node_with({{Path::pix}, {Path::pix}, {Path::pix}});
    node.links.assign(3, std::vector<node::GpuLink>(3));
    CHECK(count(report::rails_svg(node, plan_rails(node)), "gpu bad") ==
          0);  // PCIe cards have none
    node.links[0][1].direct = node.links[1][0].direct = 18;
    CHECK(count(report::rails_svg(node, plan_rails(node)), "gpu bad") == 1);
}

TEST_CASE("names from outside cannot leave their text", "[svg]") {
    auto node = node_with({{Path::pix}});
    node.source = "<script>&\"";
    node.nics[0].name = "</text><x>";
    const auto picture = report::rails_svg(node, plan_rails(node));
    CHECK(count(picture, "<script>") == 0);
    CHECK(count(picture, "<x>") == 0);
    CHECK(count(picture, "&lt;/text&gt;&lt;x&gt;") > 0);
}

TEST_CASE("a node without GPUs or NICs is a picture too", "[svg]") {
    const node::Node empty;
    CHECK(count(report::rails_svg(empty, plan_rails(empty)), "0 GPUs, 0 of 0 NICs as rails") == 1);
}

TEST_CASE("the picture of a DGX H100", "[svg][golden]") {
    auto node = recorded_node("dgx-h100.xml");
    node.source = "dgx-h100.xml";
    const auto picture = report::rails_svg(node, plan_rails(node));
    CHECK(picture == railhead::test::golden("golden/nodes/dgx-h100.svg", picture));
}

TEST_CASE("what is no UTF-8 becomes a question mark, so that every picture is XML", "[svg]") {
    using namespace std::string_literals;
    const auto [why, text, shown] = GENERATE(table<std::string, std::string, std::string>({
        {"letters of other alphabets", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x82",
         "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x82"},
        {"Latin-1", "caf\xe9!", "caf?!"},
        {"cut in a letter", "a\xe2\x82", "a??"},
        {"a byte that only follows", "\x80z", "?z"},
        {"longer than needed", "\xc0\xbc", "??"},
        {"a half of UTF-16", "\xed\xa0\x80", "???"},
        {"no character at all", "\xef\xbf\xbf", "???"},
        {"beyond Unicode", "\xf4\x90\x80\x80", "????"},
        {"a control character", "a\x01\0z"s, "a??z"},
        {"XML's own", "<&>", "&lt;&amp;&gt;"},
    }));
    CAPTURE(why);
    report::Svg svg;
    svg.text(0, 0, "name", text);
    CHECK_THAT(svg.file(1, 1, text, ""), ContainsSubstring("\">" + shown + "</text>") &&
                                             ContainsSubstring("<title>" + shown + "</title>"));
}
