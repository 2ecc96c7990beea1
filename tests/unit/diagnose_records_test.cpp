// What a diagnosis makes of Slurm's records and of what ranks say of themselves: rules, kinds of
// public files, details of jobs, clues for post-mortems.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/clues.hpp"
#include "diagnose/job_details.hpp"
#include "report/shown_paths.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/corpus.hpp"
#include "support/diagnose_inputs.hpp"
#include "support/diagnoses.hpp"
#include "support/rule_cases.hpp"
#include "support/temp_dir.hpp"

namespace diagnose = railhead::diagnose;
using diagnose::Answer;
using diagnose::Role;
using railhead::test::ask;
using railhead::test::diagnose_file;
using railhead::test::facts_of;
using railhead::test::RuleCase;
using railhead::test::TempDir;

namespace {

/// A job of n[1-4] that ran for two hours, in this state.
std::string sacct(std::string_view state, std::string_view nodes = "n[1-4]", int job = 12) {
    return fmt::format(
        "JobID|JobIDRaw|User|State|ExitCode|NodeList|AllocNodes|AllocTRES|Submit|Start|End|Reason|"
        "JobName\n{0}|{0}|alice|{1}|1:0|{2}|4|gres/gpu=32|1796083000|1796083200|{3}|None|train\n",
        job, state, nodes, state == "RUNNING" ? "Unknown" : "1796090400");
}

/// Twenty jobs, one of which ended so.
std::string many_jobs(std::string_view state) {
    auto text = sacct(state);
    for (int job = 13; job < 32; ++job) {
        const auto more = sacct("COMPLETED", "n[1-4]", job);
        text += more.substr(more.find('\n') + 1);
    }
    return text;
}

std::string event(std::string_view node, int before_end_s, std::string_view state,
                  std::string_view reason, bool is_over = false) {
    const int begin = 1796090400 - before_end_s;
    return fmt::format("Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\nc|{}|{}|{}|{}|{}|x\n",
                       node, begin, is_over ? std::to_string(begin + 60) : "Unknown", state,
                       reason);
}

std::string slurmd(std::string_view line) {
    return fmt::format("[2024-08-30T11:00:00.000] slurmd version 24.11.5 started\n{}\n", line);
}

std::string job_record(int nodes, int tasks, std::string_view fields,
                       std::string_view list = "n[1-4]") {
    return fmt::format(
        "JobId=12 JobName=train\n   UserId=alice(1000) GroupId=alice(1000)\n   JobState=RUNNING "
        "Reason=None\n   Partition=gpu AllocNode:Sid=login:1\n   NodeList={}\n   NumNodes={} "
        "NumCPUs=64 NumTasks={} CPUs/Task=4\n   {}\n",
        list, nodes, tasks, fields);
}

std::string script(std::string_view options) {
    std::string text = "#!/bin/sh\n";
    for (const auto option : railhead::split(options, ' ')) {
        text += fmt::format("#SBATCH {}\n", option);
    }
    return text + "srun python train.py\n";
}

std::string nccl(std::string_view path) {
    std::string text;
    for (int rank = 0; rank < 2; ++rank) {
        text += fmt::format("n1:{}:9 [{}] NCCL INFO Channel 00 : {}[{}] -> {}[{}] via {}\n",
                            100 + rank, rank, rank, rank, 1 - rank, 1 - rank, path);
    }
    return text;
}

/// A GPU's line on CPUs, and the end of its communicator.
std::string nccl_cpus(int rank, std::string_view mask) {
    const auto line = [rank](std::string_view text) {
        return fmt::format("n1:{}:9 [{}] NCCL INFO {}\n", 100 + rank, rank, text);
    };
    return (mask.empty() ? ""
                         : line(fmt::format("Setting affinity for GPU {} to {}", rank, mask))) +
           line(fmt::format("comm 0x55 rank {0} nranks 2 cudaDev {0} nvmlDev {0} busId {1}000 "
                            "commId 0x7 - Init COMPLETE",
                            rank, rank + 1));
}

/// A communicator of this process alone.
std::string alone(int rank) {
    return fmt::format(
        "n1:{0}:9 [{1}] NCCL INFO comm 0x55 rank 0 nranks 1 cudaDev {1} nvmlDev {1} "
        "busId {2}000 commId 0x7 - Init COMPLETE\n",
        100 + rank, rank, rank + 1);
}

std::string two_leaves() {
    return diagnose_file("topology-two-leaves.conf");
}

std::string two_sockets() {
    return diagnose_file("topo-m-two-sockets.txt");
}

std::string bound(std::string_view first, std::string_view second) {
    return fmt::format(
        "cpu-bind=MASK - n1, task  0  0 [4711]: mask {} set\n"
        "cpu-bind=MASK - n1, task  1  1 [4712]: mask {} set\n",
        first, second);
}

std::string step(int iteration, std::string_view loss, double norm) {
    return fmt::format(
        " iteration {}/  100000 | consumed samples: 256 | elapsed time per iteration (ms): 1000.0 "
        "| global batch size:   256 | lm loss: {} | grad norm: {:.3f} |\n",
        iteration, loss, norm);
}

/// Forty steps with a norm of about a half, and then these.
std::string norms(const std::vector<std::pair<std::string, double>>& then, int from = 1000) {
    std::string text;
    int iteration = from;
    for (int i = 0; i < 40; ++i) {
        text += step(iteration++, "2.5", 0.5 + 0.01 * (i % 3));
    }
    for (const auto& [loss, norm] : then) {
        text += step(iteration++, loss, norm);
    }
    return text;
}

/// One iteration as ranks print it, each with its label.
std::string by_rank(const std::vector<double>& values) {
    std::string text;
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
        text += fmt::format("{}: {}", rank, step(1000, "2.5", values[rank]));
    }
    return text;
}

std::string local_nan(int rank) {
    return fmt::format(
        "AssertionError: Rank {}: found NaN in local grad norm in backward pass before "
        "data-parallel communication collective. Device: 5, node: gpu-12\n",
        rank);
}

std::vector<RuleCase> cases_of_records() {
    using enum Answer;
    const auto slurmd_events = diagnose_file("slurmd-out-of-memory-and-time.log");
    return {
        {"job-memory", found, {sacct("OUT_OF_MEMORY")}, "accounting says so"},
        {"job-memory", found, {slurmd_events}, "slurmd says so"},
        {"job-memory", not_found, {sacct("FAILED")}, "it ended by itself"},
        {"job-memory", unknown, {many_jobs("OUT_OF_MEMORY")}, "which job is not said"},
        {"job-ended", found, {sacct("TIMEOUT")}, "its time was over"},
        {"job-ended", found, {sacct("PREEMPTED")}, "for another"},
        {"job-ended", found, {sacct("CANCELLED by 1000")}, "by somebody"},
        {"job-ended", found, {slurmd_events}, "DUE TO TIME LIMIT"},
        {"job-ended", not_found, {sacct("COMPLETED")}, "it was done"},
        {"job-ended", not_found, {sacct("FAILED")}, "its program ended it"},
        {"job-ended", unknown, {many_jobs("TIMEOUT")}, "which job is not said"},
        {"node-out",
         found,
         {sacct("FAILED"), event("n3", 60, "DOWN", "NHC: GPU 5 is gone")},
         "a node of the job, a minute before its end"},
        {"node-out",
         found,
         {diagnose_file("scontrol-node-drained.txt")},
         "it is out, and no job is told"},
        {"node-out",
         not_found,
         {sacct("FAILED"), event("n9", 60, "DOWN", "NHC: GPU 5 is gone")},
         "not its node"},
        {"node-out",
         not_found,
         {sacct("FAILED"), event("n3", 60, "DRAIN", "kernel upgrade")},
         "on purpose"},
        {"node-out",
         not_found,
         {event("n3", 60, "DOWN", "NHC: GPU 5 is gone", true)},
         "it is back, and no job is told"},
        {"node-setup", found, {slurmd_events}, "a prolog failed"},
        {"node-setup",
         found,
         {slurmd("[2024-08-30T11:52:00.000] warning: Ignoring file-less GPU gpu:(null) from final "
                 "GRES list\n[2024-08-30T11:52:01.000] error: Removing file-less GPU gpu:h100 from "
                 "final GRES list")},
         "a GPU is missing"},
        {"node-setup", not_found, {slurmd("")}, "it only started"},
        {"silent-node", found, {sacct("NODE_FAIL")}, "accounting says so"},
        {"silent-node",
         found,
         {sacct("RUNNING"), event("n3", 60, "DOWN*", "Not responding")},
         "a node of a job that runs"},
        {"silent-node", found, {diagnose_file("slurmctld-node-down.log")}, "slurmctld set it DOWN"},
        {"silent-node",
         not_found,
         {"[2024-08-30T11:59:50.000] error: Nodes n5 not responding\n"
          "[2024-08-30T11:59:55.000] Node n5 now responding\n"},
         "it came back in time"},
        {"silent-node",
         not_found,
         {sacct("COMPLETED"), event("n9", 60, "DOWN*", "Not responding")},
         "not its node"},
        {"silent-node", found, {event("n3", 60, "DOWN*", "Not responding")}, "it is still away"},
        {"silent-node",
         not_found,
         {event("n3", 60, "DOWN*", "Not responding", true)},
         "it is back, and no job is told"},
        {"silent-node", unknown, {many_jobs("NODE_FAIL")}, "which job is not said"},
        {"scheduling", found, {diagnose_file("sdiag-slow-backfill.txt")}, "32,733 messages wait"},
        {"scheduling",
         found,
         {"sdiag output at Wed Feb 23 01:39:54 2022 (1645609194)\nServer thread count:  3\n"
          "DBD Agent queue size: 0\nBackfilling stats\n\tLast cycle: 45000000\n"},
         "a cycle of 45 s"},
        {"scheduling",
         not_found,
         {"sdiag output at Wed Feb 23 01:39:54 2022 (1645609194)\nServer thread count:  3\n"
          "DBD Agent queue size: 0\nBackfilling stats\n\tLast cycle: 8000000\n"},
         "8 s are within bf_interval"},
    };
}

std::vector<RuleCase> cases_of_placement() {
    using enum Answer;
    return {
        {"isolating-options",
         found,
         {job_record(2, 16, "TresPerTask=gres:gpu:1")},
         "eight tasks a node, a GPU each"},
        {"isolating-options", found, {job_record(2, 16, "TresBind=gres/gpu:closest")}, "bound"},
        {"isolating-options",
         not_found,
         {job_record(2, 2, "TresPerTask=gres:gpu:8")},
         "one task has all GPUs of its node"},
        {"isolating-options",
         not_found,
         {job_record(2, 16, "TresPerTask=gres/gpu:1\n   TresBind=gres/gpu:none")},
         "none is hidden"},
        {"isolating-options",
         not_found,
         {job_record(2, 16, "TresPerTask=gres:gpu:1"), nccl("P2P/CUMEM")},
         "NCCL reaches the peers all the same"},
        {"isolating-options", not_found, {job_record(2, 16, "TresPerNode=gres:gpu:8")}, "a node's"},
        {"isolating-options",
         found,
         {script("--nodes=1 --ntasks=2 --gpus-per-task=1")},
         "two tasks on a node"},
        {"isolating-options",
         not_found,
         {script("--nodes=1 --ntasks=2 --gpus-per-task=1 --gpu-bind=none")},
         "none is hidden"},
        {"isolating-options",
         not_found,
         {script("--nodes=2 --ntasks-per-node=8 --gpus-per-node=8")},
         "as it should be"},
        {"too-many-leaves",
         found,
         {two_leaves(), job_record(4, 4, "X=1", "n[3-6]")},
         "four nodes on two leaves of four"},
        {"too-many-leaves", found, {two_leaves(), sacct("RUNNING", "n[3-6]")}, "from accounting"},
        {"too-many-leaves",
         not_found,
         {two_leaves(), job_record(4, 4, "X=1", "n[5-8]")},
         "one leaf"},
        {"too-many-leaves",
         not_found,
         {two_leaves(), job_record(4, 4, "X=1", "n[3-6]"), diagnose_file("scontrol-partition.txt")},
         "its partition has two nodes of each leaf"},
        {"too-many-leaves",
         unknown,
         {two_leaves(), job_record(2, 2, "X=1", "m[1-2]")},
         "nodes of another network"},
        {"cpu-affinity",
         found,
         {two_sockets(), bound("0xffff", "0xff")},
         "task 1 is on the first socket, GPU 1 near the second"},
        {"cpu-affinity",
         found,
         {two_sockets(),
          "railhead: node n1 task 1 rank 1: GPU 1 (0000:45:00.0), CPUs 0-7 (NUMA 0), "
          "memory 0, NIC mlx5_1:1 PIX\n"},
         "Railhead's own line names the GPU"},
        {"cpu-affinity",
         found,
         {two_sockets(),
          "0: pid 7's current affinity list: 0-15\n1: pid 8's current affinity list: "
          "0-15\n"},
         "taskset by rank"},
        {"cpu-affinity", not_found, {two_sockets(), bound("0xffff", "0xffff0000")}, "each its own"},
        {"cpu-affinity", not_found, {two_sockets(), bound("0xffffffff", "0xffffffff")}, "unbound"},
        {"cpu-affinity",
         not_found,
         {two_sockets(), nccl_cpus(0, "ffff") + nccl_cpus(1, "ffff0000")},
         "near CPUs"},
        {"cpu-affinity",
         unknown,
         {nccl_cpus(0, "ffff") + nccl_cpus(1, "")},
         "that NCCL tells none of a GPU alone says little: healthy logs have it"},
        {"worlds-of-one", found, {alone(0) + alone(1)}, "two runs of one process"},
        {"worlds-of-one",
         not_found,
         {nccl_cpus(0, "ffff") + nccl_cpus(1, "ffff0000") + alone(0)},
         "a communicator of one rank beside that of all"},
        {"worlds-of-one", not_found, {alone(0)}, "one process is enough for one GPU"},
        {"cpu-affinity", unknown, {bound("0xffff", "0xff")}, "where GPUs are is not told"},
        {"few-cpus", found, {bound("0x1", "0x2")}, "one CPU each, as without --cpus-per-task"},
        {"few-cpus", found, {nccl_cpus(0, "3") + nccl_cpus(1, "c")}, "a core each"},
        {"few-cpus", not_found, {bound("0xff", "0xff00")}, "eight each"},
    };
}

std::vector<RuleCase> cases_of_ranks() {
    using enum Answer;
    return {
        {"rank-diverges", found, {by_rank({0.5, 0.5, 7.25, 0.5})}, "rank 2 has another norm"},
        {"rank-diverges", found, {"12: Possible persistent error!\n"}, "Megatron proved it"},
        {"rank-diverges", found, {local_nan(13)}, "one rank alone"},
        {"rank-diverges", not_found, {by_rank({0.5, 0.5, 0.5, 0.5})}, "all have the same"},
        {"rank-diverges", not_found, {by_rank({0.5, 0.7, 0.9, 0.4})}, "each prints its own part"},
        {"rank-diverges", not_found, {local_nan(13) + local_nan(14)}, "the loss itself is none"},
        {"rank-diverges", unknown, {by_rank({0.5, 7.25})}, "of two nobody knows which is wrong"},
        {"gradient-blow-up",
         found,
         {norms({{"2.6", 1.5}, {"2.9", 9.0}, {"nan", 0}})},
         "the norm grew before the loss was none"},
        {"gradient-blow-up",
         found,
         {norms({{"2.6", 6}, {"2.9", 12}, {"3.1", 40}})},
         "and is not back"},
        {"gradient-blow-up",
         not_found,
         {norms({{"2.6", 12}, {"2.5", 0.6}, {"2.5", 0.5}})},
         "one that is clipped and back"},
        {"gradient-blow-up", not_found, {norms({})}, "as usual"},
        {"gradient-blow-up", unknown, {step(1000, "2.5", 0.5)}, "what is usual is not known"},
        {"loader-bound", found, {diagnose_file("nsys-waits-for-samples.csv")}, "a fifth of a step"},
        {"loader-bound", unknown, {diagnose_file("nsys-nccl-dominates.csv")}, "no ranges"},
        {"exposed-communication", found, {diagnose_file("nsys-nccl-dominates.csv")}, "60 %"},
        {"exposed-communication", not_found, {diagnose_file("nsys-waits-for-samples.csv")}, "20 %"},
    };
}

}  // namespace

std::vector<RuleCase> railhead::test::record_rule_cases() {
    std::vector<RuleCase> all;
    for (const auto& part : {cases_of_records(), cases_of_placement(), cases_of_ranks()}) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

TEST_CASE("a rule on records finds what it looks for, and nothing in what only looks like it",
          "[diagnose][records]") {
    for (const auto& c : railhead::test::record_rule_cases()) {
        CAPTURE(c.rule, c.because);
        const auto finding = ask(c.rule, facts_of(c.texts));
        CAPTURE(finding.what);
        CHECK(std::string{name_of(finding.answer)} == std::string{name_of(c.expected)});
        if (finding.answer == Answer::found) {
            CHECK_FALSE(finding.what.empty());
            CHECK_FALSE(finding.evidence.empty());
            CHECK_FALSE(finding.fix.empty());
            CHECK_FALSE(finding.expected.empty());
        }
        CHECK((finding.answer == Answer::unknown) == !finding.missing.empty());
    }
}

TEST_CASE("a finding on placement has its arithmetic and the command that mends it",
          "[diagnose][records]") {
    const auto leaves =
        ask("too-many-leaves", facts_of({two_leaves(), job_record(4, 4, "X=1", "n[3-6]")}));
    CHECK_THAT(leaves.what, ContainsSubstring("touch 2 leaves; 1 can hold as many"));
    CHECK_THAT(leaves.fix.front(), ContainsSubstring("#SBATCH --switches=1@24:00:00"));
    CHECK_THAT(leaves.expected, ContainsSubstring("0 times in place of 2"));
    CHECK(leaves.role == Role::advice);  // that it costs something is not shown

    const auto cpus = ask("cpu-affinity", facts_of({two_sockets(), bound("0xffff", "0xff")}));
    CHECK_THAT(cpus.what, ContainsSubstring("Rank 1 on n1 is bound to CPUs 0-7"));
    CHECK_THAT(cpus.fix[1], ContainsSubstring("srun --cpu-bind=mask_cpu:0xffff,0xffff0000"));
    CHECK(cpus.evidence.front().line == 2);
}

TEST_CASE("a node that is drained while its job runs on is advice, one that ends it a cause",
          "[diagnose][records]") {
    const auto with = [](std::string_view state, std::string_view event_state) {
        return ask("node-out", facts_of({sacct(state), event("n3", 60, event_state, "GPU lost")}));
    };
    CHECK(with("RUNNING", "DRAIN").role == Role::advice);
    CHECK(with("COMPLETED", "DRAIN").role == Role::advice);
    CHECK(with("NODE_FAIL", "DOWN").role == Role::cause);
}

TEST_CASE("the rank that computes something else is named", "[diagnose][records]") {
    const auto odd = ask("rank-diverges", facts_of({by_rank({0.5, 0.5, 7.25, 0.5})}));
    CHECK_THAT(odd.what, ContainsSubstring("Rank 2 has gradient norm 7.25 at iteration 1000, and 3 "
                                           "of 4 ranks have 0.5"));
    const auto proven =
        ask("rank-diverges", facts_of({"7: Unexpected result tensor(nan) on rank 7 at iteration "
                                       "#150 invocation #1 (message='loss is NaN')\n"
                                       "0: Possible transient error!\n"}));
    CHECK_THAT(proven.what, ContainsSubstring("Rank 7 computed what the same GPU"));
    const auto lone = ask("rank-diverges", facts_of({local_nan(13)}));
    CHECK_THAT(lone.what, ContainsSubstring("Rank 13, GPU 5 of gpu-12 alone"));
    CHECK(lone.role == Role::symptom);
}

TEST_CASE("masks and lists of CPUs are read as NCCL prints them", "[diagnose][records]") {
    for (const auto& [text, list] :
         std::vector<std::pair<std::string, std::string>>{{"ff,fff00000", "20-39"},
                                                          {"0fffff", "0-19"},
                                                          {"3", "0-1"},
                                                          {"0-31,64-95", "0-31,64-95"}}) {
        CAPTURE(text);
        const auto cpus = diagnose::cpus_of_nccl(text);
        REQUIRE(cpus);
        CHECK(to_string(*cpus) == list);
    }
    CHECK_FALSE(diagnose::cpus_of_nccl("none"));
}

TEST_CASE("a job's record tells its files, whatever its name looks like", "[diagnose][records]") {
    for (const bool one_line : {false, true}) {
        auto text = diagnose_file("scontrol-job-gpus-per-task.txt");
        if (one_line) {
            std::string joined;
            for (const auto line : railhead::split(text, '\n')) {
                joined += (joined.empty() ? "" : " ") + std::string{railhead::trim(line)};
            }
            text = joined;
        }
        CAPTURE(one_line);
        const railhead::test::ReadBy<diagnose::JobDetailsReader> read{text};
        REQUIRE(read->jobs().size() == 1);
        const auto& job = read->jobs().front();
        CHECK(job.id == "41");
        CHECK(job.user == "alice");
        CHECK(job.user_id == 1000U);
        CHECK(job.tasks == 32);
        CHECK(job.node_list.value == "n[3-6]");
        CHECK(job.std_out == "/home/alice/my runs/slurm-41.out");
        CHECK(job.std_err == "/home/alice/my runs/slurm-41.out");
        CHECK(job.gpu_bind.value == "gres:gpu:single:1");
    }
}

TEST_CASE("records that stand in two files count once", "[diagnose][records]") {
    auto facts = facts_of({sacct("RUNNING"), sacct("NODE_FAIL"), sacct("NODE_FAIL"),
                           event("n3", 60, "DOWN*", "Not responding"),
                           event("n3", 60, "DOWN*", "Not responding", true)});
    const auto& records = facts.machine.slurm;
    REQUIRE(records.attempts.size() == 1);
    CHECK(records.attempts.front().state == "NODE_FAIL");  // the later export knows the end
    REQUIRE(records.events.size() == 1);
    CHECK(records.events.front().end_s.has_value());
    CHECK(records.repeated == 3);

    const TempDir folder;
    const auto file = folder.write("sacct.txt", sacct("NODE_FAIL"));
    const auto once = railhead::test::run({"mtbf", file});
    const auto twice = railhead::test::run({"mtbf", file, file});
    CHECK(once.out == twice.out);
    CHECK_THAT(twice.err, ContainsSubstring("1 record"));
    CHECK(once.err.find("counted once") == std::string::npos);
}

TEST_CASE("a file of a kind that is read and that cannot be read says why", "[diagnose][records]") {
    const auto facts = facts_of({"SwitchName=a Switches=b\n", "GPU0\tX\tNV12\n"});
    for (const auto& file : facts.files) {
        CHECK_FALSE(file.is_read);
        CHECK_FALSE(file.trouble.empty());
    }
    const TempDir folder;
    const auto ran = railhead::test::run({"diagnose", folder.write("t.conf",
                                                                   "SwitchName=a "
                                                                   "Switches=b\n")});
    CHECK_THAT(ran.out, ContainsSubstring("topology.conf: not used;"));
}

TEST_CASE("no two files look alike in a finding", "[diagnose][report]") {
    const std::string tail = "/the/same/long/tail/of/a/path/output.log";
    diagnose::Sources sources;
    for (const std::string_view path :
         {"/scratch/alice/run-a", "/scratch/alice/run-b", "/scratch/bob/run-b", "short"}) {
        sources.add(path == "short" ? "short.log" : std::string{path} + tail);
    }
    const railhead::report::ShownPaths shown{sources};
    CHECK(shown[3] == "short.log");
    CHECK_THAT(shown[0], ContainsSubstring("/run-a/"));
    std::vector<std::string> all = {shown[0], shown[1], shown[2], shown[3]};
    std::ranges::sort(all);
    CHECK(std::ranges::adjacent_find(all) == all.end());

    diagnose::Sources two;
    two.add("/scratch/alice/run-a" + tail);
    two.add("/scratch/alice/run-b" + tail);
    const railhead::report::ShownPaths both{two};
    CHECK(both[0] == ".../run-a/...tail/of/a/path/output.log");
    CHECK(both[0].size() < two.name(0).size());
}

TEST_CASE("what a diagnosis finds of a job's files is the root cause of its end",
          "[diagnose][postmortem]") {
    const TempDir folder;
    const auto records = folder.write("sacct.txt", sacct("FAILED"));
    const auto output =
        folder.write("out.log", diagnose_file("traceback-one-rank-out-of-gpu-memory.log"));
    const auto with = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words = {"postmortem", "12", "--sacct", records};
        words.insert(words.end(), more.begin(), more.end());
        return railhead::test::run(words);
    };
    CHECK_THAT(with({}).out, ContainsSubstring("**Not determined**"));

    const auto told = with({"--evidence", output});
    CHECK(told.out.find("Not determined") == std::string::npos);
    CHECK_THAT(told.out, ContainsSubstring("ran out of GPU memory"));
    CHECK_THAT(told.out, ContainsSubstring("out.log:"));

    const auto notes = with({"--evidence", folder.write("notes.txt", "buy milk\n")});
    CHECK_THAT(notes.err, ContainsSubstring("is not used"));
    CHECK_THAT(notes.out, ContainsSubstring("**Not determined**"));

    // That it was slow did not end it.
    const auto slow = with({"--evidence", folder.write("bind.log", bound("0x1", "0x2"))});
    CHECK_THAT(slow.out, ContainsSubstring("**Not determined**"));

    const auto two =
        railhead::test::run({"postmortem", "12", "13", "--sacct", records, "--evidence", output});
    CHECK(two.status == 2);
}

TEST_CASE("a line of another day is no clue", "[diagnose][postmortem]") {
    const auto clues = [](std::string_view time) {
        const auto rules = diagnose::all_rules();
        const auto facts = facts_of({fmt::format(
            "{} gpu-3 kernel: NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.\n",
            time)});
        const std::vector<std::int64_t> ends = {1796090400};  // 2026-12-01T02:00:00
        return diagnose::clues_of(diagnose::diagnose(facts, rules), facts, "12", ends);
    };
    REQUIRE(clues("2026-12-01T01:59:00+00:00").size() == 1);
    CHECK(clues("2026-12-01T01:59:00+00:00").front().at_s == 1796090340);
    CHECK(clues("2026-11-20T01:59:00+00:00").empty());
    // Of a clock in another zone, perhaps: it counts, and its time does not.
    REQUIRE(clues("2026-12-01T09:59:00+00:00").size() == 1);
    CHECK_FALSE(clues("2026-12-01T09:59:00+00:00").front().at_s);
}

TEST_CASE("what may end a job is a rule", "[diagnose][postmortem]") {
    for (const auto id : diagnose::rules_of_ends()) {
        CAPTURE(id);
        CHECK_NOTHROW(railhead::test::rule_of(id));
    }
}

TEST_CASE("the kind of each public file is seen, and what is unknown has its reason",
          "[diagnose][corpus]") {
    RAILHEAD_NEED_CORPUS();
    // By what INDEX.tsv says they are; the exceptions by hand, with why.
    const std::map<std::string, std::string> usual = {
        {"hwloc-xml", "hwloc XML"},    {"nccl-log", "NCCL log"},
        {"nccl-tests", "nccl-tests"},  {"nccl-topo", "NCCL topology XML"},
        {"sbatch", "batch script"},    {"topo-m", "nvidia-smi topo -m"},
        {"train-log", "training log"}, {"bug-reports", "unknown"},  // prose
    };
    const std::map<std::string, std::string> others = {
        {"hwloc-xml/expected.coral-lassen.mpibind.txt", "unknown"},  // what mpibind answers
        {"hwloc-xml/expected.epyc-corona.mpibind.txt", "unknown"},
        {"nccl-log/cpu-no-p2p-isolated-cgroup.md", "unknown"},  // a description
        {"nccl-log/acs-lspci-mixed.txt", "lspci"},
        {"nccl-log/watchdog-4ranks-seqnum.log", "PyTorch watchdog"},
        {"nccl-log/watchdog-reduce-scatter-node.log", "PyTorch watchdog"},
        {"nccl-tests/a100-2node-no-gdr-33GBs.txt", "NCCL log"},  // begins with NCCL's lines
        {"nccl-tests/a3high-tcpx-2node-allgather.txt", "NCCL log"},
        {"train-log/aws-fsdp-speed.log", "NCCL log"},
        {"train-log/torchtitan-benchmarks-h100.md", "unknown"},        // prose and tables
        {"topo-m/mi300x-rocm-smi-numa.txt", "unknown"},                // rocm-smi
        {"slurm-topology/topograph-ibnetdiscover.out", "unknown"},     // of the fabric's manager
        {"slurm-topology/aws-pcluster-include.gres.conf", "unknown"},  // an include alone
        {"slurm-topology/slurm-bad-root_not_list.topology.yaml", "unknown"},  // broken on purpose
    };
    const auto index = railhead::test::read_corpus("INDEX.tsv");
    std::size_t files = 0;
    for (const auto line : railhead::split(index, '\n')) {
        const auto columns = railhead::split(line, '\t');
        if (columns.size() < 2 || columns[0] == "kind" || columns[0] == "bug-reports") {
            continue;
        }
        const std::string file{columns[1].substr(0, columns[1].find(" ;"))};
        CAPTURE(file);
        ++files;
        const auto other = others.find(file);
        std::string expected = "unknown";
        if (other != others.end()) {
            expected = other->second;
        } else if (columns[0] == "slurm-topology") {
            expected = file.substr(file.find('.', file.rfind("slurm-")) + 1);
            for (const std::string_view name :
                 {"topology.conf", "topology.yaml", "slurm.conf", "gres.conf"}) {
                expected = file.ends_with(name) ? std::string{name} : expected;
            }
        } else {
            expected = usual.at(std::string{columns[0]});
        }
        CHECK(std::string{name_of(diagnose::guess_kind(railhead::test::read_corpus(file)))} ==
              expected);
    }
    CHECK(files >= 249);
}
