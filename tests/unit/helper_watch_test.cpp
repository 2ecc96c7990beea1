// The helper's own parts: its command line, and what it reads of Slurm.
#include <string>
#include <vector>

#include "slurm_job.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"
#include "watch_options.hpp"

using namespace railhead;
using namespace railhead::helper;

TEST_CASE("the watcher's command line is read", "[helper]") {
    const auto options = parse_watch_options(
        {"--job", "7", "--name", "", "--dir", "/scratch", "--interval", "1800.5", "--cost", "30",
         "--restarts", "2", "--attempts", "3", "--nodes", "4", "--end-fd", "5", "--hold"});
    REQUIRE(options);
    CHECK(options->job == 7);
    CHECK(options->interval_s == 1800.5);
    CHECK(options->restarts == 2);
    CHECK(options->attempts == 3);
    CHECK(options->end_fd == 5);
    CHECK(options->hold);
    CHECK_FALSE(options->poll_s);
}

TEST_CASE("a wrong command line is refused", "[helper][errors]") {
    const auto words = GENERATE(values<std::vector<std::string>>({
        {},
        {"--job", "7", "--dir", "/scratch"},
        {"--job", "-7", "--dir", "/scratch", "--end-fd", "0"},
        {"--job", "7", "--dir", "", "--end-fd", "0"},
        {"--job", "7", "--dir", "/scratch", "--end-fd"},
        {"--job", "7", "--dir", "/scratch", "--end-fd", "0", "--interval", "nan"},
        {"--job", "7", "--dir", "/scratch", "--end-fd", "0", "--what", "1"},
    }));
    CHECK_FALSE(parse_watch_options(words));
}

TEST_CASE("a requeued job is told by scontrol", "[helper]") {
    const test::ScopedVariable zone{"TZ", "UTC"};
    ::tzset();
    const auto job = parse_job_state(
        "JobId=7 JobName=a JobState=FAILED\n"  // a name is the user's
        "   UserId=me(1000) GroupId=me(1000) MCS_label=N/A\n"
        "   JobState=COMPLETING Reason=JobHeldUser Dependency=(null)\n"
        "   Requeue=1 Restarts=4 BatchFlag=1 Reboot=0 ExitCode=0:9\n"
        "   SubmitTime=1970-01-02T00:00:10 EligibleTime=Unknown\n"
        "   Command=/home/me/JobState=RUNNING\n"
        "   Comment=a b = c \n");
    CHECK(job.state == "COMPLETING");
    CHECK(job.reason == "JobHeldUser");
    CHECK(job.restarts == 4);
    CHECK(job.exit_code == "0:9");
    CHECK(job.submitted_s == 86410.0);
    CHECK(job.comment == "a b = c");
}

TEST_CASE("of what is no job nothing is read", "[helper]") {
    const auto job = parse_job_state("slurm_load_jobs error: Invalid job id specified\n");
    CHECK(job.state.empty());
    CHECK_FALSE(job.submitted_s);
}

TEST_CASE("a task of an array is named so that the others are left alone", "[helper]") {
    CHECK(SlurmJob{12}.name() == "12");
    const test::ScopedVariable array{"SLURM_ARRAY_JOB_ID", "10"};
    const test::ScopedVariable task{"SLURM_ARRAY_TASK_ID", "3"};
    CHECK(SlurmJob{12}.name() == "10_3");
}
