// The corpus' topology files of NCCL and RCCL: what we read in them, and whether each GPU's near
// NICs are those that NCCL's own code takes for it (the corpus' oracle, printed by NCCL 2.30.7).
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "node/from_nccl_xml.hpp"
#include "rails/pairing.hpp"
#include "rails/warnings.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/golden.hpp"

using namespace railhead;

namespace {

constexpr std::string_view folder = "nccl-topo";

Result<node::Node> read_topology(const std::string& name) {
    return node::parse_nccl_xml(test::read_corpus(fmt::format("{}/{}", folder, name)), name);
}

/// Each GPU's PCI address and the addresses of its NICs, "name@address".  A made name (net0) is one
/// on both sides.
using Sets = std::map<std::string, std::set<std::string>>;

/// What NCCL said: the rows of the oracle with 1 in column `local`.
Sets local_sets(const std::string& table) {
    Sets sets;
    const auto lines = split(table, '\n');
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const auto cells = split(lines[i], '\t');
        if (cells.size() > 6 && cells[6] == "1") {
            sets[std::string{cells[1]}].insert(fmt::format("{}@{}", cells[2], cells[3]));
        }
    }
    return sets;
}

/// What we say, of all NICs of the file: NCCL leaves none out of itself.
Sets near_sets(const node::Node& node) {
    std::vector<std::size_t> all;
    for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
        all.push_back(nic);
    }
    Sets sets;
    for (const auto& gpu : node.gpus) {
        for (const auto nic : rails::near_nics(node, gpu.index, all).near) {
            const auto& found = node.nics[nic];
            sets[to_string(gpu.pci)].insert(
                fmt::format("{}@{}", found.name, found.pci ? to_string(*found.pci) : "-"));
        }
    }
    return sets;
}

std::string rails_of(const node::Node& node) {
    const auto plan = rails::plan_rails(node);
    std::string text = fmt::format("rails {}\n", plan.list.empty() ? "none" : plan.list);
    for (const auto& [nic, reason] : plan.left_out) {
        text += fmt::format("left out {}: {}\n", node.nics[nic].name, reason);
    }
    for (const auto& gpu : node.gpus) {
        const auto& own = plan.gpus[gpu.index];
        text += fmt::format("GPU {} {} {} numa {} cpus {}: {}{}\n", gpu.index, to_string(gpu.pci),
                            gpu.model, gpu.numa ? fmt::format("{}", *gpu.numa) : "-",
                            to_string(gpu.cpus),
                            own.nics.empty() ? "no rail" : std::string{to_string(own.path)} + " ",
                            rails::device_list(node, own.nics));
    }
    for (const auto& remark : rails::find_warnings(node, plan)) {
        text += fmt::format("note {}\n", remark);
    }
    return text;
}

std::string nics_of(const node::Node& node) {
    std::string text;
    for (const auto& nic : node.nics) {
        text += fmt::format(
            "NIC {} {} {} {} Gb/s, PCIe {}\n", nic.name, nic.pci ? to_string(*nic.pci) : "-",
            nic.kind.empty() ? "-" : nic.kind,
            nic.gbit_per_s ? fmt::format("{:g}", *nic.gbit_per_s) : "-",
            nic.pcie_gbyte_per_s ? fmt::format("{:.1f} GB/s", *nic.pcie_gbyte_per_s) : "-");
    }
    return text;
}

std::string links_of(const node::Node& node) {
    std::string text;
    for (const auto& row : node.links) {
        std::vector<std::string> cells;
        for (const auto& link : row) {
            cells.push_back(fmt::format("{}{}", to_string(link.path),
                                        link.direct > 0 ? fmt::format("+{}", link.direct) : ""));
        }
        text += fmt::format("links {}\n", fmt::join(cells, " "));
    }
    return text;
}

}  // namespace

TEST_CASE("each topology file of NCCL is read as reviewed", "[golden][node][nccl]") {
    RAILHEAD_NEED_CORPUS();
    const auto names = test::list_corpus(folder, ".xml");
    REQUIRE(names.size() > 20);
    for (const auto& name : names) {
        CAPTURE(name);
        const auto node = read_topology(name);
        const auto text = node ? nics_of(*node) + rails_of(*node) + links_of(*node)
                               : to_string(node.error()) + "\n";
        const auto file = fmt::format("golden/{}/{}.txt", folder, name.substr(0, name.size() - 4));
        CHECK(text == test::golden(file, text));
    }
}

TEST_CASE("each GPU's near NICs are NCCL's local set", "[golden][rails][nccl]") {
    RAILHEAD_NEED_CORPUS();
    const auto tables = test::list_corpus(fmt::format("{}/oracle", folder), ".tsv");
    REQUIRE(tables.size() > 20);
    std::size_t compared = 0;
    for (const auto& table : tables) {
        CAPTURE(table);
        const auto node = read_topology(table.substr(0, table.size() - 4) + ".xml");
        if (table == "aws-g5-a10g.tsv") {  // no class on any function: see the test below
            CHECK_FALSE(node);
            continue;
        }
        REQUIRE(node);
        const auto nccl = local_sets(test::read_corpus(fmt::format("{}/oracle/{}", folder, table)));
        CHECK(near_sets(*node) == nccl);
        compared += nccl.size();
    }
    CHECK(compared > 170);
}

// ---- the oddities -------------------------------------------------------------------------

TEST_CASE("a file without PCI classes tells no GPU from a NIC", "[golden][node][nccl]") {
    // The oracle was told by hand which function of a g5 is the NIC.  NCCL itself asks the machine,
    // and comments do not count.
    RAILHEAD_NEED_CORPUS();
    const auto node = read_topology("aws-g5-a10g.xml");
    REQUIRE_FALSE(node);
    CHECK(node.error().code == Errc::unsupported);
    CHECK(node.error().where.line == 14);
}

TEST_CASE("bus ids that several bridges share do not mix the devices below them",
          "[golden][node][nccl]") {
    RAILHEAD_NEED_CORPUS();
    const auto node = read_topology("rccl-topo_4p4h.xml");
    REQUIRE(node);
    CHECK(node->gpus.size() == 16);
    const auto plan = rails::plan_rails(*node);
    std::set<std::vector<std::size_t>> pairs;
    for (const auto& gpu : plan.gpus) {
        CHECK(gpu.path == node::Path::pix);
        pairs.insert(gpu.nics);
    }
    CHECK(pairs.size() == 16);
}

TEST_CASE("an nvlink to the GPU itself is no link to another", "[golden][node][nccl]") {
    RAILHEAD_NEED_CORPUS();
    const auto node = read_topology("azure-ncv4-a100pcie.xml");
    REQUIRE(node);
    for (const auto& row : node->links) {
        for (const auto& link : row) {
            CHECK(link.direct == 0);
        }
    }
}

TEST_CASE("what NCCL reaches by sockets is near a GPU and no rail", "[golden][rails][nccl]") {
    RAILHEAD_NEED_CORPUS();
    for (const auto* const name : {"azure-ncv4-a100pcie.xml", "rccl-topo_8p_90a_1.xml"}) {
        CAPTURE(name);
        const auto node = read_topology(name);
        REQUIRE(node);
        const auto plan = rails::plan_rails(*node);
        CHECK(plan.rails.empty());
        REQUIRE(plan.left_out.size() == 1);
        CHECK(plan.left_out[0].reason == "a network interface without RDMA");
    }
}

TEST_CASE("a graph file is refused by name", "[golden][node][nccl]") {
    RAILHEAD_NEED_CORPUS();
    for (const auto* const name : {"azure-nc48v4-graph.xml", "azure-ncv4-graph.xml"}) {
        CAPTURE(name);
        const auto node = read_topology(name);
        REQUIRE_FALSE(node);
        CHECK_THAT(node.error().message, ContainsSubstring("NCCL_GRAPH_FILE"));
    }
}
