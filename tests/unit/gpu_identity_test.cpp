#include "node/gpu_identity.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace node = railhead::node;
using railhead::Errc;
using Words = std::optional<std::string>;

namespace {

std::string positions(const railhead::Result<std::vector<std::size_t>>& found) {
    return found ? fmt::format("{}", fmt::join(*found, ",")) : to_string(found.error());
}

node::Node amd_node(const std::vector<std::vector<unsigned>>& rocm) {
    auto node = railhead::test::node_with(std::vector<std::vector<node::Path>>(rocm.size()));
    for (std::size_t i = 0; i < rocm.size(); ++i) {
        node.gpus[i].vendor = "amd";
        node.gpus[i].rocm_indices = rocm[i];
    }
    return node;
}

}  // namespace

TEST_CASE("the GPUs of a task are those that Slurm and CUDA mean", "[node][identity]") {
    struct Case {
        std::string why;
        Words slurm, cuda;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"nothing is said", {}, {}, ""},
        {"Slurm's numbers are the node's", "4,5", {}, "4,5"},
        {"a cgroup renumbers CUDA, not Slurm", "4,5", "0,1", "4,5"},
        {"without Slurm, CUDA's numbers", {}, "2,3", "2,3"},
        {"a range", {}, "0-3", "0,1,2,3"},
        {"ranges and blanks", " 0-1 , 6 ", {}, "0,1,6"},
        {"a comma too many", "0,1,", {}, "0,1"},
        {"none: empty", {}, "", ""},
        {"none: Slurm's word", {}, "NoDevFiles", ""},
        {"none: void", {}, "void", ""},
        {"none: -1", {}, "-1", ""},
        {"CUDA stops at -1", {}, "1,-1,2", "1"},
        {"no device although Slurm gave some", "0,1", "", ""},
        {"a UUID", "3", "GPU-00000000-0000-0000-0000-000000000005", "5"},
        {"UUIDs keep their order",
         {},
         "GPU-00000000-0000-0000-0000-000000000005,GPU-00000000-0000-0000-0000-000000000001",
         "5,1"},
        {"a MIG device that names its GPU", "0", "MIG-GPU-00000000-0000-0000-0000-000000000002/1/0",
         "2"},
        {"two MIG devices of one GPU",
         {},
         "MIG-GPU-00000000-0000-0000-0000-000000000002/1/0,"
         "MIG-GPU-00000000-0000-0000-0000-000000000002/2/0",
         "2"},
    }));
    CAPTURE(c.why);
    const auto dgx = railhead::test::recorded_node("dgx-h100.xml");
    CHECK(positions(node::identify_gpus(dgx, {c.slurm, c.cuda, {}})) == c.expected);
}

TEST_CASE("what cannot be told for certain is an error, never a guess",
          "[node][identity][errors]") {
    struct Case {
        std::string why;
        Words slurm, cuda;
        Errc code;
        std::string message;
    };
    const auto c = GENERATE(values<Case>({
        {"a number that the node has not (MIG, too)",
         "9",
         {},
         Errc::not_found,
         "GPU 9 is not one of this node's 8"},
        {"no number", "0,x", {}, Errc::bad_input, "'x' is not a GPU number"},
        {"a range the wrong way", "3-1", {}, Errc::bad_input, "'3-1' is not a GPU number"},
        {"a range without end",
         "0-4000000000",
         {},
         Errc::bad_input,
         "'0-4000000000' is not a GPU number"},
        {"twice", "1,1", {}, Errc::bad_input, "GPU 1 is listed twice"},
        {"Slurm and CUDA differ", "0,1", "0", Errc::unsupported,
         "Slurm gave the GPUs 0,1 but the environment shows 0"},
        {"an unknown UUID",
         {},
         "GPU-ffffffff",
         Errc::not_found,
         "'GPU-ffffffff' names none of this node's GPUs"},
        {"a UUID cut too short",
         {},
         "GPU-0",
         Errc::not_found,
         "'GPU-0' names several of this node's GPUs"},
        {"a MIG UUID of today", "0", "MIG-41b3359c-e721-56e5-8009-12e5797ed514", Errc::unsupported,
         "'MIG-41b3359c-e721-56e5-8009-12e5797ed514' does not tell which GPU it is part of"},
        {"numbers among UUIDs",
         {},
         "GPU-00000000-0000-0000-0000-000000000001,2",
         Errc::bad_input,
         "'2' stands among UUIDs but is none"},
        {"control characters are not printed",
         "\x1b[2J",
         {},
         Errc::bad_input,
         "'?[2J' is not a GPU number"},
    }));
    CAPTURE(c.why);
    const auto dgx = railhead::test::recorded_node("dgx-h100.xml");
    const auto found = node::identify_gpus(dgx, {c.slurm, c.cuda, {}});
    REQUIRE_FALSE(found);
    CHECK(found.error().code == c.code);
    CHECK(found.error().message == c.message);
}

TEST_CASE("ROCm's own numbers count where the node knows them", "[node][identity]") {
    const auto shuffled = amd_node({{2}, {3}, {1}, {0}});
    CHECK(positions(node::identify_gpus(shuffled, {{}, {}, "0,1"})) == "3,2");
    CHECK(positions(node::identify_gpus(amd_node({{}, {}}), {"1", "0", "0"})) == "1");
}

TEST_CASE("the parts of a partitioned GPU are that GPU", "[node][identity]") {
    const auto cpx = amd_node({{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}});
    CHECK(positions(node::identify_gpus(cpx, {"0-5", {}, "0-5"})) == "0");
    CHECK(positions(node::identify_gpus(cpx, {"5,6", {}, "5,6"})) == "0,1");
}

TEST_CASE("two vendors on a node are not told apart by numbers", "[node][identity][errors]") {
    auto node = railhead::test::node_with({{}, {}});
    node.gpus[1].vendor = "amd";
    CHECK(positions(node::identify_gpus(node, {"0", {}, {}})) ==
          "this node has GPUs of two vendors");
}

TEST_CASE("a node without GPUs gives none", "[node][identity]") {
    CHECK(positions(node::identify_gpus({}, {"0", "0", "0"})).empty());
}

// ---- what a task can open -----------------------------------------------------------------

namespace {

using Positions = std::vector<std::size_t>;

/// Eight GPUs whose minor numbers do not follow PCI order, as on an HGX board.
node::Node shuffled_minors() {
    auto node = railhead::test::node_with(std::vector<std::vector<node::Path>>(8));
    const std::vector<unsigned> minors{2, 3, 0, 1, 6, 7, 4, 5};
    for (std::size_t i = 0; i < minors.size(); ++i) {
        node.gpus[i].minor = minors[i];
    }
    return node;
}

}  // namespace

TEST_CASE("where a cgroup hides GPUs, what the task can open decides", "[node][identity]") {
    struct Case {
        std::string why;
        Words slurm, cuda;
        Positions openable;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"gres.conf by minor number: Slurm's 0 and 1 are other GPUs in PCI order",
         "0,1",
         "0,1",
         {2, 3},
         "2,3"},
        {"in CUDA's order", "0,1", "1,0", {2, 3}, "3,2"},
        {"--gpu-bind within the step's four", "5", "1", {4, 5, 6, 7}, "5"},
        {"no list: all that can be opened", "4,5", {}, {6, 7}, "6,7"},
        {"nothing hidden: Slurm's numbers", "4,5", "4,5", {0, 1, 2, 3, 4, 5, 6, 7}, "4,5"},
        {"a number beyond", "0,1", "2", {2, 3}, "GPU 2 is not one of the task's 2"},
        {"MIG: the only GPU that can be opened is the parent",
         "9",
         "MIG-41b3359c-e721-56e5-8009-12e5797ed514",
         {3},
         "3"},
        {"MIG: several instances of it", "9,10", "MIG-41b3359c-a,MIG-41b3359c-b", {3}, "3"},
        {"MIG: two that can be opened",
         "9",
         "MIG-41b3359c-e721-56e5-8009-12e5797ed514",
         {3, 4},
         "'MIG-41b3359c-e721-56e5-8009-12e5797ed514' does not tell which GPU it is part of"},
        {"MIG by number beyond the node's GPUs (bug report 40)", "9", "0", {3}, "3"},
    }));
    CAPTURE(c.why);
    node::GpuEnvironment environment{c.slurm, c.cuda};
    environment.openable = c.openable;
    CHECK(positions(node::identify_gpus(shuffled_minors(), environment)) == c.expected);
}

TEST_CASE("a device file that is not there or not permitted cannot be opened", "[node][identity]") {
    const railhead::test::TempDir devices;
    for (const auto* const name : {"nvidia0", "nvidia1", "nvidia5"}) {
        devices.write(name, "");
    }
    CHECK(node::find_openable(shuffled_minors(), devices.path()) == Positions{2, 3, 7});
    CHECK(node::find_openable(shuffled_minors(), devices.path("absent")) == std::nullopt);
    auto unknown = shuffled_minors();
    unknown.gpus[4].minor.reset();
    CHECK(node::find_openable(unknown, devices.path()) == std::nullopt);
}

namespace {

/// A device cgroup (version 1) of a test's own, that refuses one device.
class DeviceCgroup {
 public:
    explicit DeviceCgroup(const std::string& refused) {
        std::error_code failed;
        made_ = std::filesystem::create_directory(folder_, failed);
        made_ = made_ && (std::ofstream{folder_ + "/devices.deny"} << refused << std::flush);
    }
    DeviceCgroup(const DeviceCgroup&) = delete;
    DeviceCgroup& operator=(const DeviceCgroup&) = delete;
    ~DeviceCgroup() { ::rmdir(folder_.c_str()); }

    [[nodiscard]] bool made() const { return made_; }
    [[nodiscard]] bool enter() const {
        return static_cast<bool>(std::ofstream{folder_ + "/tasks"} << ::getpid() << std::flush);
    }

 private:
    std::string folder_ = "/sys/fs/cgroup/devices/railhead-test-" + std::to_string(::getpid());
    bool made_ = false;
};

}  // namespace

TEST_CASE("a device cgroup decides what can be opened", "[node][identity]") {
    const railhead::test::TempDir devices;
    constexpr unsigned tty = 4;
    for (unsigned minor = 0; minor < 8; ++minor) {
        const auto file = devices.path("nvidia" + std::to_string(minor));
        if (::mknod(file.c_str(), S_IFCHR | 0666U, makedev(tty, minor)) != 0) {
            SKIP("needs the right to make device files");
        }
    }
    const DeviceCgroup cgroup{"c 4:3 rwm"};
    if (!cgroup.made()) {
        SKIP("needs device cgroups of version 1 in /sys/fs/cgroup/devices");
    }
    const pid_t child = ::fork();
    if (child == 0) {
        const bool inside = cgroup.enter();
        const auto found = node::find_openable(shuffled_minors(), devices.path());
        // Minor 3 is that of GPU 1.
        ::_exit(inside && found == Positions{0, 2, 3, 4, 5, 6, 7} ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("GPUs of several models are told apart only in PCI order", "[node][identity]") {
    auto node = shuffled_minors();
    node.gpus[0].model = "10de:2235";
    node::GpuEnvironment environment{"0,1", "0,1"};
    CHECK_THAT(positions(node::identify_gpus(node, environment)),
               ContainsSubstring("set CUDA_DEVICE_ORDER=PCI_BUS_ID"));
    environment.cuda_order = "FASTEST_FIRST";
    CHECK_FALSE(node::identify_gpus(node, environment));
    environment.cuda_order = "PCI_BUS_ID";
    CHECK(positions(node::identify_gpus(node, environment)) == "0,1");
    environment = {"2,3", "0,1"};  // of one model, and the others are hidden
    environment.openable = Positions{2, 3};
    CHECK(positions(node::identify_gpus(node, environment)) == "2,3");
}

TEST_CASE("HIP's numbers count among ROCR's devices", "[node][identity]") {
    const auto node = amd_node({{0}, {1}, {2}, {3}});
    node::GpuEnvironment environment{"2,3", {}, "2,3"};
    environment.hip_visible = "1";
    CHECK(positions(node::identify_gpus(node, environment)) == "3");
    environment.hip_visible = "2";
    CHECK(positions(node::identify_gpus(node, environment)) == "GPU 2 is not one of the task's 2");
    node::GpuEnvironment opencl{"2,3"};
    opencl.ordinal = "2,3";
    CHECK(positions(node::identify_gpus(node, opencl)) == "2,3");
}

TEST_CASE("the words of a list are spelt out in its order", "[node][identity]") {
    using Spelt = std::vector<std::string>;
    CHECK(node::device_words("4-6, 1") == Spelt{"4", "5", "6", "1"});
    CHECK(node::device_words("GPU-a,GPU-b") == Spelt{"GPU-a", "GPU-b"});
    CHECK(node::device_words("NoDevFiles").empty());
    CHECK(node::device_words("0-x").empty());
}

TEST_CASE("a list tells whether a GPU is given at all", "[node][identity]") {
    const auto [list, expected] = GENERATE(table<std::string, bool>({
        {"0", true},
        {"GPU-1", true},
        {",3", true},
        {"x", true},
        {"", false},
        {" , ", false},
        {"-1", false},
        {"-1,0", false},
        {"NoDevFiles", false},
        {"none", false},
        {"void", false},
    }));
    CAPTURE(list);
    CHECK(node::gives_gpu(list) == expected);
}

TEST_CASE("a list of any size takes little memory", "[node][identity][errors]") {
    struct Case {
        std::string why, part;
        std::size_t bytes;
        std::string message;
    };
    const auto c = GENERATE(values<Case>({
        {"ranges", "0-1023,", 60'000, "the list names more than 4096 GPUs"},
        {"numbers", "0,", 60'000, "the list names more than 4096 GPUs"},
        {"all of the environment", "0-1023,", 126'000, "a list of GPUs has more than 65536 bytes"},
        {"commas", ",", 126'000, "a list of GPUs has more than 65536 bytes"},
    }));
    CAPTURE(c.why);
    std::string list;
    while (list.size() < c.bytes) {
        list += c.part;
    }
    const auto nvidia = railhead::test::node_with({{}, {}});
    node::GpuEnvironment hip{"0"};
    hip.hip_visible = list;

    CHECK(positions(node::identify_gpus(nvidia, {list})) == c.message);
    CHECK(positions(node::identify_gpus(nvidia, {{}, list})) == c.message);
    CHECK(positions(node::identify_gpus(amd_node({{0}, {1}}), hip)) == c.message);
    CHECK(node::device_words(list).empty());
    CHECK(node::gives_gpu(list));
    CHECK(node::device_words("0-1023,0-1023,0-1023,0-1023").size() == 4096);
}

TEST_CASE("ROCR's words are not those of devices that HIP has put in order", "[node][identity]") {
    const auto node = amd_node({{0}, {1}});
    node::GpuEnvironment environment;
    environment.rocr_visible = "0,1";
    CHECK(node::visible_words(node, environment) == std::vector<std::string>{"0", "1"});
    environment.hip_visible = "1,0";
    CHECK(node::visible_words(node, environment).empty());
}
