// nvidia-smi topo -m, whole and damaged.  tests/data/topo-m has a small matrix for each defect,
// named after it: two GPUs, GPU0 near NIC0 (mlx5_0), GPU1 near NIC1 (mlx5_3).
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "node/from_topo_m.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/node_report.hpp"
#include "support/nodes.hpp"
#include "support/paths.hpp"

namespace node = railhead::node;
using node::Path;
using railhead::Errc;
using railhead::test::cpus;

namespace {

railhead::Result<node::Node> parse(const std::string& name) {
    return node::parse_topo_m(railhead::test::read("topo-m/" + name), name);
}

node::Node parsed(const std::string& name) {
    auto node = parse(name);
    if (!node) {
        throw std::runtime_error{to_string(node.error())};
    }
    return std::move(*node);
}

std::vector<std::string> fixtures() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{railhead::test::data_file("topo-m")}) {
        if (auto name = entry.path().filename().string(); name.ends_with(".txt")) {
            names.push_back(std::move(name));
        }
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace

TEST_CASE("every defect of a matrix is read or refused as reviewed", "[topo-m][golden]") {
    const auto names = fixtures();
    REQUIRE(names.size() > 40);
    for (const auto& name : names) {
        CAPTURE(name);
        const auto seen = parse(name);
        const auto text = railhead::test::seen_text(seen);
        CHECK(text == railhead::test::golden("golden/topo-m-defects/" + name, text));
        CHECK(seen.has_value() != name.starts_with("refused-"));
    }
}

TEST_CASE("a matrix is read whole", "[topo-m]") {
    const auto node = parsed("whole.txt");
    REQUIRE(node.gpus.size() == 2);
    CHECK(node.gpus[1].index == 1);
    CHECK(node.gpus[1].vendor == "nvidia");
    CHECK_FALSE(node.gpus[1].pci);
    CHECK(node.gpus[1].numa == 1U);
    CHECK(node.gpus[1].cpus == cpus("16-31,48-63"));
    REQUIRE(node.nics.size() == 2);
    CHECK(node.nics[1].name == "mlx5_3");
    CHECK(node.paths ==
          std::vector<std::vector<Path>>{{Path::pix, Path::sys}, {Path::sys, Path::pix}});
    REQUIRE(node.links.size() == 2);
    CHECK(node.links[0][1].direct == 4);
    REQUIRE(node.numa.size() == 2);
    CHECK(node.numa[1].cpus == cpus("16-31,48-63"));
    CHECK(node.warnings.empty());
    CHECK(node.incomplete.empty());
}

TEST_CASE("what a terminal or a web page does to a matrix changes nothing", "[topo-m]") {
    const auto whole = parsed("whole.txt");
    const auto* const name =
        GENERATE("colours.txt", "colours-without-escape.txt", "prompt-and-prose.txt", "blanks.txt",
                 "header-unindented.txt", "glued-cells.txt");
    CAPTURE(name);
    const auto node = parsed(name);
    CHECK(node.paths == whole.paths);
    CHECK(node.gpus[0].cpus == whole.gpus[0].cpus);
    CHECK(node.gpus[1].numa == whole.gpus[1].numa);
    CHECK(node.nics[1].name == "mlx5_3");
    CHECK(node.warnings.empty());
    CHECK(node.incomplete.empty());
}

TEST_CASE("an empty CPU cell does not take the next one", "[topo-m]") {
    const auto* const name = GENERATE("cpu-cell-empty-tabs.txt", "cpu-cell-empty-blanks.txt");
    CAPTURE(name);
    const auto node = parsed(name);
    CHECK(node.gpus[1].cpus.empty());
    CHECK(node.gpus[1].numa == 1U);
    REQUIRE(node.warnings.size() == 1);
    CHECK_THAT(node.warnings[0].message, ContainsSubstring("CPU affinity of GPU1 is empty"));
}

TEST_CASE("CPUs in doubt are told and not used", "[topo-m]") {
    const auto [name, gpu, why] = GENERATE(table<std::string, std::size_t, std::string>({
        {"cpu-cell-damaged.txt", 0, "\"-15,32-47\" of GPU0 is damaged"},
        {"cpu-cell-lost-a-digit.txt", 2, "\"2-63\" of GPU2 is not that of the other GPUs"},
        {"cpu-cells-at-odds.txt", 0, "\"32-63\" of GPU0 is not that"},  // nor the other's: which?
        {"cpus-of-a-job.txt", 0, "CPUs of the job this was written in"},
        {"words-too-many.txt", 0, "nothing tells which column"},
    }));
    CAPTURE(name);
    const auto node = parsed(name);
    CHECK(node.gpus[gpu].cpus.empty());
    REQUIRE_FALSE(node.warnings.empty());
    CHECK_THAT(node.warnings[0].message, ContainsSubstring(why));
    CHECK(node.warnings[0].where.file == name);
    CHECK(node.warnings[0].where.line > 1);
}

TEST_CASE("a GPU is near the node with CPUs, not near its own memory", "[topo-m]") {
    const auto grace = parsed("numa-of-gpu-memory.txt");
    CHECK(grace.gpus[0].numa == 0U);
    CHECK(grace.gpus[1].numa == 1U);
    CHECK_FALSE(parsed("numa-of-several-nodes.txt").gpus[0].numa);  // no GPU memory: any of them
}

TEST_CASE("NCCL gets no list where the matrix does not tell it whole", "[topo-m][rails]") {
    const auto [name, why] = GENERATE(table<std::string, std::string>({
        {"no-legend.txt", "no NIC legend: the device names are not known"},
        {"legend-of-more-nics.txt", "NIC2 of the NIC legend has neither row nor column"},
        {"gpu-rows-cut.txt", "the matrix is cut off before GPU1"},
        {"no-nic.txt", "the matrix shows no NIC"},
    }));
    CAPTURE(name);
    const railhead::test::Seen seen{parsed(name)};
    CHECK(seen.node.incomplete == why);
    CHECK(seen.plan.list.empty());
    CHECK(seen.environment.changes.empty());
    CHECK(seen.environment.silence == why);
}

TEST_CASE("the site's own list holds beside a matrix without names", "[topo-m][rails]") {
    const auto node = parsed("no-legend.txt");
    CHECK(railhead::rails::plan_rails(node, {"mlx5_0"}).list == "mlx5_0:1");
}

TEST_CASE("a GPU row that is cut off is read from the NICs' rows", "[topo-m]") {
    const auto node = parsed("gpu-row-cut.txt");
    REQUIRE(node.gpus.size() == 2);
    CHECK(node.paths[1] == std::vector<Path>{Path::sys, Path::pix});
    CHECK(node.links[1][0].direct == 4);
    CHECK(node.gpus[1].cpus.empty());
    CHECK(node.incomplete.empty());
    CHECK_THAT(node.warnings.at(0).message, ContainsSubstring("no row for GPU1"));
}

TEST_CASE("SOC is what SYS was called", "[topo-m]") {
    const auto node = parsed("soc-and-old-names.txt");
    CHECK(node.paths[0][1] == Path::sys);
    CHECK(node.nics[1].name == "mlx5_3");
    CHECK(node.incomplete.empty());
}

TEST_CASE("tables of other tools are refused by name", "[topo-m][errors]") {
    const auto [name, tool] = GENERATE(table<std::string, std::string>(
        {{"refused-npu-smi.txt", "npu-smi"}, {"refused-rocm-smi.txt", "rocm-smi"}}));
    const auto node = parse(name);
    REQUIRE_FALSE(node);
    CHECK(node.error().code == Errc::unsupported);
    CHECK_THAT(node.error().message, ContainsSubstring("is a table of " + tool));
}

TEST_CASE("a matrix cut anywhere is no other matrix", "[topo-m]") {
    // Whatever is left is refused or agrees with the whole; a list for NCCL needs all of it.
    const auto text = railhead::test::read("topo-m/whole.txt");
    const auto whole = parsed("whole.txt");
    for (std::size_t length = 0; length < text.size(); ++length) {
        CAPTURE(length);
        const auto node = node::parse_topo_m(text.substr(0, length), "cut");
        if (!node) {
            continue;
        }
        for (std::size_t gpu = 0; gpu < node->gpus.size(); ++gpu) {
            CHECK(node->paths[gpu] == whole.paths[gpu]);
        }
        if (node->incomplete.empty()) {
            CHECK(node->gpus.size() == whole.gpus.size());
            CHECK(node->nics[0].name == whole.nics[0].name);
        }
    }
}
