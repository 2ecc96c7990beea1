#include "diagnose/slurm_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace diagnose = railhead::diagnose;
using diagnose::LineKind;
using diagnose::SlurmRecords;

namespace {

/// Read in pieces of so many bytes; 0: at once.
SlurmRecords read(std::string_view text, std::size_t piece = 0, std::string* kind = nullptr) {
    SlurmRecords records;
    diagnose::SlurmReader reader{records, "file"};
    for (piece = piece == 0 ? text.size() + 1 : piece; !text.empty();
         text.remove_prefix(std::min(piece, text.size()))) {
        reader.feed(text.substr(0, piece));
    }
    reader.finish();
    if (kind != nullptr) {
        *kind = reader.kind();
    }
    return records;
}

constexpr std::int64_t noon = 1'796'126'400;  // 2026-12-01T12:00:00Z

const std::string table =
    "JobIDRaw|JobID|State|ExitCode|NodeList|AllocNodes|AllocTRES|Submit|Start|End|FailedNode|Restarts|JobName\n"
    "12|12|NODE_FAIL|0:0|n[1-4]|4|billing=32,gres/gpu:h100=32,gres/gpu=32,node=4|2026-12-01T11:00:00|"
    "2026-12-01T11:30:00|2026-12-01T12:00:00|n3|0|a|b\n"
    "12.batch|12.batch|CANCELLED||n1|1|cpu=8|2026-12-01T11:00:00|2026-12-01T11:30:00|2026-12-01T12:00:00||0|batch\n"
    "12|12|RUNNING|0:0|n[1-2,4-5]|4|gres/gpu:h100=32|2026-12-01T12:00:00|2026-12-01T12:02:00|Unknown||1|a|b\n"
    "15|14_1|PENDING|0:0|None assigned|0||2026-12-01T11:00:00|Unknown|Unknown||0|x\n";

const std::string events =
    "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    "c||2026-12-01T10:00:00|Unknown||Cluster Registered TRES|\n"
    "c|n3|2026-12-01T12:00:00|2026-12-01T13:00:00|DOWN*|Not responding|slurm(64030)\n"
    "c|n7|2026-12-01T12:30:00|Unknown|DRAIN|NHC: GPU 5 | ECC|root(0)\n";

/// As 22.05 writes it, and as 24.11 does.
const std::string json_old = R"({
  "meta": {"plugin": {"type": "openapi/dbv0.0.38"}}, "errors": [ ],
  "jobs": [
    {"job_id": 12, "name": "a{[\"", "user": "u", "nodes": "n[1-4]", "allocation_nodes": 4,
     "array": {"job_id": 0, "task_id": null}, "het": {"job_id": 0, "job_offset": null},
     "state": {"current": "NODE_FAIL", "reason": "None"},
     "exit_code": {"status": "SUCCESS", "return_code": 0}, "derived_exit_code": {},
     "time": {"submission": 1796122800, "start": 1796124600, "end": 1796126400},
     "tres": {"allocated": [{"type": "cpu", "name": null, "count": 64}, {"type": "gres", "name": "gpu", "count": 32}]}},
    {"job_id": 15, "name": "x", "nodes": "None assigned", "array": {"job_id": 14, "task_id": 1},
     "state": {"current": "PENDING"}, "exit_code": {}, "time": {"submission": 1796122800, "start": 0, "end": 0},
     "tres": {"allocated": []}}
  ]
})";
const std::string json_new = R"({"jobs": [
    {"job_id": 12, "name": "a", "user": "u", "nodes": "n[1-4]", "allocation_nodes": 4, "failed_node": "n3",
     "restart_cnt": 1, "array": {"job_id": 0, "task_id": {"set": false, "infinite": false, "number": 0}},
     "state": {"current": ["FAILED"], "reason": "None"}, "derived_exit_code": {},
     "exit_code": {"status": ["SIGNALED"], "return_code": {"set": false, "infinite": false, "number": 0},
                   "signal": {"id": {"set": true, "infinite": false, "number": 9}, "name": "KILL"}},
     "time": {"submission": 1796122800, "start": 1796124600, "end": 1796126400},
     "tres": {"allocated": [{"type": "gres", "name": "gpu:h100", "count": 16}, {"type": "gres", "name": "gpu:a100", "count": 16}]}}
  ], "meta": {}, "errors": [], "warnings": [{"description": "x"}]})";

const std::string show_job =
    "JobId=15 ArrayJobId=14 ArrayTaskId=1 JobName=x JobState=COMPLETED y\n"
    "   UserId=u(1000) GroupId=g(1000) MCS_label=N/A\n"
    "   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)\n"
    "   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=1:0\n"
    "   SubmitTime=2026-12-01T11:00:00 EligibleTime=2026-12-01T11:00:00\n"
    "   StartTime=2026-12-01T11:30:00 EndTime=2026-12-01T12:00:00 Deadline=N/A\n"
    "   NodeList=n[1-4]\n"
    "   NumNodes=4 NumCPUs=64 NumTasks=4\n"
    "   TRES=cpu=64,node=4,gres/gpu=32\n"
    "   Command=/x JobState=TIMEOUT\n\n"
    "JobId=16 JobName=runs\n   JobState=RUNNING Reason=None\n"
    "   StartTime=2026-12-01T11:30:00 EndTime=2030-12-01T12:00:00\n   NodeList=n5\n";

const std::string show_node =
    "NodeName=n3 Arch=x86_64\n   State=DOWN*+DRAIN ThreadsPerCore=1\n"
    "   Reason=Not responding [slurm@2026-12-01T12:00:00]\n\n"
    "NodeName=n4 Arch=x86_64\n   State=IDLE\n";

const std::string ctld =
    "[2026-12-01T11:59:00.120] error: Nodes n[3-4] not responding\n"
    "[2026-12-01T12:00:00.120] error: Nodes n3 not responding, setting DOWN\n"
    "[2026-12-01T12:00:00.121] requeue job JobId=12 due to failure of node n3\n"
    "[2026-12-01T12:00:00.122] Killing JobId=14_1(15) on failed node n3\n"
    "[2026-12-01T12:05:00.000] drain_nodes: node n7 state set to DRAIN\n"
    "[2026-12-01T12:06:00.000] update_node: node n8 reason set to: GPU 5 \"bad\"\n"
    "[2026-12-01T12:06:00.000] update_node: node n8 state set to DRAINED\n"
    "[2026-12-01T12:30:00.000] Node n3 now responding\n"
    "[2026-12-01T12:31:00.000] sched: Allocate JobId=20 NodeList=n1 #CPUs=64 Partition=p\n"
    "[2026-12-01T12:32:00.000] Time limit exhausted for JobId=20\n";

}  // namespace

TEST_CASE("a time of Slurm has a zone, or none, or is none", "[slurm-records]") {
    struct Case {
        const char* text;
        std::int64_t at_s;  // 0: none
        bool has_zone;
    };
    const auto c = GENERATE(values<Case>({
        {"2026-12-01T12:00:00", noon, false},
        {"2026-12-01T12:00:00.123", noon, false},
        {"2026-12-01T13:00:00.123+01:00", noon, true},
        {"2026-12-01T12:00:00Z", noon, true},
        {"2026-12-01T06:30:00-0530", noon, true},
        {"1796126400", noon, true},
        {"0", 0, false},
        {"Unknown", 0, false},
        {"never", 0, false},
        {"2026-13-01T12:00:00", 0, false},
        {"2026-12-01T12:00:00 x", 0, false},
    }));
    CAPTURE(c.text);
    const auto time = diagnose::parse_slurm_time(c.text);
    REQUIRE(time.has_value() == (c.at_s != 0));
    if (time) {
        CHECK(time->at_s == c.at_s);
        CHECK(time->has_zone == c.has_zone);
    }
}

TEST_CASE("what a file is is told from its content", "[slurm-records]") {
    struct Case {
        std::string text;
        const char* kind;
    };
    const std::vector<Case> cases{
        {table, "sacct --parsable2"},
        {"State|JobID\nFAILED|1\n", "sacct --parsable2"},
        {events, "sacctmgr show event --parsable2"},
        {json_old, "sacct --json"},
        {json_new, "sacct --json"},
        {"\n" + show_job, "scontrol show job"},
        {show_node, "scontrol show node"},
        {ctld, "slurmctld log"},
        {"iteration 1 | loss 2.3\n", ""},
        {"{\"traceEvents\": []}", ""},
        {"[2026-12-01T12:00:00.000] slurmd version 22.05.8 started\n", ""},
        {"", ""},
    };
    for (const auto& c : cases) {
        std::string kind;
        read(c.text, 0, &kind);
        CAPTURE(c.text.substr(0, 40));
        CHECK(kind == c.kind);
    }
}

TEST_CASE("sacct's table is read by its heading", "[slurm-records]") {
    const auto records = read(table);
    REQUIRE(records.attempts.size() == 3);
    const auto& dead = records.attempts[0];
    CHECK(dead.id == "12");
    CHECK(dead.number == 12);
    CHECK(dead.name == "a|b");  // a user's text may hold the separator
    CHECK(dead.state == "NODE_FAIL");
    CHECK(dead.node_list == "n[1-4]");
    CHECK(dead.nodes == 4);
    CHECK(dead.gpus == 32);
    CHECK(dead.start_s == noon - 1800);
    CHECK(dead.end_s == noon);
    CHECK(dead.failed_node == "n3");
    CHECK(dead.from.line == 2);
    CHECK(records.attempts[1].restarts == 1);
    CHECK_FALSE(records.attempts[1].end_s);
    CHECK(records.attempts[1].gpus == 32);
    CHECK(records.attempts[2].id == "14_1");
    CHECK(records.attempts[2].number == 15);
    CHECK(records.attempts[2].node_list.empty());
    CHECK(records.latest_s == noon + 120);
    CHECK(records.has_local_times);
    CHECK(records.unread == 0);
}

TEST_CASE("a row that is not as its heading says is counted, and its place told", "[slurm-records]") {
    const auto records = read("JobID|State|End\n1|FAILED|2026-12-01T12:00:00\n2|FAI\n\n?|x|y\n");
    CHECK(records.attempts.size() == 1);
    CHECK(records.unread == 2);
    CHECK(records.first_unread.value().line == 3);
}

TEST_CASE("events of nodes are read, those of the cluster are not", "[slurm-records]") {
    const auto records = read(events);
    REQUIRE(records.events.size() == 2);
    CHECK(records.events[0].node == "n3");
    CHECK(records.events[0].begin_s == noon);
    CHECK(records.events[0].end_s == noon + 3600);
    CHECK(records.events[1].reason == "NHC: GPU 5 | ECC");
    CHECK_FALSE(records.events[1].end_s);
    CHECK(records.unread == 0);
}

TEST_CASE("sacct's JSON is read in the shape of any release", "[slurm-records]") {
    const auto old = read(json_old);
    REQUIRE(old.attempts.size() == 2);
    CHECK(old.attempts[0].name == "a{[\"");
    CHECK(old.attempts[0].state == "NODE_FAIL");
    CHECK(old.attempts[0].gpus == 32);
    CHECK(old.attempts[0].nodes == 4);
    CHECK(old.attempts[0].end_s == noon);
    CHECK(old.attempts[0].from.line == 4);
    CHECK(old.attempts[1].id == "14_1");
    CHECK(old.attempts[1].node_list.empty());
    CHECK_FALSE(old.attempts[1].start_s);
    CHECK(old.has_utc_times);
    CHECK_FALSE(old.has_local_times);

    const auto recent = read(json_new);
    REQUIRE(recent.attempts.size() == 1);
    CHECK(recent.attempts[0].id == "12");
    CHECK(recent.attempts[0].state == "FAILED");
    CHECK(recent.attempts[0].exit_code == "0:9");
    CHECK(recent.attempts[0].failed_node == "n3");
    CHECK(recent.attempts[0].restarts == 1);
    CHECK(recent.attempts[0].gpus == 32);
}

TEST_CASE("scontrol's records are read, and a user's text is no key", "[slurm-records]") {
    const auto jobs = read(show_job);
    REQUIRE(jobs.attempts.size() == 2);
    CHECK(jobs.attempts[0].id == "14_1");
    CHECK(jobs.attempts[0].name == "x JobState=COMPLETED y");
    CHECK(jobs.attempts[0].state == "FAILED");
    CHECK(jobs.attempts[0].exit_code == "1:0");
    CHECK(jobs.attempts[0].user == "u");
    CHECK(jobs.attempts[0].gpus == 32);
    CHECK(jobs.attempts[0].restarts == 2);
    CHECK(jobs.attempts[0].end_s == noon);
    CHECK_FALSE(jobs.attempts[1].end_s);  // that is when its time limit is over
    CHECK(jobs.latest_s == noon);

    const auto nodes = read(show_node);
    REQUIRE(nodes.events.size() == 1);
    CHECK(nodes.events[0].node == "n3");
    CHECK(nodes.events[0].state == "DOWN*+DRAIN");
    CHECK(nodes.events[0].reason == "Not responding");
    CHECK(nodes.events[0].begin_s == noon);
}

TEST_CASE("slurmctld's log tells of nodes and of the ends of jobs", "[slurm-records]") {
    auto records = read(ctld);
    struct Case {
        LineKind kind;
        const char *nodes, *job, *what;
    };
    const std::vector<Case> cases{
        {LineKind::silent, "n[3-4]", "", ""},       {LineKind::down, "n3", "", ""},
        {LineKind::node_failed, "n3", "12", ""},    {LineKind::node_failed, "n3", "14_1", ""},
        {LineKind::set_state, "n7", "", "DRAIN"},   {LineKind::set_reason, "n8", "", "GPU 5 \"bad\""},
        {LineKind::set_state, "n8", "", "DRAINED"}, {LineKind::back, "n3", "", ""},
        {LineKind::time_limit, "", "20", ""},
    };
    REQUIRE(records.lines.size() == cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        CAPTURE(i);
        CHECK(records.lines[i].kind == cases[i].kind);
        CHECK(records.lines[i].nodes == cases[i].nodes);
        CHECK(records.lines[i].job == cases[i].job);
        CHECK(records.lines[i].what == cases[i].what);
    }

    diagnose::add_logged_events(records);
    REQUIRE(records.events.size() == 3);
    CHECK(records.events[0].node == "n3");
    CHECK(records.events[0].reason == "Not responding");
    CHECK(records.events[0].begin_s == noon);
    CHECK(records.events[0].end_s == noon + 1800);
    CHECK(records.events[1].state == "DRAIN");
    CHECK(records.events[2].reason == "GPU 5 \"bad\"");
    diagnose::add_logged_events(records);
    CHECK(records.events.size() == 3);  // they are known by now
}

TEST_CASE("the log tells an attempt its failed node, the one that ran then", "[slurm-records]") {
    auto records = read("JobID|State|NodeList|Start|End\n"
                        "12|NODE_FAIL|n[1-4]|2026-12-01T10:00:00|2026-12-01T11:00:00\n"
                        "12|NODE_FAIL|n[1-4]|2026-12-01T11:30:00|2026-12-01T12:00:01\n");
    diagnose::SlurmReader reader{records, "slurmctld.log"};
    reader.feed(ctld);
    reader.finish();
    diagnose::add_failed_nodes(records);
    CHECK(records.attempts[0].failed_node.empty());
    CHECK(records.attempts[1].failed_node == "n3");
}

TEST_CASE("records are the same however a text is cut into pieces, and with CRLF", "[slurm-records]") {
    for (const auto& text : {table, events, json_old, show_job, show_node, ctld}) {
        CAPTURE(text.substr(0, 40));
        const auto whole = read(text);
        std::string crlf;
        for (const char c : text) {
            crlf += c == '\n' ? "\r\n" : std::string(1, c);
        }
        for (const auto& other : {read(text, 1), read(text, 7), read(crlf, 13)}) {
            REQUIRE(other.attempts.size() == whole.attempts.size());
            REQUIRE(other.events.size() == whole.events.size());
            REQUIRE(other.lines.size() == whole.lines.size());
            CHECK(other.latest_s == whole.latest_s);
            CHECK(other.unread == whole.unread);
            for (std::size_t i = 0; i < whole.attempts.size(); ++i) {
                CHECK(other.attempts[i].name == whole.attempts[i].name);
                CHECK(other.attempts[i].from.line == whole.attempts[i].from.line);
            }
        }
    }
}

TEST_CASE("cut and damaged texts are read as far as they go", "[slurm-records]") {
    std::mt19937 random{5};
    for (const auto& text : {table, events, json_old, json_new, show_job, show_node, ctld}) {
        const auto whole = read(text);
        for (int i = 0; i < 200; ++i) {
            auto damaged = text.substr(0, random() % (text.size() + 1));
            for (auto n = random() % 4; n > 0 && !damaged.empty(); --n) {
                damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
            }
            const auto records = read(damaged, 1 + random() % 50);
            CHECK(records.attempts.size() <= whole.attempts.size() + 1);
            CHECK(records.events.size() <= whole.events.size() + 1);
        }
    }
}
