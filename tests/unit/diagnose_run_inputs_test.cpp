// What runs and Slurm's daemons say: failures, NCCL RAS, flight records, traces, configurations.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/failures_text.hpp"
#include "diagnose/flight_recorder.hpp"
#include "diagnose/intervals.hpp"
#include "diagnose/nccl_ras.hpp"
#include "diagnose/nsys_stats.hpp"
#include "diagnose/profiler_trace.hpp"
#include "diagnose/run_configuration.hpp"
#include "diagnose/slurm_text.hpp"
#include "support/catch.hpp"
#include "support/diagnose_inputs.hpp"

namespace diagnose = railhead::diagnose;
using diagnose::Collective;
using diagnose::FailureKind;
using diagnose::FileKind;
using diagnose::SlurmdEventKind;
using railhead::test::diagnose_file;
using railhead::training::Topic;
using FailureText = railhead::test::ReadBy<diagnose::FailureReader>;
using Ras = railhead::test::ReadBy<diagnose::RasReader>;
using Sdiag = railhead::test::ReadBy<diagnose::SdiagReader>;
using Slurmd = railhead::test::ReadBy<diagnose::SlurmdLogReader>;
using Trace = railhead::test::ReadBy<diagnose::ProfilerTraceReader>;
using Flight = railhead::test::ReadBy<diagnose::FlightRecordReader>;
using Nsys = railhead::test::ReadBy<diagnose::NsysStatsReader>;

namespace {

diagnose::RunConfiguration configuration_of(FileKind kind, const std::string& text) {
    diagnose::RunConfigurationReader reader{kind, 0, "config"};
    reader.feed(text);
    reader.finish();
    return reader.configuration();
}

std::string value_of(const diagnose::RunConfiguration& configuration, std::string_view key) {
    const auto* setting = configuration.find(key);
    return setting == nullptr ? "(none)" : setting->value;
}

double fact_of(const diagnose::RunConfiguration& configuration, Topic topic) {
    const auto* fact = configuration.fact(topic);
    return fact == nullptr ? -1 : fact->value;
}

}  // namespace

TEST_CASE("the rank that failed first is told from those that followed", "[diagnose]") {
    const FailureText read{diagnose_file("traceback-one-rank-out-of-gpu-memory.log")};

    const auto& failures = read->failures().failures;
    REQUIRE(failures.size() == 4);
    CHECK(failures[0].kind == FailureKind::gpu_memory);
    CHECK(failures[0].rank == 3U);
    CHECK(failures[0].type == "torch.OutOfMemoryError");
    CHECK(failures[0].frame == "model.py:412");
    CHECK(failures[0].first_line == 2);
    CHECK(failures[0].evidence.line == 9);
    CHECK(failures[1].kind == FailureKind::nccl);
    CHECK(failures[1].rank == 5U);
    CHECK(failures[1].frame == "train.py:91");
    CHECK(failures[2].kind == FailureKind::other);
    CHECK(failures[2].host == "gpu-017");
    CHECK(failures[2].rank == 3U);
    CHECK(failures[3].kind == FailureKind::consequence);
    CHECK_FALSE(failures[3].rank);
    CHECK(read->failures().unfinished == 0);
    CHECK(diagnose::find_first(read->failures()) == failures.data());
}

TEST_CASE("a NCCL error that is printed first is not taken for the cause", "[diagnose]") {
    const FailureText read{
        "[rank5]: Traceback (most recent call last):\n"
        "[rank5]:   File \"a.py\", line 1, in <module>\n"
        "[rank5]: torch.distributed.DistBackendError: NCCL error in: x, remote process exited\n"
        "[rank2]: Traceback (most recent call last):\n"
        "[rank2]:   File \"a.py\", line 2, in <module>\n"
        "[rank2]: AssertionError: Rank 2: found NaN in local grad norm in backward pass\n"};

    const auto* first = diagnose::find_first(read->failures());
    REQUIRE(first != nullptr);
    CHECK(first->rank == 2U);
    CHECK(first->kind == FailureKind::not_a_number);
}

TEST_CASE("by time stamps the earliest counts, not the first line", "[diagnose]") {
    const FailureText read{
        "2024-08-30T11:43:20Z [rank1]: Traceback (most recent call last):\n"
        "2024-08-30T11:43:20Z [rank1]: ValueError: late\n"
        "2024-08-30T11:43:10Z [rank7]: Traceback (most recent call last):\n"
        "2024-08-30T11:43:10Z [rank7]: ValueError: early\n"};

    const auto* first = diagnose::find_first(read->failures());
    REQUIRE(first != nullptr);
    CHECK(first->rank == 7U);
    CHECK(first->message == "early");
}

TEST_CASE("an exception while another was handled follows it; cgroups tell of memory",
          "[diagnose]") {
    const FailureText read{diagnose_file("traceback-loader-killed-for-memory.log")};

    const auto& failures = read->failures().failures;
    REQUIRE(failures.size() == 4);
    CHECK(failures[0].kind == FailureKind::host_memory);
    CHECK_FALSE(failures[0].is_chained);
    CHECK(failures[0].rank == 0U);
    CHECK(failures[1].is_chained);
    CHECK(failures[2].type == "slurmstepd");
    CHECK(failures[2].kind == FailureKind::host_memory);
    CHECK(failures[3].kind == FailureKind::host_memory);
    CHECK(diagnose::find_first(read->failures()) == failures.data());
}

TEST_CASE("torchrun's summary names a rank and its host", "[diagnose]") {
    const FailureText read{diagnose_file("torchrun-summary.log")};

    const auto& failures = read->failures().failures;
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].kind == FailureKind::consequence);
    CHECK(failures[0].rank == 11U);
    CHECK(failures[0].host == "gpu-017.cluster");
    CHECK(failures[0].message == "exit code -9 (pid: 4711)");
}

TEST_CASE("what kind of failure it is", "[diagnose]") {
    struct Case {
        const char* line;
        FailureKind kind;
    };
    const auto c = GENERATE(values<Case>({
        {"torch.cuda.OutOfMemoryError: CUDA out of memory.", FailureKind::gpu_memory},
        {"RuntimeError: CUDA error: out of memory", FailureKind::gpu_memory},
        {"MemoryError", FailureKind::host_memory},
        {"RuntimeError: DataLoader worker is killed by signal: Bus error. It is possible that "
         "dataloader's workers are out of shared memory.",
         FailureKind::shared_memory},
        {"RuntimeError: CUDA error: uncorrectable ECC error encountered",
         FailureKind::gpu_hardware},
        {"RuntimeError: CUDA error: an illegal memory access was encountered",
         FailureKind::gpu_program},
        {"OSError: [Errno 28] No space left on device", FailureKind::disk_full},
        {"torch.distributed.DistStoreError: Timed out after 601 seconds", FailureKind::timeout},
        {"ConnectionResetError: [Errno 104] Connection reset by peer", FailureKind::consequence},
        {"KeyboardInterrupt", FailureKind::consequence},
        {"ValueError: bad", FailureKind::other},
    }));
    CAPTURE(c.line);
    const FailureText read{std::string{"Traceback (most recent call last):\n"} + c.line + "\n"};
    REQUIRE(read->failures().failures.size() == 1);
    CHECK(read->failures().failures[0].kind == c.kind);
    CHECK(diagnose::may_be_cause(c.kind) == (c.kind < FailureKind::timeout));
}

TEST_CASE("a log without failures has none, one that ends within a traceback says so",
          "[diagnose]") {
    CHECK(FailureText { "iteration 1 loss: 2.5\nValueError: of another log\n" } -> failures()
              .failures.empty());
    CHECK(diagnose::find_first({}) == nullptr);
    const FailureText cut{"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"};
    CHECK(cut->failures().failures.empty());
    CHECK(cut->failures().unfinished == 1);
}

TEST_CASE("NCCL RAS: a process that is dead, ranks that are missing or behind", "[diagnose]") {
    const Ras read{diagnose_file("ras-one-process-dead.txt")};

    const auto& report = read->report();
    CHECK(report.nodes == 4U);
    CHECK(report.processes == 32U);
    CHECK(report.gpus == 32U);
    REQUIRE(report.groups.size() == 2);
    CHECK(report.groups[0].errors == "INCOMPLETE");
    CHECK(report.groups[0].ranks == 32);
    CHECK(report.groups[1].communicators == 7);
    CHECK(report.groups[1].errors == "OK");
    REQUIRE(report.problems.size() == 3);
    CHECK(report.problems[0].word == "DEAD");
    CHECK(report.problems[0].is_error);
    REQUIRE(report.problems[0].members.size() == 1);
    CHECK(report.problems[0].members[0].node == "gpu-213");
    CHECK(report.problems[0].members[0].gpu == "5");
    CHECK(report.problems[1].communicator == "#0-0");
    CHECK(report.problems[1].missing == std::vector<std::uint32_t>{21, 30, 31});
    CHECK_FALSE(report.problems[2].is_error);
    REQUIRE(report.problems[2].members.size() == 2);
    CHECK(report.problems[2].members[1].rank == 2U);
    CHECK(report.problems[2].members[1].said == "2 ranks have launched up to operation 6649");
    CHECK(report.problems[2].said ==
          "Communicator ranks have different collective operation counts");
}

TEST_CASE("sdiag: the main scheduler, backfill and who asks", "[diagnose]") {
    const Sdiag read{diagnose_file("sdiag-slow-backfill.txt")};

    const auto& is = read->statistics();
    CHECK(is.at_s == 1645609194);
    CHECK(is.since_s == 1645608220);
    CHECK(is.server_threads == 3U);
    CHECK(is.dbd_agent_queue == 32733U);
    CHECK(is.jobs_pending == 900U);
    CHECK(is.main_last_us == 8U);
    CHECK(is.main_mean_us == 162U);
    CHECK(is.main_queue == 17U);
    CHECK(is.backfilled == 5U);
    CHECK(is.backfill_last_us == 45000000U);
    CHECK(is.backfill_depth == 880U);
    CHECK(is.backfill_depth_try == 23U);
    CHECK(is.backfill_queue == 900U);
    REQUIRE(is.by_type.size() == 2);
    CHECK(is.by_type[0].who == "REQUEST_PARTITION_INFO");
    CHECK(is.by_type[0].count == 120);
    REQUIRE(is.by_user.size() == 2);
    CHECK(is.by_user[1].who == "alice");
    CHECK(is.by_user[1].total_us == 24960);
}

TEST_CASE("slurmd: what happened to a node and its jobs", "[diagnose]") {
    const Slurmd read{diagnose_file("slurmd-out-of-memory-and-time.log")};

    struct Row {
        SlurmdEventKind kind;
        std::uint64_t job;  // 0: none
        const char* reason;
        std::uint64_t line;
    };
    const std::vector<Row> rows{{SlurmdEventKind::daemon_started, 0, "", 1},
                                {SlurmdEventKind::not_registered, 0, "", 2},
                                {SlurmdEventKind::oom, 41, "", 4},
                                {SlurmdEventKind::cancelled, 42, "TIME LIMIT", 5},
                                {SlurmdEventKind::prolog_failed, 43, "", 6},
                                {SlurmdEventKind::health_check_failed, 0, "", 7}};
    const auto& events = read->log().events;
    REQUIRE(events.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(i, events[i].evidence.text);
        CHECK(events[i].kind == rows[i].kind);
        CHECK(events[i].job.value_or(0) == rows[i].job);
        CHECK(events[i].reason == rows[i].reason);
        CHECK(events[i].evidence.line == rows[i].line);
    }
    CHECK(events[0].at_s == 1725015600);
}

TEST_CASE("a trace tells computation, communication that is exposed, copies, idle and loader",
          "[diagnose]") {
    const Trace read{diagnose_file("profiler-exposed-communication.json")};

    const auto& trace = read->trace();
    CHECK(trace.rank == 3U);
    CHECK(trace.world_size == 16U);
    CHECK(trace.steps == 2);
    CHECK(trace.step_us == 1000);
    CHECK(trace.loader_us == 150);
    CHECK(trace.events == 13);
    CHECK_FALSE(trace.is_cut);
    CHECK_FALSE(trace.is_partial);
    REQUIRE(trace.devices.size() == 1);
    // By hand: steps are from 1000 to 3000.
    const auto& time = trace.devices[0];
    CHECK(time.span_us == 2000);
    CHECK(time.compute_us == 1000);      // 1200-1800, 2000-2300, 2900-3000
    CHECK(time.nccl_us == 350);          // 1700-1950, 2100-2200
    CHECK(time.nccl_exposed_us == 150);  // 1800-1950
    CHECK(time.copy_us == 100);          // 2250-2350
    CHECK(time.copy_exposed_us == 50);   // 2300-2350
    CHECK(time.idle_us == 800);          // the rest
    CHECK(time.matmul_us == 800);
    CHECK(time.attention_us == 200);
    CHECK(time.other_compute_us == 300);
    CHECK(time.kernels == 6);
    const auto of = [&](Collective c) { return time.collective_us[static_cast<std::size_t>(c)]; };
    CHECK(of(Collective::reduce_scatter) == 250);
    CHECK(of(Collective::all_gather) == 100);
    CHECK(of(Collective::all_reduce) == 0);
}

TEST_CASE("a trace that is a list of events, or is cut, gives what is there", "[diagnose]") {
    const std::string event = R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"ts":10,"dur":5})";
    const Trace list{"[" + event + "," + event + "]"};
    CHECK(list->trace().devices.at(0).compute_us == 5);
    CHECK_FALSE(list->trace().is_cut);

    const Trace cut{R"({"traceEvents": [)" + event + R"(, {"ph":"X","cat":"ker)"};
    CHECK(cut->trace().is_cut);
    CHECK(cut->trace().devices.at(0).kernels == 1);
    CHECK(cut->trace().devices[0].idle_us == 0);

    const Trace none{"no JSON at all"};
    CHECK(none->trace().is_cut);
    CHECK(none->trace().devices.empty());
}

TEST_CASE("intervals: united, without others, within a window", "[diagnose]") {
    using diagnose::Spans;
    const auto spans = diagnose::united({{5, 7}, {1, 3}, {2, 4}, {7, 8}, {9, 9}});
    CHECK(spans == Spans{{1, 4}, {5, 8}});
    CHECK(diagnose::length_of(spans) == 6);
    CHECK(diagnose::without(spans, {}) == spans);
    CHECK(diagnose::without(spans, {{0, 10}}).empty());
    CHECK(diagnose::without(spans, {{2, 3}, {3.5, 6}}) == Spans{{1, 2}, {3, 3.5}, {6, 8}});
    CHECK(diagnose::without({{0, 1}, {2, 3}}, {{0.5, 2.5}}) == Spans{{0, 0.5}, {2.5, 3}});
    CHECK(diagnose::within(spans, {3, 6}) == Spans{{3, 4}, {5, 6}});

    diagnose::IntervalSet set;
    bool fits = true;
    for (std::size_t i = 0; i < 3 * diagnose::IntervalSet::limit; ++i) {  // they touch
        fits = set.add({static_cast<double>(i), static_cast<double>(i) + 1}) && fits;
    }
    CHECK(fits);
    CHECK(set.spans() == Spans{{0, 3.0 * diagnose::IntervalSet::limit}});

    diagnose::IntervalSet apart;
    for (std::size_t i = 0; i < diagnose::IntervalSet::limit; ++i) {
        fits = apart.add({2.0 * static_cast<double>(i), 2.0 * static_cast<double>(i) + 1}) && fits;
    }
    CHECK(fits);
    CHECK_FALSE(apart.add({-2, -1}));
}

TEST_CASE("flight records of several ranks tell who is absent, and from what", "[diagnose]") {
    Flight waits{diagnose_file("flight-recorder-rank-0-waits.json")};
    Flight absent{diagnose_file("flight-recorder-rank-1-absent.json")};

    auto first = waits->record();
    CHECK(first.version == "2.5");
    CHECK(first.calls == 2);
    REQUIRE(first.open.size() == 1);
    CHECK(first.open[0].name == "nccl:_reduce_scatter_base");
    CHECK(first.open[0].state == "started");
    CHECK(first.open[0].sequence == 8U);
    CHECK(first.open[0].sizes == "[[3, 4], [5]]");
    CHECK(first.open[0].line == 6);
    CHECK(first.groups.at("0").ranks == std::vector<std::uint32_t>{0, 1, 2});
    CHECK_FALSE(first.is_cut);

    first.rank = 0;
    auto second = absent->record();
    second.rank = 1;
    const auto gaps = diagnose::find_gaps(std::vector{first, second});
    REQUIRE(gaps.size() == 1);
    CHECK(gaps[0].description == "default_pg");
    CHECK(gaps[0].furthest == 8);
    CHECK(gaps[0].behind == std::vector<std::uint32_t>{1});
    CHECK(gaps[0].untold == std::vector<std::uint32_t>{2});
    CHECK(gaps[0].call == "nccl:_reduce_scatter_base [[3, 4], [5]]");

    CHECK(diagnose::find_gaps(std::vector{second}).empty());  // nobody waits
    second.rank.reset();
    CHECK(diagnose::find_gaps(std::vector{second}).empty());
}

TEST_CASE("the rank of a flight record is at the end of its name", "[diagnose]") {
    CHECK(diagnose::rank_in_name("/tmp/nccl_trace_rank_12") == 12U);
    CHECK(diagnose::rank_in_name("trace7.json.gz") == 7U);
    CHECK(diagnose::rank_in_name("rank7.json") == 7U);
    CHECK_FALSE(diagnose::rank_in_name("dump.json"));
}

TEST_CASE("nsys stats: tables one after another, with quoted names", "[diagnose]") {
    const Nsys read{diagnose_file("nsys-nccl-dominates.csv")};

    const auto& stats = read->stats();
    REQUIRE(stats.rows.size() == 4);
    CHECK(stats.nccl_ns == 6000000);
    CHECK(stats.compute_ns == 4000000);
    CHECK(stats.rows[1].name == "void cutlass::Kernel2<cutlass_80_tensorop, int>(T1::Params)");
    CHECK(stats.rows[1].count == 9);
    CHECK(std::abs(stats.rows[1].share - 0.3) < 1e-12);
    CHECK(stats.rows[2].name == "softmax \"warp\" kernel");
    CHECK(stats.rows[3].table == diagnose::NsysTable::calls);
    CHECK(stats.rows[3].count == 12);
    CHECK(stats.rows[3].evidence.line == 9);
}

TEST_CASE("DeepSpeed's JSON", "[diagnose]") {
    const auto is = configuration_of(FileKind::deepspeed_config,
                                     diagnose_file("deepspeed-zero-3-offload.json"));

    CHECK(is.errors.empty());
    CHECK(value_of(is, "zero_optimization.stage") == "3");
    CHECK(value_of(is, "zero_optimization.offload_optimizer.device") == "cpu");
    CHECK(value_of(is, "zero_optimization.overlap_comm") == "false");
    CHECK(value_of(is, "zero_optimization.buckets") == "1,2,3");
    CHECK(is.find("zero_optimization.stage")->evidence.line == 8);
    CHECK(fact_of(is, Topic::global_batch) == 512);
    CHECK(fact_of(is, Topic::micro_batch) == 2);
    CHECK(fact_of(is, Topic::bf16) == 1);
    CHECK(fact_of(is, Topic::fp16) == 0);
}

TEST_CASE("torchtitan's TOML", "[diagnose]") {
    const auto is =
        configuration_of(FileKind::torchtitan_config, diagnose_file("torchtitan-small-batch.toml"));

    CHECK(is.errors.empty());
    CHECK(fact_of(is, Topic::micro_batch) == 1);
    CHECK(fact_of(is, Topic::sequence) == 8192);
    CHECK(fact_of(is, Topic::tensor_parallel) == 8);
    CHECK(fact_of(is, Topic::full_recompute) == 1);
    REQUIRE(is.settings.size() == 7);
    CHECK(is.settings[1].key == "training.local_batch_size");  // in the order of the file
    CHECK(is.settings[1].evidence.text == "local_batch_size = 1");
}

TEST_CASE("NeMo's YAML, whose references are no numbers", "[diagnose]") {
    const auto is =
        configuration_of(FileKind::nemo_config, diagnose_file("nemo-tp-across-nodes.yaml"));

    CHECK(is.errors.empty());
    CHECK(fact_of(is, Topic::tensor_parallel) == 16);
    CHECK(fact_of(is, Topic::pipeline_parallel) == 2);
    CHECK(fact_of(is, Topic::layers) == 32);
    CHECK(fact_of(is, Topic::bf16) == 1);
    CHECK(fact_of(is, Topic::selective_recompute) == 1);
    CHECK(fact_of(is, Topic::sequence) == -1);
    CHECK(value_of(is, "trainer.devices") == "8");
}

TEST_CASE("a batch script: options, environment, arguments of the run", "[diagnose]") {
    const auto is =
        configuration_of(FileKind::batch_script, diagnose_file("script-socket-forced.sbatch"));

    CHECK(is.errors.empty());
    CHECK(value_of(is, "sbatch.nodes") == "4");
    CHECK(value_of(is, "sbatch.gpus-per-task") == "1");
    CHECK(value_of(is, "env.NCCL_IB_DISABLE") == "1");
    CHECK(value_of(is, "env.NCCL_SOCKET_IFNAME") == "eth0");
    CHECK(value_of(is, "env.NCCL_DEBUG") == "INFO");  // not the one in the comment
    CHECK(is.find("env.NCCL_IB_DISABLE")->evidence.line == 5);
    CHECK(value_of(is, "option.pipeline-model-parallel-size") == "2");
    CHECK(fact_of(is, Topic::tensor_parallel) == 4);
    CHECK(fact_of(is, Topic::global_batch) == 1536);
    CHECK(fact_of(is, Topic::bf16) == 1);
}

TEST_CASE("a configuration that is broken says where", "[diagnose]") {
    struct Case {
        FileKind kind;
        const char* text;
        unsigned line;
    };
    const auto c = GENERATE(values<Case>({{FileKind::deepspeed_config, "{\"a\": 1,\n ]", 2},
                                          {FileKind::deepspeed_config, "{\"a\": 1,\n", 2},
                                          {FileKind::torchtitan_config, "[a]\nb = \n", 2},
                                          {FileKind::nemo_config, "a: 1\nb: [1\n", 3}}));
    CAPTURE(c.text);
    const auto is = configuration_of(c.kind, c.text);
    REQUIRE(is.errors.size() == 1);
    CHECK(is.errors[0].where.line == c.line);
    CHECK(is.errors[0].where.file == "config");
}
