#include "report/rails.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/golden.hpp"
#include "support/node_report.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
namespace rails = railhead::rails;
using railhead::test::recorded_node;
using railhead::test::Seen;
using rails::plan_rails;

// ---- what people see ----------------------------------------------------------------------

TEST_CASE("the fixtures look as we reviewed them", "[rails][golden]") {
    const std::string name = GENERATE("dgx-h100", "two-cpu-8gpu", "memory-only-numa",
                                      "slingshot-mi300a", "omni-path");
    CAPTURE(name);
    auto node = recorded_node(name + ".xml");
    node.source = name + ".xml";
    const Seen seen{std::move(node)};
    CHECK(seen.text() == railhead::test::golden("golden/nodes/" + name + ".txt", seen.text()));
    CHECK(seen.json() == railhead::test::golden("golden/nodes/" + name + ".json", seen.json()));
}

TEST_CASE("the text keeps to 80 columns", "[rails]") {
    auto node = recorded_node("dgx-h100.xml");
    node.source = "dgx-h100.xml";
    const auto text = Seen{std::move(node)}.text();
    for (const auto line : railhead::split(text, '\n')) {
        CAPTURE(line);
        CHECK(line.size() <= 80);
    }
}

TEST_CASE("recorded machines of the field get the rails we reviewed", "[rails][golden][corpus]") {
    RAILHEAD_NEED_CORPUS();
    for (const auto& name : railhead::test::list_corpus("hwloc-xml", ".xml")) {
        CAPTURE(name);
        auto node = node::probe(
            {.file = railhead::test::corpus() + "/hwloc-xml/" + name, .root = "/nonexistent"});
        auto file = "golden/hwloc-xml/" + name.substr(0, name.size() - 4);
        std::string text;
        if (node) {
            node->source = name;
            text = Seen{std::move(*node)}.text();
            // Format 3 is read from hwloc 2.12 on; before, the refusal is what we reviewed.
            file += name.ends_with("-xml3.xml") ? ".read.txt" : ".txt";
        } else {
            text = node.error().message + "\n";
            // The message has the folder of the corpus and the version of the hwloc at hand.
            text.erase(0, text.find(name) - 1);
            if (const auto version = text.find("hwloc 2."); version != std::string::npos) {
                text.erase(version, text.find("cannot") - version);
            }
            file += ".txt";
        }
        CHECK(text == railhead::test::golden(file, text));
    }
}

// ---- a second opinion ---------------------------------------------------------------------

namespace {

/// One device as the corpus' index describes it: "0000:43:00.0[0207] ib0+mlx5_0 numa=0-3 br=…".
struct Device {
    std::set<std::string> names;
    std::string numa;
};

std::map<std::string, Device> indexed_devices(std::string_view expected) {
    std::map<std::string, Device> devices;
    for (const auto entry : railhead::split(expected, ';')) {
        const auto words = railhead::split_words(entry);
        const auto is_numa = [](auto word) { return word.starts_with("numa="); };
        const auto numa = std::ranges::find_if(words, is_numa);
        const auto address = std::ranges::find_if(words, [](auto word) {
            return word.size() > 12 && word[4] == ':' && word.find('[') == 12;
        });
        if (address == words.end() || numa != std::next(address, 2)) {
            continue;  // a heading, or the last entry where the index cuts it
        }
        auto& device = devices[std::string{address->substr(0, 12)}];
        for (const auto name : railhead::split(*std::next(address), '+')) {
            device.names.emplace(name);
        }
        device.numa = numa->substr(5);
    }
    return devices;
}

/// Where we read a file otherwise than the index, and why we think so.
std::string_view our_reason(const std::string& name) {
    static const std::map<std::string, std::string_view, std::less<>> reasons{
        {"a100x4-hdr4-epyc7402-hwloc1.xml",
         "format 1 nests I/O below the NUMA node; the index took the package's nodes"},
        {"mixed-amd-nvidia-workstation-hwloc1.xml",
         "format 1 nests I/O below the NUMA node; the index took the package's nodes"},
        {"v100x1-edr-cascadelake-hwloc1.xml",
         "the index found no NUMA node; hwloc gives a machine without one a single node"},
    };
    const auto found = reasons.find(name);
    return found == reasons.end() ? "" : found->second;
}

std::string numa_text(const std::optional<unsigned>& numa) {
    return numa ? fmt::format("{}", *numa) : std::string{};
}

/// "3" is one node; "0-3" and "0,2" are several: the machine does not tell.
std::string single(const std::string& numa) {
    return numa.find_first_of("-,") == std::string::npos ? numa : std::string{};
}

}  // namespace

TEST_CASE("we agree with the corpus' index on devices and NUMA nodes, or say why",
          "[rails][corpus]") {
    RAILHEAD_NEED_CORPUS();
    const auto index = railhead::test::read_corpus("INDEX.tsv");
    for (const auto line : railhead::split(index, '\n')) {
        const auto columns = railhead::split(line, '\t');
        if (columns.size() < 6 || columns[0] != "hwloc-xml" || !columns[1].ends_with(".xml")) {
            continue;
        }
        const std::string name{columns[1].substr(columns[1].find('/') + 1)};
        const auto node = node::probe(
            {.file = railhead::test::corpus() + "/hwloc-xml/" + name, .root = "/nonexistent"});
        const auto devices = indexed_devices(columns[5]);
        if (!node || devices.empty()) {
            continue;
        }
        CAPTURE(name);
        const bool complete = columns[5].size() < 1800;  // the index cuts the longest entries
        const auto check = [&](const std::string& pci, const std::optional<unsigned>& numa) {
            const auto found = devices.find(pci);
            CAPTURE(pci);
            CHECK((found != devices.end() || !complete));
            if (found != devices.end() && our_reason(name).empty()) {
                CHECK(numa_text(numa) == single(found->second.numa));
            }
        };
        for (const auto& gpu : node->gpus) {
            check(to_string(gpu.pci), gpu.numa);
        }
        for (const auto& nic : node->nics) {
            check(to_string(nic.pci), nic.numa);
            if (const auto found = devices.find(to_string(nic.pci)); found != devices.end()) {
                const auto& names = found->second.names;
                const bool slingshot = nic.name.starts_with("cxi");  // the index has the interface
                CHECK(names.contains(slingshot ? nic.netdevs.at(0) : nic.name));
            }
        }
    }
}
