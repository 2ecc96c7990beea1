// railhead policy test: a site's folder of scripts, from the first --update to a failure in CI.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "run_cli.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace railhead;
using namespace railhead::test;

/// A folder with the files of a site and two scripts.
class Folder {
 public:
    Folder() {
        for (const std::string name : {"slurm.conf", "gres.conf", "topology.conf", "railhead.toml"}) {
            std::filesystem::copy_file(data_file("sites/two-leaves/" + name), folder_.path(name));
        }
        write("gang.sbatch", "#!/bin/sh\n#SBATCH --gpus=16 -n16\n");
        write("small.sbatch", "#!/bin/sh\n#SBATCH --gpus=1\n");
    }
    void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
    [[nodiscard]] std::string path(const std::string& name = "") const { return folder_.path(name); }
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream in{path(name)};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    [[nodiscard]] Output test(std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments{"policy", "test", path()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return railhead_run(arguments);
    }

 private:
    TempDir folder_;
};

}  // namespace

TEST_CASE("expectations are written, then held to", "[cli][policy]") {
    const Folder folder;

    const auto first = folder.test();
    CHECK(first.status == 1);
    CHECK_THAT(first.out, ContainsSubstring("there is no gang.expected: write it with --update"));

    const auto update = folder.test({"--update"});
    CHECK(update.status == 0);
    CHECK(update.out == "written gang.sbatch\nwritten small.sbatch\n\n2 scripts: 2 as expected, 0 not\n");
    CHECK_THAT(folder.read("gang.expected"), Catch::Matchers::StartsWith("gang.sbatch\n  asked    -n16 --gpus=16\n"));

    const auto again = folder.test();
    CHECK(again.status == 0);
    CHECK(again.out == "ok      gang.sbatch\nok      small.sbatch\n\n2 scripts: 2 as expected, 0 not\n");
}

TEST_CASE("a policy that changed shows what becomes otherwise", "[cli][policy]") {
    const Folder folder;
    CHECK(folder.test({"--update"}).status == 0);
    folder.write("railhead.toml", "mode = \"enforce\"\nnotes = \"all\"\n[placement]\nwait = \"1m\"\n");

    const auto output = folder.test();

    CHECK(output.status == 1);
    CHECK_THAT(output.out, ContainsSubstring("FAILED  gang.sbatch: differs from gang.expected\n"
                                             "  --- gang.expected\n  +++ the review\n  @@ "));
    CHECK_THAT(output.out, ContainsSubstring("\n  -  becomes  -N2 --exclusive --switches=1@60:00 "
                                             "RAILHEAD_CKPT_INTERVAL=19949\n"
                                             "  +  becomes  -N2 --exclusive --switches=1@1:00 "));
    CHECK_THAT(output.out, ContainsSubstring("ok      small.sbatch\n"));
    CHECK_THAT(output.out, ContainsSubstring("2 scripts: 1 as expected, 1 not\n"));
}

TEST_CASE("an options file says how a script is submitted", "[cli][policy]") {
    const Folder folder;
    folder.write("gang.options", "# four nodes\n--gpus=32\nSBATCH_TIMELIMIT=1:00:00\n");
    CHECK(folder.test({"--update"}).status == 0);
    CHECK_THAT(folder.read("gang.expected"), ContainsSubstring("becomes  -N4"));
}

TEST_CASE("files without their script are failures, also when updating", "[cli][policy]") {
    const Folder folder;
    folder.write("gone.expected", "");
    folder.write("gone.options", "");
    const auto output = folder.test({"--update"});
    CHECK(output.status == 1);
    CHECK_THAT(output.out, ContainsSubstring("FAILED  gone.expected: there is no gone.sbatch\n"));
    CHECK_THAT(output.out, ContainsSubstring("FAILED  gone.options: there is no gone.sbatch\n"));
}

TEST_CASE("results are also written for CI", "[cli][policy]") {
    const Folder folder;
    CHECK(folder.test({"--update"}).status == 0);
    folder.write("small.expected", "something else\n");

    CHECK(folder.test({"--junit", folder.path("result.xml")}).status == 1);

    const auto xml = folder.read("result.xml");
    CHECK_THAT(xml, ContainsSubstring("tests=\"2\" failures=\"1\""));
    CHECK_THAT(xml, ContainsSubstring("name=\"gang.sbatch\"/>"));
    CHECK_THAT(xml, ContainsSubstring("-something else\n"));
}

TEST_CASE("another policy than the folder's can be tested", "[cli][policy]") {
    const Folder folder;
    CHECK(folder.test({"--update"}).status == 0);
    folder.write("next.toml", "mode = \"observe\"\n");
    CHECK(folder.test({"--policy", folder.path("next.toml")}).status == 1);
    CHECK(folder.test().status == 0);
}

TEST_CASE("a folder that proves nothing is an error", "[cli][policy][errors]") {
    const Folder folder;
    struct Case {
        std::string why, file, text, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"a broken policy", "railhead.toml", "mode = 3\n", "railhead.toml:1:8: expected one of"},
        {"a cluster that cannot be read", "slurm.conf", "NodeName=n[\n",
         "the cluster's files could not be read"},
        {"a topology that cannot be read", "topology.conf", "SwitchName=a Switches=a\n",
         "the cluster's files could not be read"},
        {"options that are none", "gang.options", "x y\n", "gang.options:1:1: expected an sbatch option"},
    }));
    CAPTURE(c.why);
    folder.write(c.file, c.text);

    const auto output = folder.test();

    CHECK(output.status == 2);
    CHECK_THAT(output.err, ContainsSubstring(c.expected));
}

TEST_CASE("a folder without a script, or none at all, is an error", "[cli][policy][errors]") {
    const TempDir empty;
    const auto output = railhead_run({"policy", "test", empty.path()});
    CHECK(output.status == 2);
    CHECK_THAT(output.err, ContainsSubstring("no *.sbatch is in \"" + empty.path() + "\": nothing to test"));

    const auto none = railhead_run({"policy", "test", "/nowhere"});
    CHECK(none.status == 2);
    CHECK_THAT(none.err, ContainsSubstring("cannot look into \"/nowhere\": No such file or directory"));

    CHECK(railhead_run({"policy"}).status == 2);
}

TEST_CASE("a folder that cannot be written is told, not passed", "[cli][policy][errors]") {
    const Folder folder;
    CHECK(folder.test({"--update"}).status == 0);
    CHECK(folder.test({"--junit", "/nowhere/result.xml"}).status == 2);
    std::filesystem::remove(folder.path("gang.expected"));
    std::filesystem::create_directory(folder.path("gang.expected"));
    CHECK(folder.test({"--update"}).status == 2);
}
