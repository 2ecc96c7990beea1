// railhead fabric: what it writes, and over what it does not.
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "report/table.hpp"
#include "run_cli.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace railhead;
using namespace railhead::test;

namespace {

std::vector<std::string> plan(std::vector<std::string> more) {
    std::vector<std::string> words{"fabric", "plan"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

}  // namespace

TEST_CASE("fabric plan tells of a known design within 80 columns", "[cli][fabric]") {
    const auto output = railhead_run(plan({"--nodes", "127"}));

    CHECK(output.status == 0);
    CHECK(output.err.empty());
    CHECK_THAT(output.out,
               ContainsSubstring("Fabric for 127 nodes, 1,016 GPUs: rail-optimized, 2 tiers"));
    CHECK_THAT(output.out,
               ContainsSubstring("1,016 from nodes to leaves, 1,024 from leaves to spines"));
    for (const auto line : split(output.out, '\n')) {
        CHECK(report::columns(line) <= 80);
    }
}

TEST_CASE("fabric plan writes files that fabric show reads, and over none", "[cli][fabric]") {
    const TempDir dir;
    const auto folder = dir.path("new/site");
    const auto words = plan({"--nodes", "127", "--write", folder, "--plugin-dir", dir.path(),
                             "--gpu-type", "h100", "--svg", dir.path("plan.svg")});

    const auto written = railhead_run(words);

    CAPTURE(written.err);
    REQUIRE(written.status == 0);
    CHECK_THAT(written.out, ContainsSubstring("topology.conf nodes.conf gres.conf railhead.toml"));
    CHECK(std::filesystem::exists(dir.path("plan.svg")));
    dir.write("new/site/slurm.conf", "ClusterName=c\nInclude nodes.conf\n");
    const auto shown = railhead_run({"fabric", "show", folder + "/topology.conf"});
    CHECK(shown.err.empty());
    CHECK_THAT(shown.out, ContainsSubstring("tree, 127 nodes, 1,016 GPUs"));
    CHECK_THAT(shown.out, ContainsSubstring("su4: 31 nodes, most leaf switches have 32"));

    // Each file that is there stops the whole, and none is left of it.
    std::filesystem::create_directory(dir.path("b"));
    dir.write("b/railhead.toml", "mine");
    const auto refused =
        railhead_run(plan({"--nodes", "8", "--write", dir.path("b"), "--plugin-dir", dir.path()}));
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, ContainsSubstring("is there already, and nothing is written over"));
    CHECK(read_file(dir.path("b/railhead.toml")).value() == "mine");
    CHECK_FALSE(std::filesystem::exists(dir.path("b/topology.conf")));
}

TEST_CASE("fabric plan refuses what cannot be, with status 2", "[cli][fabric][errors]") {
    static const TempDir folder;
    const auto path = [](const std::string& name) { return folder.path(name); };
    struct Case {
        std::string why;
        std::vector<std::string> arguments;
        std::string expected;
    };
    const auto c = GENERATE_COPY(values<Case>({
        {"no size", plan({}), "either --gpus or --nodes"},
        {"a negative one", plan({"--nodes", "-4"}), "--nodes"},
        {"an odd radix", plan({"--nodes", "64", "--radix", "63"}), "--radix 62 fits"},
        {"an unknown design", plan({"--nodes", "64", "--design", "torus"}), "--design"},
        {"blocks for an old Slurm",
         plan({"--nodes", "64", "--write", path("x"), "--topology", "block", "--slurm", "22.05"}),
         "Slurm 22.05 has no topology/block with BlockSizes, which came with 24.05: write "
         "--topology tree"},
        {"topology.yaml for an old Slurm",
         plan({"--nodes", "64", "--write", path("x"), "--yaml", "--slurm", "24.11.5"}),
         "Slurm 24.11 does not read topology.yaml"},
        {"no release", plan({"--nodes", "64", "--write", path("x"), "--slurm", "new"}),
         "\"new\" is no release of Slurm"},
        {"a file's option without --write", plan({"--nodes", "64", "--gpu-type", "h100"}),
         "--write"},
        {"memory without its unit",
         plan({"--nodes", "64", "--write", path("x"), "--memory", "2000"}), "--memory"},
        {"a folder below a file",
         plan({"--nodes", "64", "--slurm", "26.05", "--write", "/dev/null/x"}), "cannot write"},
        {"a spine without uplinks", plan({"--nodes", "64", "--core-oversubscription", "2"}),
         "a plan of 2 tiers has none"},
        {"a file that is no topology",
         {"fabric", "show", data_file("sites/two-leaves/slurm.conf")},
         "is no topology"},
        {"no file to show", {"fabric", "show", path("none.conf")}, "none.conf"},
        {"a slurm.conf that is not there",
         {"fabric", "show", data_file("sites/two-leaves/topology.conf"), "--slurm-conf",
          path("none")},
         "none"},
        {"a topology that the file does not have",
         {"fabric", "show", data_file("sites/two-leaves/topology.conf"), "--svg", path("x.svg"),
          "--name", "y"},
         "no topology \"y\" to draw"},
    }));
    CAPTURE(c.why);

    const auto output = railhead_run(c.arguments);

    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, ContainsSubstring(c.expected));
    CHECK_FALSE(std::filesystem::exists(path("x")));
}

TEST_CASE("fabric show reads GPUs from the slurm.conf beside the topology", "[cli][fabric]") {
    const auto output =
        railhead_run({"fabric", "show", data_file("sites/two-leaves/topology.conf"), "--json"});

    CHECK(output.status == 0);
    CHECK_THAT(output.out, ContainsSubstring("\"schema\": \"railhead.fabric-show/1\""));
    CHECK_THAT(output.out, !ContainsSubstring("\"gpus\": null"));
}
