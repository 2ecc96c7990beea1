// The probe: what it leaves behind in a daemon, and its limits.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "node/from_hwloc.hpp"
#include "node/probe.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace node = railhead::node;
using railhead::Errc;
using railhead::test::node_file;

namespace {

std::size_t entries(const char* folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{folder}, {}));
}

/// The libraries that are loaded, one a line.
std::string libraries() {
    std::string names;
    std::string last;
    std::ifstream in{"/proc/self/maps"};
    for (std::string line; std::getline(in, line);) {
        const auto path = line.find('/');
        if (path != std::string::npos && line.find(".so") != std::string::npos &&
            line.substr(path) != last) {
            last = line.substr(path);
            names += last + "\n";
        }
    }
    return names;
}

std::string variables() {
    std::string all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        all += std::string{*entry} + "\n";
    }
    return all;
}

/// Runs `check` as the probe's child does: in hwloc's environment; 0 when all is well.
template <class Check>
int in_child(const Check& check) {
    const pid_t child = ::fork();
    if (child == 0) {
        environ = const_cast<char**>(node::hwloc_environment());
        ::_exit(check());
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("the probe leaves no thread, library, variable, file or child behind", "[node][probe]") {
    const auto threads = entries("/proc/self/task");
    const auto files = entries("/proc/self/fd");
    const auto loaded = libraries();
    const auto environment = variables();

    const auto live = node::probe({});
    const auto recorded = node::probe({.file = node_file("dgx-h100.xml")});

    REQUIRE(live);
    REQUIRE(recorded);
    CHECK(live->source == "live");
    CHECK_FALSE(live->allowed.empty());
    CHECK(entries("/proc/self/task") == threads);
    CHECK(entries("/proc/self/fd") == files);
    CHECK(libraries() == loaded);
    CHECK(variables() == environment);
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);
}

#ifdef __SANITIZE_THREAD__
constexpr bool sanitizer_has_a_thread = true;
#else
constexpr bool sanitizer_has_a_thread = false;
#endif

TEST_CASE("hwloc itself starts no thread and opens no plugin in its child", "[node][probe]") {
    const int code = in_child([] {
        const auto before = libraries();
        const auto live = node::read_hwloc();
        if (!live) {
            return 1;
        }
        if (entries("/proc/self/task") != 1 && !sanitizer_has_a_thread) {
            return 2;
        }
        return libraries() == before ? 0 : 3;
    });
    CHECK(code == 0);  // 1: no answer, 2: a thread, 3: a library
}

TEST_CASE("the probe gives up when the limit passes", "[node][probe][errors]") {
    node::ProbeOptions options;
    options.limit = std::chrono::milliseconds{0};
    const auto node = node::probe(options);
    REQUIRE_FALSE(node);
    CHECK(node.error().code == Errc::unavailable);
    CHECK_THAT(node.error().message, ContainsSubstring("no answer from this node's hardware"));
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);
}

TEST_CASE("the probe names the file that takes too long", "[node][probe][errors]") {
    node::ProbeOptions options{.file = node_file("dgx-h100.xml")};
    options.limit = std::chrono::milliseconds{0};
    const auto node = node::probe(options);
    REQUIRE_FALSE(node);
    CHECK(node.error().message ==
          "no answer from the process that reads \"" + options.file + "\" in 0 ms");
}

TEST_CASE("a root without sys is no other machine, and not this one either",
          "[node][probe][errors]") {
    const railhead::test::TempDir folder;
    for (const auto& root : {folder.path(), folder.path("absent"), folder.write("file", "")}) {
        CAPTURE(root);
        const auto node = node::probe({.root = root});
        REQUIRE_FALSE(node);
        CHECK(node.error().code == Errc::not_found);
        CHECK_THAT(node.error().message, ContainsSubstring("there is no \"" + root + "/sys\""));
    }
}

TEST_CASE("a file that others could have written is not acted on by root",
          "[node][probe][errors]") {
    const railhead::test::TempDir folder;
    const auto file = folder.write("dgx.xml", railhead::test::read("nodes/dgx-h100.xml"));
    CHECK(node::probe({.file = file, .owner = ::geteuid()}));
    std::filesystem::permissions(file, std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    const auto node = node::probe({.file = file, .owner = ::geteuid()});
    REQUIRE_FALSE(node);
    CHECK_THAT(node.error().message, ContainsSubstring("can be written by others"));
    CHECK(node::probe({.file = file}));
}

TEST_CASE("the probe hands on what is wrong with the file", "[node][probe][errors]") {
    struct Case {
        std::string file;
        Errc code;
        std::string part;
    };
    const railhead::test::TempDir folder;
    const std::vector<Case> cases{
        {folder.path("absent.xml"), Errc::not_found, "absent.xml"},
        {folder.path(), Errc::bad_input, "not a regular file"},
        {folder.write("bad.xml", "<topology"), Errc::bad_input, "is no topology in hwloc's XML"},
        {folder.write("prose.txt", "it is slow"), Errc::bad_input, "tells of no node"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.file);
        const auto node = node::probe({.file = c.file});
        REQUIRE_FALSE(node);
        CHECK(node.error().code == c.code);
        CHECK_THAT(node.error().message, ContainsSubstring(c.part));
    }
}
