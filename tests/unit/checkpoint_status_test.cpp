// railhead ckpt status: what it says of a record, and whose it reads.
#include <unistd.h>

#include <string>

#include <nlohmann/json.hpp>

#include "checkpoint/state_folder.hpp"
#include "report/checkpoint_status.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/temp_dir.hpp"

using namespace railhead;
using namespace railhead::checkpoint;

namespace {

Record example() {
    Record record;
    record.job = 77;
    record.name = "llama\x1b[2J";
    record.folder = "/scratch/ckpt";
    record.interval_s = 1800;
    record.attempts = {{0, 1000, 9000, Cause::node, 2, 8400}, {1, 9200, std::nullopt, {}, 0, {}}};
    record.add({"step-1", "PyTorch DCP", 10000, 40, 912'000'000'000, std::nullopt});
    record.add({"step-2", "PyTorch DCP", 11900, 44, 912'000'000'000, 1900});
    record.broken = {{"step-3", "it has no .metadata"}};
    return record;
}

/// The state folder of this test, with a record in it.
struct State {
    test::TempDir dir;
    test::ScopedVariable variable{"XDG_STATE_HOME", dir.path()};
    State() {
        const auto folder = StateFolder::make(dir.path("railhead"), ::geteuid());
        REQUIRE(folder);
        REQUIRE(folder->write_record(example()));
    }
};

}  // namespace

TEST_CASE("the status of a job's checkpoints is told", "[ckpt-status]") {
    CHECK(report::checkpoint_status_text(example(), 12000) ==
          "Job           77 \"llama?[2J\"\n"
          "Folder        /scratch/ckpt\n"
          "Checkpoints   2 complete, the last 100 s ago: step-2, PyTorch DCP, 912 GB\n"
          "Cost          42 s to write one, by 2 of them: at most so long training stood\n"
          "              still\n"
          "Interval      31.7 min on average; 30 min wanted\n"
          "Attempts      1: 2 checkpoints, ended 50 min ago: a node failed, 10 min of work\n"
          "              lost\n"
          "              2: 2 checkpoints, runs for 46.7 min\n"
          "Held          no\n"
          "Not complete  step-3: it has no .metadata\n");
}

TEST_CASE("a folder that cannot be looked at is told from one without checkpoints",
          "[ckpt-status]") {
    Record record;
    record.job = 5;
    record.trouble = "cannot open the folder \"/root\": Permission denied";

    CHECK_THAT(report::checkpoint_status_text(record, 200),
               ContainsSubstring("Not watched  cannot open the folder \"/root\": Permission"));
    CHECK(nlohmann::json::parse(report::checkpoint_status_json(record, 200))["trouble"] ==
          record.trouble);
}

TEST_CASE("a job that is held says why, and one without checkpoints says so", "[ckpt-status]") {
    Record record;
    record.job = 5;
    record.hold = Hold{100, "railhead: 2 attempts failed", ""};

    const auto text = report::checkpoint_status_text(record, 200);

    CHECK_THAT(text, ContainsSubstring("none yet"));
    CHECK_THAT(text, ContainsSubstring("Held         railhead: 2 attempts failed\n"));
    CHECK_THAT(text, ContainsSubstring("not known"));
}

TEST_CASE("the command reads one's own record", "[ckpt-status][cli]") {
    const State state;

    const auto text = test::run({"ckpt", "status", "77"});
    const auto json = test::run({"ckpt", "status", "--json", "77"});

    CHECK(text.status == 0);
    CHECK_THAT(text.out, ContainsSubstring("2 complete"));
    const auto document = nlohmann::json::parse(json.out);
    CHECK(document["schema"] == "railhead.ckpt-status/1");
    CHECK(document["mean_cost_s"] == 42);
    CHECK(document["lost_s"] == 600);
    CHECK(document["held"] == false);
    CHECK(document["last"]["name"] == "step-2");
}

TEST_CASE("what cannot be shown is told", "[ckpt-status][cli][errors]") {
    const State state;
    static_cast<void>(state.dir.write("railhead/jobs/78.json", "{"));
    struct Case {
        std::vector<std::string> words;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {{"79"}, "no record of job 79 in \""},
        {{"78"}, "it is no railhead.ckpt-record/1"},
        {{"10_3"}, "\"10_3\" is no job's number; squeue --format=%A"},
        {{"77", "--user", "nobody-of-that-name"}, "there is no user \"nobody-of-that-name\""},
    }));
    CAPTURE(c.expected);
    std::vector<std::string> words{"ckpt", "status"};
    words.insert(words.end(), c.words.begin(), c.words.end());

    const auto ran = test::run(words);

    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, ContainsSubstring(c.expected));
    CHECK(ran.out.empty());
}
