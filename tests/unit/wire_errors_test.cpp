// What a recorded node may not be, and what people are told then.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "node/limits.hpp"
#include "node/wire.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/paths.hpp"

namespace node = railhead::node;
using railhead::Errc;
using railhead::to_string;

namespace {

std::string recording() {
    return node::to_wire(railhead::test::recorded_node("two-cpu-8gpu.xml"));
}

std::string repeated(const std::string& line, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) {
        text += line;
    }
    return text;
}

/// A recorded node of these lines.
std::string of_lines(const std::string& lines) {
    return "railhead-node\t3\n" + lines + "end\n";
}

/// The example of railhead-node(5).
std::string example_of_page() {
    const auto page = railhead::read_file(railhead::test::checkout("docs/man/railhead-node.5.md"));
    REQUIRE(page);
    const std::string margin = "    ";
    std::string text;
    for (const auto line : railhead::split(*page, '\n')) {
        if (line.starts_with(margin)) {
            text += std::string{line.substr(margin.size())} + '\n';
        }
    }
    return text;
}

}  // namespace

TEST_CASE("the example of railhead-node(5) is a node, and what is written for it", "[wire][docs]") {
    const auto example = example_of_page();
    const auto node = node::from_wire(example);
    INFO((node ? "" : to_string(node.error())));
    REQUIRE(node);
    CHECK(node->gpus.size() == 1);
    CHECK(node->nics.at(0).rdma);
    const auto comment = example.find("# left out");
    auto plain = example;
    plain.erase(comment, example.find('\n', comment) + 1 - comment);
    CHECK(node::to_wire(*node) == plain);
}

TEST_CASE("a refused recording says line, field and reason", "[wire][errors]") {
    const std::string nic = "nic\tmlx5_0\t\t15b3:1021\t1\t400\t63\t1\t0\t1\tib0\t0\t\t1\n";
    REQUIRE(node::from_wire(of_lines(nic)));
    const auto [lines, said] = GENERATE_COPY(table<std::string, std::string>({
        {"nic\tmlx5_0\t\t15b3:1021\t1\t400\t63\t1\t0\t1\tib0\t0\t\n",
         "2:1: nic has 12 fields, 13 are expected"},
        {"core\t0\t1\n", "2:1: core has 2 fields, 1 is expected"},
        {"nic\tmlx5_0\t\t15b3:1021\tone\t400\t63\t1\t0\t1\tib0\t0\t\t1\n",
         "2:23: port of nic is 'one', not a number"},
        {"nic\tmlx5_0\t\t15b3:1021\t1\tinf\t63\t1\t0\t1\tib0\t0\t\t1\n",
         "2:25: rate of nic is 'inf', not a number"},
        {"nic\tmlx5_0\t\t15b3:1021\t1\t400\t63\t1\t0\tyes\tib0\t0\t\t1\n",
         "2:36: state of nic is 'yes', not 0 or 1"},
        {"core\t0\n\n", "3:1: '' is no line of a recorded node"},
        {"cores\t0\n", "2:1: 'cores' is no line of a recorded node"},
        {"core\t3-1\n", "2:6: CPUs of core is '3-1', not a CPU list like 0-15,64-79"},
        {"source\ta\nsource\tb\n", "3:1: a second source"},
        {"gpu\t\tnvidia\tGPU\t\t\t\t\t\n" + nic + "path\tNEAR\n",
         "4:6: distance of path is 'NEAR', not PIX, PXB, PHB, NODE or SYS"},
        {"gpu\t\tnvidia\tGPU\t\t\t\t\t\n" + nic + "path\tSYS\tSYS\n",
         "4:1: path has 2 fields, 1 is expected"},
        {"gpu\t\tnvidia\tGPU\t\t\t\t\t\n", "3:1: 0 lines of kind path for 1 GPU"},
        {"gpu\t17\tnvidia\tGPU\t\t\t\t\t\n",
         "2:5: address of gpu is '17', not a PCI address like 0000:17:00.0"},
    }));
    CAPTURE(lines);
    auto node = node::from_wire(of_lines(lines));
    REQUIRE_FALSE(node);
    node.error().where.file = "f";
    CHECK(to_string(node.error()) == "f:" + said);
}

TEST_CASE("a recording that is cut off says so, wherever it was cut", "[wire][errors]") {
    const auto text = recording();
    for (const std::size_t left :
         {text.size() - 1, text.size() - 5, text.size() / 2, std::size_t{20}}) {
        CAPTURE(left);
        const auto node = node::from_wire(text.substr(0, left));
        REQUIRE_FALSE(node);
        CHECK_THAT(node.error().message, ContainsSubstring("cut off here"));
    }
}

TEST_CASE("a recording whose lines end as on Windows is read", "[wire]") {
    auto text = recording();
    for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2)) {
        text.insert(at, 1, '\r');
    }
    const auto node = node::from_wire(text);
    REQUIRE(node);
    CHECK(node::to_wire(*node) == recording());
}

TEST_CASE("a few bytes of a recording do not stand for gigabytes", "[wire][errors]") {
    const std::string gpu = "gpu\t\tnvidia\tGPU\t\t\t\t\t0-8191\n";
    const auto [why, lines, said] = GENERATE_COPY(table<std::string, std::string, std::string>({
        {"cores", repeated("core\t65535\n", node::most_cores + 1), "more than 8192 cores"},
        {"NUMA nodes", repeated("numa\t0\t\t65535\t0\n", node::most_numa + 1),
         "more than 1024 numas"},
        {"GPUs", repeated("gpu\t\tnvidia\tGPU\t\t\t\t\t\n", node::most_gpus + 1),
         "more than 256 gpus"},
        {"NICs", repeated("nic\tmlx5_0\t\t\t1\t\t\t0\t\t1\t\t0\t\t1\n", node::most_nics + 1),
         "more than 1024 nics"},
        {"rows of no GPU", repeated("path\n", node::most_gpus + 1), "path has 0 fields"},
        {"CPUs in all lists", repeated(gpu, 200), "more than 1048576 CPUs in all lists"},
        {"CPUs again and again", "core\t0-65535,0-65535\n", "not a CPU list"},
        {"interfaces",
         "nic\tmlx5_0\t\t\t1\t\t\t0\t\t1\ta" + repeated(",a", node::most_interfaces) + "\t0\t\t1\n",
         "not a list of interfaces"},
    }));
    CAPTURE(why);
    const auto node = node::from_wire(of_lines(lines));
    REQUIRE_FALSE(node);
    CHECK(node.error().code == Errc::bad_input);
    if (why != "rows of no GPU") {
        CHECK_THAT(node.error().message, ContainsSubstring(said));
    }
}

TEST_CASE("the largest machines are within the limits", "[wire]") {
    std::string lines = "allowed\t0-8191\n";
    for (unsigned i = 0; i < 64; ++i) {
        lines += fmt::format("numa\t{}\t{}\t{}-{}\t1\n", i, i / 2, i * 128, i * 128 + 127);
    }
    for (unsigned i = 0; i < 4096; ++i) {
        lines += fmt::format("core\t{},{}\n", i, i + 4096);
    }
    lines += repeated("gpu\t\tnvidia\tGPU\t\t\t\t\t0-127\n", 16) + repeated("path\n", 16);
    CHECK(node::from_wire(of_lines(lines)));
}

TEST_CASE("the name of a device is what the kernel could call it", "[node]") {
    for (const auto* const name :
         {"mlx5_0", "rdmap16s27", "rocex0c42a10300b2c3d4_p1", "ib0.8001", "bnxt-re0"}) {
        CAPTURE(name);
        CHECK(node::is_device_name(name));
    }
    const std::string longest(64, 'a');
    CHECK(node::is_device_name(longest));
    for (const auto& name : {std::string{}, longest + "a", std::string{"mlx5_0,mlx5_1"},
                             std::string{"mlx5_0:1"}, std::string{"a b"}, std::string{"a\xff"},
                             std::string{"^mlx5"}, std::string{"=mlx5"}, std::string{"a\nb"}}) {
        CAPTURE(name);
        CHECK_FALSE(node::is_device_name(name));
        const auto wire = of_lines("nic\t" + name + "\t\t\t1\t\t\t0\t\t1\t\t0\t\t1\n");
        CHECK_FALSE(node::from_wire(wire));
    }
}
