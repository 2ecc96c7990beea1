// Who fills the cache of a node's facts, and who goes by it.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/file.hpp"
#include "plugin/spank_host.hpp"

using fake_spank::job;
using namespace spank_host;
using railhead::read_file;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

namespace {

/// A recorded node that nobody else can write, and the cache of its facts.
struct Cached {
    TempDir folder;
    std::string topology =
        folder.write("node.xml", *read_file(railhead::test::node_file("two-cpu-8gpu.xml")));
    std::string cache = folder.path("railhead");

    Cached() { REQUIRE(::chmod(topology.c_str(), 0644) == 0); }
    [[nodiscard]] Plugin plugin() const {
        return Plugin{{"topology=" + topology, "nccl_conf=/nonexistent", "cache=" + cache}};
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> found;
        if (std::filesystem::exists(cache)) {
            for (const auto& entry : std::filesystem::directory_iterator{cache}) {
                found.push_back(entry.path().string());
            }
        }
        return found;
    }
    /// Has the file tell of a NIC that is not there, in order to see whether it is read.
    void say_otherwise() const {
        REQUIRE(files().size() == 1);
        auto text = *read_file(files().front());
        text.replace(text.find("mlx5_0"), 6, "mlx5_X");
        std::ofstream{files().front(), std::ios::binary} << text;
    }
};

void start_slurmd(const Cached& node) {
    fake_spank::reset().context = S_CTX_SLURMD;
    auto plugin = node.plugin();
    REQUIRE(plugin.init() == 0);
}

std::string rails_of_a_step(const Cached& node) {
    step("0-7", 2, 0);
    auto plugin = node.plugin();
    REQUIRE(plugin.run_step() == 0);
    return variable("RAILHEAD_RAILS");
}

}  // namespace

TEST_CASE("slurmd looks at its start, and a step goes by that", "[plugin][cache]") {
    const OwnMask mask;
    const Cached node;

    start_slurmd(node);
    CHECK(job().log.empty());
    node.say_otherwise();

    CHECK_THAT(rails_of_a_step(node), ContainsSubstring("mlx5_X:1,mlx5_1:1"));
    start_slurmd(node);  // which looks again, whatever is there
    CHECK(rails_of_a_step(node) == eight_rails);
}

TEST_CASE("the first step keeps the facts for the next", "[plugin][cache]") {
    const OwnMask mask;
    const Cached node;

    CHECK(rails_of_a_step(node) == eight_rails);
    node.say_otherwise();

    CHECK_THAT(rails_of_a_step(node), ContainsSubstring("mlx5_X"));
}

TEST_CASE("a step that is not served looks at nothing", "[plugin][cache]") {
    const OwnMask mask;
    const Cached node;
    struct Case {
        std::string why, variable, value;
    };
    const auto c = GENERATE(values<Case>({{"it has no GPUs", "SLURM_STEP_GPUS", ""},
                                          {"switched off", "RAILHEAD", "off"},
                                          {"misspelt", "RAILHEAD", "offf"}}));
    CAPTURE(c.why);
    auto& job = step("0-7", 2, 0);
    job.environment[c.variable] = c.value;
    if (c.value.empty()) {
        job.environment.clear();
    }
    auto plugin = node.plugin();

    REQUIRE(plugin.run_step() == 0);

    CHECK(node.files().empty());
}

TEST_CASE("a file that others can write is neither kept nor gone by", "[plugin][cache]") {
    const OwnMask mask;
    const Cached node;
    REQUIRE(::chmod(node.topology.c_str(), 0666) == 0);

    start_slurmd(node);

    CHECK(job().has_logged("info: railhead: each step will look at the hardware: \"" +
                           node.topology + "\" can be written by others (mode 666)"));
    CHECK(rails_of_a_step(node) == "(unset)");
    CHECK(node.files().empty());
}

TEST_CASE("commands neither read nor fill the cache", "[plugin][cache]") {
    const Cached node;
    const ScopedVariable home{"HOME", "/nonexistent"};
    step("0-7", 2, 0).context = S_CTX_LOCAL;
    auto plugin = node.plugin();

    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.post_opt() == 0);

    CHECK(node.files().empty());
}

TEST_CASE("a cache is a folder's absolute path, or off", "[plugin][cache]") {
    fake_spank::reset();
    Plugin plugin{{"cache=here"}};
    REQUIRE(plugin.init() == 0);
    CHECK(
        job().has_logged("bad value in plugstack argument 'cache=here': cache takes an "
                         "absolute path, or off"));
}
