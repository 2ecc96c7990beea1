// Public training logs.  What is expected is from the corpus' INDEX.tsv and from the files, by
// hand.
#include <algorithm>
#include <string>

#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/training_logs.hpp"

namespace training = railhead::training;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using railhead::test::read_corpus;
using railhead::test::read_log;
using training::LogKind;
using training::Topic;
using training::TrainingLog;

namespace {

TrainingLog read_public(const std::string& name) {
    return read_log(read_corpus("train-log/" + name));
}

training::LogSummary summary_of(const TrainingLog& log) {
    return railhead::test::summary_of(log);
}

}  // namespace

TEST_CASE("every public training log is of its kind", "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    struct Case {
        const char* file;
        LogKind kind;
        std::size_t runs;
        std::uint64_t steps;  // of the last run
    };
    const auto c = GENERATE(values<Case>({
        {"aws-fsdp-speed.log", LogKind::samples_per_s, 3, 6},
        {"bloom-176b-hang-at-eval.log", LogKind::megatron, 1, 1},
        {"bloom-176b-slow-gpu-drop.log", LogKind::megatron, 1, 5},
        {"bloom-176b-steady.log", LogKind::megatron, 1, 12},
        {"deepspeed-flops-profiler.txt", LogKind::flops_profiler, 1, 1},
        {"mbridge-llama31-glued-line.log", LogKind::megatron, 1, 1},
        {"mbridge-mtp-extra-losses.log", LogKind::megatron, 1, 1},
        {"meg-ds-zero-52b-v100.log", LogKind::megatron, 1, 4},
        {"mlperf-sd-mllog.log", LogKind::mllog, 1, 10},
        {"nemo-train-step-timing.log", LogKind::nemo, 1, 12},
        {"torchtitan-one-step.log", LogKind::torchtitan, 1, 1},
        {"tr1-13b-ms-nan.log", LogKind::megatron, 1, 10},
    }));
    CAPTURE(c.file);

    const auto log = read_public(c.file);

    REQUIRE(log.runs.size() == c.runs);
    CHECK(log.runs.back().kind == c.kind);
    CHECK(log.runs.back().series.lines() == c.steps);
}

TEST_CASE("the one public file that is a page of results has no run", "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    CHECK(read_public("torchtitan-benchmarks-h100.md").runs.empty());
}

TEST_CASE("the slow GPU of BLOOM is a drop at its iteration", "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    const auto log = read_public("bloom-176b-slow-gpu-drop.log");
    const auto summary = summary_of(log);

    CHECK(log.wrapped == 5);
    REQUIRE(summary.shifts.size() == 1);
    const auto& shift = summary.shifts[0];
    CHECK(shift.left == 42781);
    CHECK(shift.settled == 42784);
    CHECK(shift.line == 7);
    CHECK_THAT(shift.before.tflops.value(), WithinAbs(149.1, 0.05));
    CHECK_THAT(shift.after.tflops.value(), WithinAbs(141.1, 0.05));
    CHECK_THAT(shift.before.time, WithinAbs(105.165, 0.01));
    CHECK_THAT(shift.after.time, WithinAbs(111.14, 0.01));
    CHECK(training::sequence_of(log.runs[0])->value == 2048);
}

TEST_CASE("BLOOM at 149 TFLOP/s is steady", "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    const auto summary = summary_of(read_public("bloom-176b-steady.log"));

    CHECK(summary.shifts.empty());
    CHECK(summary.trend_share == 0);
    CHECK(summary.slow.count == 0);
    CHECK(summary.warm_up == 0);
    CHECK_FALSE(summary.hang.has_value());
    CHECK_THAT(summary.levels.at(0).time, WithinAbs(106.36, 0.005));
    // Its loss doubles for a while: 2.24 at 31217, 5.10 at 31219, 2.22 at 31250.
    REQUIRE(summary.spikes.size() == 1);
    CHECK(summary.spikes[0].iteration == 31219);
    CHECK(summary.spikes[0].recovered == 31250U);
}

TEST_CASE("BLOOM hangs after its first validation", "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    const auto summary = summary_of(read_public("bloom-176b-hang-at-eval.log"));

    REQUIRE(summary.hang.has_value());
    const auto& hang = *summary.hang;
    REQUIRE(hang.after.has_value());
    CHECK(hang.after->kind == training::EventKind::validation);
    CHECK(hang.after->iteration == 45000U);
    CHECK(hang.certain());
    CHECK(hang.at_least);
    CHECK(hang.silent_s == 7207.0);  // 03:56:11 to 05:56:18
    CHECK(hang.usual_s == 111.0);
}

TEST_CASE("the 13B run has its spike at 29050 and three step times", "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    const auto summary = summary_of(read_public("tr1-13b-ms-nan.log"));

    REQUIRE(summary.spikes.size() == 1);
    CHECK(summary.spikes[0].iteration == 29050);
    CHECK(summary.spikes[0].line == 4);
    CHECK_THAT(summary.spikes[0].loss, WithinAbs(7.343709, 1e-5));
    REQUIRE(summary.levels.size() == 3);
    CHECK_THAT(summary.levels[0].time, WithinRel(22.3, 0.01));
    CHECK_THAT(summary.levels[1].time, WithinRel(23.5, 0.01));
    CHECK_THAT(summary.levels[2].time, WithinRel(25.6, 0.01));
    CHECK(summary.shifts.empty());  // there are thousands of steps between them
    CHECK_FALSE(summary.tflops.has_value());
}

TEST_CASE("a record that is glued to the next message is read", "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    const auto log = read_public("mbridge-llama31-glued-line.log");

    CHECK_THAT(log.runs[0].last->step_s.value(), WithinRel(20.2891, 1e-9));
    CHECK_THAT(log.runs[0].fact(Topic::parameters)->value, WithinRel(8.03e9, 1e-12));
    CHECK(log.runs[0].memory_bytes == 194.41e9);
}

TEST_CASE("fields that are not known are passed over", "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    const auto step = read_public("mbridge-mtp-extra-losses.log").runs[0].last.value();

    CHECK_THAT(step.step_s.value(), WithinRel(3.7386, 1e-9));
    CHECK(step.loss == 7.968678);  // not the losses of load balancing and of mtp_1
    CHECK(step.grad_norm == 1.04);
}

TEST_CASE("figures of the other public logs", "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    SECTION("DeepSpeed's profiler") {
        const auto log = read_public("deepspeed-flops-profiler.txt");
        CHECK(log.runs[0].last->tflops == 102.0);
        CHECK(log.runs[0].last->samples_per_s == 433.07);
        CHECK_THAT(log.runs[0].last->step_s.value(), WithinRel(0.18473, 1e-9));
        CHECK(log.runs[0].fact(Topic::parameters)->value == 336.23e6);
    }
    SECTION("torchtitan") {
        const auto step = read_public("torchtitan-one-step.log").runs[0].last.value();
        CHECK(step.tokens_per_s_gpu == 4376.0);
        CHECK(step.tflops == 253.41);
        CHECK_THAT(step.mfu.value(), WithinRel(0.2562, 1e-9));
    }
    SECTION("NeMo: 12.64 s, two steps of 12.87 s and one of 13.04 s") {
        const auto summary = summary_of(read_public("nemo-train-step-timing.log"));
        CHECK_THAT(summary.time.median, WithinAbs(12.645, 0.0051));
        CHECK(summary.slow.count == 3);
        CHECK(summary.slow.worst.at(0).line == 8);
        CHECK(summary.slow.worst.at(0).time == 13.04);
        CHECK(summary.shifts.empty());
        CHECK_FALSE(summary.slow.every.has_value());
    }
    SECTION("FSDP: the first batch is warm-up, in each of three runs") {
        const auto log = read_public("aws-fsdp-speed.log");
        const double medians[] = {10.61, 14.51, 15.37};  // samples/s of batches 1 to 5
        const double parameters[] = {7392727040, 46702792704, 7248023552};
        for (std::size_t i = 0; i < 3; ++i) {
            const auto summary = training::summarize(log, i);
            CAPTURE(i);
            CHECK(summary.warm_up == 1);
            CHECK_THAT(1 / summary.time.median, WithinRel(medians[i], 1e-6));
            CHECK(log.runs[i].fact(Topic::parameters)->value == parameters[i]);
        }
    }
    SECTION("52B on V100") {
        const auto log = read_public("meg-ds-zero-52b-v100.log");
        CHECK(log.runs[0].fact(Topic::layers)->value == 64);
        CHECK(log.runs[0].fact(Topic::hidden)->value == 8192);
        CHECK(log.runs[0].fact(Topic::world_size)->value == 64);
        CHECK(log.runs[0].fact(Topic::tensor_parallel)->value == 4);
        CHECK(log.runs[0].fact(Topic::sequence)->value == 1024);
    }
    SECTION("MLPerf") {
        const auto log = read_public("mlperf-sd-mllog.log");
        CHECK(log.runs[0].fact(Topic::global_batch)->value == 128);
        // From 1720163659077 to 1720163682695 ms for the first 100 steps, which are warm-up.
        CHECK_THAT(log.runs[0].first->step_s.value(), WithinAbs(0.23618, 1e-9));
        CHECK(summary_of(log).warm_up == 1);
    }
}

TEST_CASE("a public log says the same with other prefixes, CRLF and a cut tail",
          "[corpus][training]") {
    RAILHEAD_NEED_CORPUS();
    const std::string name = GENERATE("tr1-13b-ms-nan.log", "nemo-train-step-timing.log",
                                      "mbridge-mtp-extra-losses.log", "torchtitan-one-step.log");
    const std::string prefix = GENERATE("3: ", "[rank12]:", "[1,7]<stdout>:", "\x1b[1m");
    CAPTURE(name, prefix);
    const auto text = read_corpus("train-log/" + name);
    std::string changed = prefix;
    for (std::size_t i = 0; i < text.size(); ++i) {
        changed += text[i] == '\n' ? (i + 1 < text.size() ? "\r\n" + prefix : "\r\n")
                                   : std::string(1, text[i]);
    }
    const auto before = summary_of(read_log(text));

    const auto after = summary_of(read_log(changed));
    CHECK(after.time.median == before.time.median);
    CHECK(after.lines == before.lines);
    CHECK(after.spikes.size() == before.spikes.size());

    const auto half = read_log(std::string_view{changed}.substr(0, changed.size() / 2 + 5));
    CHECK(half.runs.size() <= 1);
    CHECK(half.cut);
}
