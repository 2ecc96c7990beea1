// The facts about a node are kept for a boot, and no longer than they hold.
#include "node/cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "base/file.hpp"
#include "node/facts.hpp"
#include "node/wire.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace node = railhead::node;
using railhead::Errc;
using railhead::read_file;
using railhead::test::TempDir;

namespace {

/// A machine with the NICs of tests/data/nodes/two-cpu-8gpu.xml, which is a copy of its own.
class Machine {
 public:
    Machine() {
        REQUIRE(::chmod(folder_.path().c_str(), 0755) == 0);  // for nobody
        put("proc/sys/kernel/random/boot_id", "b6b1c1a0-0000-4000-8000-000000000001\n");
        put("sys/devices/system/cpu/online", "0-1\n");
        put("sys/bus/pci/devices/0000:17:00.0", "");
        for (unsigned nic = 0; nic < 8; ++nic) {
            set_port(nic, "4: ACTIVE");
        }
        const auto text = read_file(railhead::test::node_file("two-cpu-8gpu.xml"));
        put("node.xml", *text);
        options = {.folder = folder_.path("cache"),
                   .topology = folder_.path("node.xml"),
                   .version = "1.2.3",
                   .root = folder_.path(),
                   .owner = ::getuid()};
    }

    /// Writes a file of the machine.
    void put(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories(
            std::filesystem::path{folder_.path(name)}.parent_path());
        static_cast<void>(folder_.write(name, text));
    }
    void set_port(unsigned nic, const std::string& state, unsigned port = 1) const {
        const auto base = fmt::format("sys/class/infiniband/mlx5_{}/ports/{}/", nic, port);
        put(base + "state", state + "\n");
        put(base + "rate",
            state.starts_with("4") ? "400 Gb/sec (4X NDR)\n" : "2.5 Gb/sec (1X SDR)\n");
        put(base + "link_layer", "InfiniBand\n");
    }
    [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
    [[nodiscard]] std::string file() const {
        return options.folder + "/" + node::cache_name(options);
    }
    [[nodiscard]] std::string key() const { return node::make_cache_key(options).value(); }

    node::CacheOptions options;

 private:
    TempDir folder_;
};

node::Facts find(const Machine& machine) {
    auto facts = node::find_facts(machine.options);
    REQUIRE(facts);
    return std::move(*facts);
}

std::string wire(const node::Facts& facts) {
    return node::to_wire(facts.node);
}

}  // namespace

TEST_CASE("the second step finds what the first one has seen", "[node][cache]") {
    const Machine machine;

    const auto first = find(machine);
    const auto second = find(machine);

    CHECK_FALSE(first.cached);
    CHECK(first.unkept.empty());
    CHECK(second.cached);
    CHECK(wire(second) == wire(first));
    CHECK(second.node.source == machine.options.topology);
}

TEST_CASE("facts are those of a look, but for the CPUs of who looks", "[node][cache]") {
    const Machine machine;
    auto look = node::probe({.file = machine.options.topology, .root = machine.options.root});
    REQUIRE(look);
    CHECK_FALSE(look->allowed.empty());
    look->allowed = {};

    CHECK(wire(find(machine)) == node::to_wire(*look));
    CHECK(wire(find(machine)) == node::to_wire(*look));
}

TEST_CASE("facts of another state of the machine do not count", "[node][cache]") {
    struct Case {
        std::string why;
        void (*change)(Machine&);
    };
    const auto c = GENERATE(values<Case>({
        {"another boot",
         [](Machine& m) { m.put("proc/sys/kernel/random/boot_id", "b6b1c1a0-0002\n"); }},
        {"a CPU went offline", [](Machine& m) { m.put("sys/devices/system/cpu/online", "0\n"); }},
        {"a PCI device came", [](Machine& m) { m.put("sys/bus/pci/devices/0000:18:00.0", ""); }},
        {"a NIC went",
         [](Machine& m) { std::filesystem::remove_all(m.path("sys/class/infiniband/mlx5_7")); }},
        {"the GPUs' driver came",
         [](Machine& m) { m.put("proc/driver/nvidia/gpus/0000:17:00.0/information", ""); }},
        {"a Slingshot NIC came", [](Machine& m) { m.put("sys/class/cxi/cxi0/x", ""); }},
        {"the recorded node was edited",
         [](Machine& m) {
             m.put("node.xml", *read_file(railhead::test::node_file("two-cpu-8gpu.xml")) + "\n");
         }},
        {"another railhead", [](Machine& m) { m.options.version = "1.2.4"; }},
    }));
    CAPTURE(c.why);
    Machine machine;
    REQUIRE_FALSE(find(machine).cached);
    REQUIRE(find(machine).cached);

    c.change(machine);

    CHECK_FALSE(find(machine).cached);
    CHECK(find(machine).cached);  // kept anew
}

TEST_CASE("the order in which a folder is listed is not in the key", "[node][cache]") {
    const Machine one;
    Machine other;
    for (const auto* const name : {"0000:1a:00.0", "0000:19:00.0", "0000:18:00.0"}) {
        other.put(std::string{"sys/bus/pci/devices/"} + name, "");
    }
    for (const auto* const name : {"0000:18:00.0", "0000:19:00.0", "0000:1a:00.0"}) {
        one.put(std::string{"sys/bus/pci/devices/"} + name, "");
    }
    other.options.topology.clear();
    auto live = one.options;
    live.topology.clear();

    CHECK(node::make_cache_key(live) == other.key());
    CHECK_THAT(other.key(), ContainsSubstring("PCI 4:"));
}

TEST_CASE("port states are never those of the cache", "[node][cache]") {
    const Machine machine;
    machine.set_port(0, "1: DOWN");
    REQUIRE_FALSE(find(machine).node.nics[0].active);

    machine.set_port(0, "4: ACTIVE");
    machine.set_port(1, "1: DOWN");
    const auto facts = find(machine);

    CHECK(facts.cached);
    CHECK(facts.node.nics[0].active);
    CHECK(facts.node.nics[0].gbit_per_s == 400.0);  // that a port which is down does not show
    CHECK_FALSE(facts.node.nics[1].active);
    CHECK(facts.node.nics[1].gbit_per_s == 400.0);
}

TEST_CASE("a NIC whose other port has come up uses that one", "[node][cache]") {
    const Machine machine;
    machine.set_port(0, "1: DOWN");
    machine.set_port(0, "1: DOWN", 2);
    REQUIRE(find(machine).node.nics[0].port == 1);

    machine.set_port(0, "4: ACTIVE", 2);
    const auto facts = find(machine);

    CHECK(facts.cached);
    CHECK(facts.node.nics[0].port == 2);
    CHECK(facts.node.nics[0].active);
    CHECK(facts.node.nics[0].gbit_per_s == 400.0);
}

TEST_CASE("the CPUs that one step may use are not kept for another", "[node][cache]") {
    const Machine machine;
    REQUIRE(node::write_cache(machine.options, machine.key(),
                              railhead::test::recorded_node("two-cpu-8gpu.xml")));
    const auto kept = node::read_cache(machine.options, machine.key());
    REQUIRE(kept);
    CHECK(kept->allowed.empty());
}

TEST_CASE("the file is a capture that railhead reads", "[node][cache]") {
    const Machine machine;
    static_cast<void>(find(machine));
    CHECK(node::parse_node(*read_file(machine.file()), "file"));
}

TEST_CASE("a file that is not as we left it is as good as none", "[node][cache][errors]") {
    struct Case {
        std::string why;
        void (*spoil)(const Machine&, std::string text);
    };
    const auto c = GENERATE(values<Case>({
        {"cut short",
         [](const Machine& m, std::string text) {
             std::filesystem::resize_file(m.file(), text.size() - 5);
         }},
        {"empty", [](const Machine& m, std::string) { std::filesystem::resize_file(m.file(), 0); }},
        {"of a terabyte",
         [](const Machine& m, std::string) {
             std::filesystem::resize_file(m.file(), std::uintmax_t{1} << 40U);
         }},
        {"the key alone is wrong",
         [](const Machine& m, std::string text) {
             text[text.find("boot ") + 5] = 'X';
             m.put("cache/" + node::cache_name(m.options), text);
         }},
        {"the key is cut off",
         [](const Machine& m, std::string text) {
             m.put("cache/" + node::cache_name(m.options), text.substr(0, text.find(", PCI")));
         }},
        {"a fact is none",
         [](const Machine& m, std::string text) {
             text.replace(text.find("\ngpu\t"), 5, "\ngpv\t");
             m.put("cache/" + node::cache_name(m.options), text);
         }},
        {"written by another version",
         [](const Machine& m, std::string text) {
             text[text.find('\t') + 1] = '1';
             m.put("cache/" + node::cache_name(m.options), text);
         }},
        {"everybody could have written it",
         [](const Machine& m, std::string) { REQUIRE(::chmod(m.file().c_str(), 0666) == 0); }},
    }));
    CAPTURE(c.why);
    const Machine machine;
    const auto good = wire(find(machine));
    c.spoil(machine, *read_file(machine.file()));

    const auto facts = find(machine);

    CHECK_FALSE(facts.cached);
    CHECK(wire(facts) == good);
    CHECK(find(machine).cached);  // and it was put right
}

TEST_CASE("where nothing can be kept, the facts are found all the same", "[node][cache][errors]") {
    struct Case {
        std::string why, unkept;
        void (*spoil)(Machine&);
    };
    const auto c = GENERATE(values<Case>({
        {"the folder is everybody's", "can be written by others",
         [](Machine& m) {
             std::filesystem::create_directory(m.options.folder);
             REQUIRE(::chmod(m.options.folder.c_str(), 01777) == 0);
         }},
        {"there is no folder to make it in", "cannot make the folder",
         [](Machine& m) { m.options.folder = m.path("none/cache"); }},
        {"the kernel tells no boot", "which boot this is",
         [](Machine& m) { std::filesystem::remove(m.path("proc/sys/kernel/random/boot_id")); }},
    }));
    CAPTURE(c.why);
    Machine machine;
    c.spoil(machine);

    const auto facts = find(machine);

    CHECK_FALSE(facts.cached);
    CHECK(facts.node.gpus.size() == 8);
    CHECK_THAT(facts.unkept, ContainsSubstring(c.unkept));
    CHECK_FALSE(find(machine).cached);
}

TEST_CASE("what others can write is not kept for everybody", "[node][cache][errors]") {
    const Machine machine;
    REQUIRE(::chmod(machine.options.topology.c_str(), 0666) == 0);

    const auto facts = node::find_facts(machine.options);

    REQUIRE_FALSE(facts);
    CHECK_THAT(facts.error().message, ContainsSubstring("can be written by others"));
    CHECK_FALSE(std::filesystem::exists(machine.options.folder));
}

TEST_CASE("who looks as nobody is kept out of what is root's alone", "[node][cache][probe]") {
    if (::getuid() != 0) {
        SKIP("only root can become nobody");
    }
    const TempDir folder;  // mode 0700
    const auto file =
        folder.write("node.xml", *read_file(railhead::test::node_file("two-cpu-8gpu.xml")));

    const auto root = node::probe({.file = file, .root = "/nonexistent"});
    const auto nobody = node::probe({.file = file, .root = "/nonexistent", .as_nobody = true});

    CHECK(root);
    REQUIRE_FALSE(nobody);
    CHECK_THAT(nobody.error().message, ContainsSubstring("Permission denied"));
}

TEST_CASE("who gathers looks again whatever is kept", "[node][cache]") {
    const Machine machine;
    REQUIRE_FALSE(find(machine).cached);
    REQUIRE(find(machine).cached);
    CHECK_FALSE(node::gather_facts(machine.options)->cached);
}
