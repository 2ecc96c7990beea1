// How attempts ended, and when a job is held: tables.
#include "checkpoint/attempts.hpp"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace railhead::checkpoint;

namespace {

Attempt ended(Cause cause, std::uint64_t checkpoints = 0) {
    Attempt attempt;
    attempt.started_s = 1000;
    attempt.ended_s = 1500;
    attempt.cause = cause;
    attempt.checkpoints = checkpoints;
    if (checkpoints > 0) {
        attempt.last_s = 1400;
    }
    return attempt;
}

}  // namespace

TEST_CASE("attempts that failed before a checkpoint count, back to the last good one",
          "[checkpoint][attempts]") {
    struct Case {
        std::string why;
        std::vector<Attempt> before;
        std::uint32_t failures;
    };
    const auto c = GENERATE(values<Case>({
        {"the first one", {}, 0},
        {"a node died, and the watcher with it", {ended(Cause::unknown)}, 1},
        {"two in a row", {ended(Cause::node), ended(Cause::failed)}, 2},
        {"its tasks ended by themselves, and it was requeued", {ended(Cause::exited)}, 1},
        {"a good checkpoint in between",
         {ended(Cause::node), ended(Cause::node, 1), ended(Cause::node)},
         1},
        {"the last one had a checkpoint", {ended(Cause::node), ended(Cause::node, 3)}, 0},
        {"a preemption counts neither way",
         {ended(Cause::node), ended(Cause::preempted), ended(Cause::node)},
         2},
        {"nor does a requeue by hand", {ended(Cause::requeued), ended(Cause::requeued)}, 0},
        {"a preempted one with a checkpoint is good",
         {ended(Cause::node), ended(Cause::preempted, 1)},
         0},
        {"who ran into the time limit did not fail",
         {ended(Cause::node), ended(Cause::time_limit)},
         0},
    }));
    CAPTURE(c.why);
    CHECK(failures_in_a_row(c.before) == c.failures);
}

TEST_CASE("the n-th attempt is held at its start", "[checkpoint][attempts]") {
    CHECK_FALSE(is_to_be_held(0, 3));
    CHECK_FALSE(is_to_be_held(1, 3));
    CHECK(is_to_be_held(2, 3));
    CHECK(is_to_be_held(7, 3));  // released by hand, and failed again
    CHECK_FALSE(is_to_be_held(7, 0));
    CHECK(is_to_be_held(0, 1));
}

TEST_CASE("a hold says why, and how it ends", "[checkpoint][attempts]") {
    CHECK(hold_reason(2, 77) ==
          "railhead: 2 attempts in a row failed before a checkpoint: this one is held if it fails "
          "too; a checkpoint frees it, or scontrol release 77");
}

TEST_CASE("work is lost since the last checkpoint, or the start", "[checkpoint][attempts]") {
    CHECK(lost_s(ended(Cause::node, 2)) == 100.0);
    CHECK(lost_s(ended(Cause::node)) == 500.0);
    CHECK_FALSE(lost_s(ended(Cause::completed)));
    CHECK_FALSE(lost_s(ended(Cause::exited)));  // well, as far as anybody knows
    CHECK_FALSE(lost_s(Attempt{}));
}

TEST_CASE("what Slurm says while the tasks end gives the cause", "[checkpoint][attempts]") {
    struct Case {
        std::string why;
        JobEnd end;
        Cause cause;
    };
    const auto c = GENERATE(values<Case>({
        {"preempted, or requeued by hand: seen on 22.05",
         {"COMPLETING", "0:0", 3, false, {}},
         Cause::requeued},
        {"another node died: seen on 22.05", {"COMPLETING", "0:0", 3, true, {}}, Cause::node},
        {"a node died that was back at once, with a step on it: seen on 22.05",
         {"COMPLETING", "0:0", 3, false, "0:126"},
         Cause::node},
        {"our own node died, and was back at once: seen on 22.05",
         {"PENDING", "0:0", 3, false, "0:0"},
         Cause::node},
        {"its steps were ended by a signal: seen on 22.05",
         {"COMPLETING", "0:0", 3, false, "0:15"},
         Cause::requeued},
        {"behind a step that failed: who requeued it is told later",
         {"COMPLETING", "0:0", 3, false, "1:0"},
         Cause::requeued},
        {"the script ended: slurmctld does not know yet",
         {"RUNNING", "0:0", 2, false, {}},
         Cause::exited},
        {"requeued for its exit status", {"COMPLETING", "3:0", 3, false, {}}, Cause::failed},
        {"time limit", {"TIMEOUT", "0:0", 2, false, {}}, Cause::time_limit},
        {"scancel", {"CANCELLED", "0:0", 2, false, {}}, Cause::cancelled},
        {"--no-requeue and a dead node", {"NODE_FAIL", "0:0", 2, true, {}}, Cause::node},
        {"nobody answered", {}, Cause::exited},
    }));
    CAPTURE(c.why);
    CHECK(cause_of_end(c.end, 2) == c.cause);
}

TEST_CASE("sacct tells of each attempt in its line", "[checkpoint][attempts]") {
    const std::string text = "NODE_FAIL\nPREEMPTED\nCANCELLED by 1000\nRUNNING\n";
    CHECK(sacct_state(text, 0) == "NODE_FAIL");
    CHECK(sacct_state(text, 1) == "PREEMPTED");
    CHECK_FALSE(sacct_state(text, 4));
    CHECK(cause_of_state("CANCELLED by 1000") == Cause::cancelled);
    CHECK(cause_of_state("RUNNING") == Cause::unknown);
    CHECK(cause_of_state("") == Cause::unknown);
}

TEST_CASE("causes keep their names in a record", "[checkpoint][attempts]") {
    for (int i = 0; i <= static_cast<int>(Cause::completed); ++i) {
        CHECK(parse_cause(to_string(static_cast<Cause>(i))) == static_cast<Cause>(i));
    }
    CHECK(parse_cause("struck by lightning") == Cause::unknown);
}

TEST_CASE("a step that failed is told from one that was ended", "[checkpoint][attempts]") {
    const auto [worst, has_failed] =
        GENERATE(values<std::pair<std::string, bool>>({{"1:0", true},
                                                       {"143:0", true},
                                                       {"0:0", false},
                                                       {"0:15", false},
                                                       {"0:126", false},
                                                       {"", false}}));
    JobEnd end;
    end.worst_step = worst;
    CAPTURE(worst);
    CHECK(has_failed_step(end) == has_failed);
}
