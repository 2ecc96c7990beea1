#include "report/policy_test.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"
#include "support/temp_dir.hpp"

using namespace railhead;
using report::parse_submission;

TEST_CASE("an options file has sbatch options and variables", "[policy][folder]") {
    const auto submission = parse_submission(
        "# as our users submit it\n"
        "--gpus=16  -n 16\n"
        "\n"
        "\t-p debug\r\n"
        "SBATCH_TIMELIMIT=2:00:00\n"
        "RAILHEAD=\n"
        ": --gpus=1\n",
        "x.options");

    REQUIRE(submission);
    CHECK(submission->arguments ==
          std::vector<std::string>{"--gpus=16", "-n", "16", "-p", "debug", ":", "--gpus=1"});
    CHECK(submission->environment == std::map<std::string, std::string>{
                                         {"SBATCH_TIMELIMIT", "2:00:00"}, {"RAILHEAD", ""}});
}

TEST_CASE("what is neither option nor variable is told with its place", "[policy][folder][errors]") {
    struct Case {
        std::string why, text, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"a bare word", "-N2\n  debug\n",
         "x.options:2:3: expected an sbatch option or NAME=value, not \"debug\""},
        {"a name that is none", "1ST=x\n",
         "x.options:1:1: expected an sbatch option or NAME=value, not \"1ST=x\""},
        {"no name at all", "=x\n",
         "x.options:1:1: expected an sbatch option or NAME=value, not \"=x\""},
    }));
    CAPTURE(c.why);

    const auto submission = parse_submission(c.text, "x.options");

    REQUIRE_FALSE(submission);
    CHECK(to_string(submission.error()) == c.expected);
}

TEST_CASE("a reviewed script is its explanation and what sbatch would warn of", "[policy][folder]") {
    const auto site = test::make_site("mode = \"enforce\"\n");
    const report::Submission submission{{"--gpus=16"}, {{"SBATCH_TIMELIMIT", "10"}}};

    const auto text = report::reviewed_text("x.sbatch", "#!/bin/sh\n#SBATCH --exclusve\n",
                                            submission, site);

    CHECK_THAT(text, Catch::Matchers::StartsWith("x.sbatch\n  asked    --gpus=16\n"));
    CHECK_THAT(text, ContainsSubstring("becomes  -N2 --exclusive"));
    CHECK_THAT(text, ContainsSubstring("\nwarning: x.sbatch:2:9: "));
}

TEST_CASE("a script that sbatch refuses is reviewed as that", "[policy][folder]") {
    const auto site = test::make_site("mode = \"enforce\"\n");
    CHECK(report::reviewed_text("x.sbatch", "#!/bin/sh\n#SBATCH --nodes=two\n", {}, site) ==
          "sbatch refuses it: x.sbatch:2:9: --nodes=two: takes a number or a range like 2-4\n");
}

TEST_CASE("the process's own environment does not reach a reviewed script", "[policy][folder]") {
    const auto site = test::make_site("mode = \"enforce\"\n");
    const test::ScopedVariable own{"RAILHEAD", "off"};
    CHECK_THAT(report::reviewed_text("x.sbatch", "#!/bin/sh\n#SBATCH --gpus=16\n", {}, site),
               ContainsSubstring("becomes  -N2"));
}

TEST_CASE("what a script declares of checkpoints can be expected", "[policy][folder][checkpoint]") {
    const auto site = test::make_site(
        "[checkpoint]\nmode = \"enforce\"\nsignal = \"USR1\"\ndeclares = \"RESUME\"\n");
    const report::Submission submission{{}, {{"RESUME", "1"}, {"RAILHEAD_CKPT_COST", "60"}}};

    const auto text = report::reviewed_text(
        "x.sbatch", "#!/bin/sh\n#SBATCH --gres=gpu:8 -N4 -t 60\nsrun python train.py\n", submission,
        site);

    CHECK_THAT(test::unwrapped(text),
               ContainsSubstring("becomes --signal=USR1@150 --requeue --open-mode=append "
                                 "RAILHEAD_CKPT_INTERVAL=19929"));
    CHECK_THAT(text, ContainsSubstring("can checkpoint and resume (RESUME): gets"));
}
