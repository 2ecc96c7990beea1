// Which files a site is made of, and that a change of any is noticed.
#include "policy/load.hpp"

#include <cstdio>
#include <string>

#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace railhead;

const std::string slurm_conf =
    "TopologyPlugin=topology/tree\nNodeName=n[1-8] Gres=gpu:8 CPUs=64\n"
    "PartitionName=main Nodes=ALL Default=YES\n";
const std::string conf_of_two = "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\n";
const std::string yaml_of_one =
    "- topology: hall\n  tree:\n    switches:\n      - {switch: all, nodes: 'n[1-8]'}\n";

/// A folder with slurm.conf, gres.conf and a policy.
class SiteFolder : public test::TempDir {
 public:
    explicit SiteFolder(const std::string& policy = "") {
        write("slurm.conf", slurm_conf);
        write("gres.conf", "");
        write("railhead.toml", policy);
    }
    [[nodiscard]] policy::Loaded load() const {
        policy::Places places;
        places.slurm_conf = path("slurm.conf");
        return policy::load(places, std::nullopt);
    }
};

/// "topology.yaml: hall/1": the file read, and name and leaves of each fabric.
std::string read_as(const policy::Loaded& loaded) {
    auto text = loaded.topology_path.substr(loaded.topology_path.rfind('/') + 1) + ":";
    for (const auto& one : loaded.site->fabrics) {
        text += " " + one.fabric.name + "/" + std::to_string(one.fabric.leaves().size());
    }
    return text;
}

}  // namespace

TEST_CASE("topology.yaml beside slurm.conf wins over topology.conf", "[load]") {
    SiteFolder folder;
    folder.write("topology.conf", conf_of_two);
    CHECK(read_as(folder.load()) == "topology.conf: /2");

    folder.write("topology.yaml", yaml_of_one);

    CHECK(read_as(folder.load()) == "topology.yaml: hall/1");
}

TEST_CASE("topology.yaml needs no TopologyPlugin, topology.conf does", "[load]") {
    SiteFolder folder;
    folder.write("slurm.conf", slurm_conf.substr(slurm_conf.find("NodeName")));
    folder.write("topology.conf", conf_of_two);
    CHECK(read_as(folder.load()) == ":");

    folder.write("topology.yaml", yaml_of_one);

    CHECK(read_as(folder.load()) == "topology.yaml: hall/1");
}

TEST_CASE("the policy's topology is read by the suffix of its name, whatever lies beside",
          "[load]") {
    for (const std::string name : {"fabric.yaml", "fabric.yml", "fabric.conf"}) {
        CAPTURE(name);
        SiteFolder folder;
        folder.write("railhead.toml", "topology = \"" + folder.path(name) + "\"\n");
        folder.write("topology.yaml", "- {topology: other, flat: true}\n");
        folder.write(name, name.ends_with("conf") ? conf_of_two : yaml_of_one);

        CHECK(read_as(folder.load()) == name + (name.ends_with("conf") ? ": /2" : ": hall/1"));
    }
}

TEST_CASE("of a file with switches and blocks, TopologyPlugin says which count", "[load]") {
    struct Case {
        std::string plugin, text;
        fabric::Kind expected;
    };
    const std::string tree = conf_of_two;
    const std::string blocks = "BlockName=x Nodes=n[1-8]\n";
    const auto c = GENERATE_COPY(values<Case>({
        {"tree", tree + blocks, fabric::Kind::tree},
        {"tree", blocks + tree, fabric::Kind::tree},
        {"block", tree + blocks, fabric::Kind::block},
        {"block", tree + "BlockName=x\n", fabric::Kind::none},
        {"tree", blocks, fabric::Kind::block},  // there is no choice: check tells of it
    }));
    CAPTURE(c.plugin, c.text);
    SiteFolder folder;
    folder.write("slurm.conf", "TopologyPlugin=topology/" + c.plugin + "\nNodeName=n[1-8]\n");
    folder.write("topology.conf", c.text);

    CHECK(folder.load().site->fabrics.at(0).fabric.kind == c.expected);
}

TEST_CASE("topology.yaml that appears, changes or goes makes what was read stale", "[load]") {
    SiteFolder folder;
    folder.write("topology.conf", conf_of_two);
    const auto without = folder.load();
    CHECK_FALSE(without.is_stale());

    folder.write("topology.yaml", yaml_of_one);
    CHECK(without.is_stale());
    const auto with = folder.load();
    CHECK_FALSE(with.is_stale());

    folder.write("topology.yaml", yaml_of_one + "- {topology: other, flat: true}\n");
    CHECK(with.is_stale());
    const auto changed = folder.load();
    CHECK_FALSE(changed.is_stale());
    CHECK(read_as(changed) == "topology.yaml: hall/1 other/0");

    REQUIRE(std::remove(folder.path("topology.yaml").c_str()) == 0);
    CHECK(changed.is_stale());
    CHECK(read_as(folder.load()) == "topology.conf: /2");
}

TEST_CASE("a topology that cannot be read leaves a site without one, and a word why", "[load]") {
    struct Case {
        std::string why, text, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"no YAML", "- topology: [\n", "topology.yaml:2:1: this is no YAML"},
        {"no kind", "- topology: x\n", "topology.yaml:1:3: topology \"x\" is of no kind"},
    }));
    CAPTURE(c.why);
    SiteFolder folder;
    folder.write("topology.conf", conf_of_two);
    folder.write("topology.yaml", c.text);

    const auto loaded = folder.load();

    REQUIRE(loaded.site);
    CHECK(loaded.degraded);
    CHECK(read_as(loaded) == "topology.yaml:");
    REQUIRE(loaded.warnings.size() == 1);
    CHECK_THAT(to_string(loaded.warnings[0]), ContainsSubstring(c.expected));
}

TEST_CASE("files without a topology are no topology and one word, never an error", "[load]") {
    struct Case {
        std::string why, name, text, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"a bare switch", "topology.conf", "SwitchName=root\n", "this is no topology"},
        {"a line end", "topology.conf", "\n", "this is no topology"},
        {"an empty list", "topology.yaml", "[]", "no topology in this file"},
        {"an empty file", "topology.yaml", "", "no topology in this file"},
        {"no file", "", "", "topology.conf"},
    }));
    CAPTURE(c.why);
    SiteFolder folder;
    if (!c.name.empty()) {
        folder.write(c.name, c.text);
    }

    const auto loaded = folder.load();

    REQUIRE(loaded.site);
    CHECK(loaded.site->fabric_of(*loaded.site->find("main")) == nullptr);
    REQUIRE_FALSE(loaded.warnings.empty());
    CHECK_THAT(to_string(loaded.warnings.back()), ContainsSubstring(c.expected));
}
