// Logs of training runs: every format, and what launchers, terminals and loggers do to lines.
#include "training/log_reader.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/training_logs.hpp"

namespace training = railhead::training;
using Catch::Matchers::WithinRel;
using railhead::test::megatron_line;
using railhead::test::read_log;
using training::EventKind;
using training::LogKind;
using training::Topic;
using training::TrainingLog;

namespace {

const training::Step& last_step(const TrainingLog& log) {
    return log.runs.back().last.value();
}

double fact(const TrainingLog& log, Topic topic) {
    const auto* found = log.runs.back().fact(topic);
    return found == nullptr ? -1 : found->value;
}

constexpr const char* record =
    " iteration      12/     500 | consumed samples:         3072 | elapsed time per iteration "
    "(ms): "
    "3738.6 | throughput per GPU (TFLOP/s/GPU): 412.5 | learning rate: 6.0E-05 | global batch "
    "size:  "
    " 256 | lm loss: 7.968678E+00 | loss scale: 1.0 | grad norm: 1.040 | number of skipped "
    "iterations:   1 | number of nan iterations:   2 |";

}  // namespace

TEST_CASE("a record of Megatron-LM says all of its fields", "[training][log]") {
    const auto log = read_log(std::string{record} + "\n");

    REQUIRE(log.runs.size() == 1);
    const auto& step = last_step(log);
    CHECK(log.runs[0].kind == LogKind::megatron);
    CHECK(step.iteration == 12U);
    CHECK_THAT(step.step_s.value(), WithinRel(3.7386, 1e-12));
    CHECK(step.consumed_samples == 3072.0);
    CHECK(step.tflops == 412.5);
    CHECK(step.learning_rate == 6.0e-05);
    CHECK(step.global_batch == 256.0);
    CHECK(step.loss == 7.968678);
    CHECK(step.grad_norm == 1.040);
    CHECK(log.runs[0].skipped == 1);
    CHECK(log.runs[0].nan == 2);
    CHECK(fact(log, Topic::steps) == 500);
    CHECK(fact(log, Topic::global_batch) == 256);
}

TEST_CASE("what stands before a record does not hide it", "[training][log]") {
    const std::string before = GENERATE(
        "[default7]:",                                         // torchrun --tee
        "[rank0]:", "[1,3]<stdout>:",                          // mpirun --tag-output
        "  7: ", "12: ",                                       // srun --label
        "[2025-12-19 10:49:15]", "2025-06-17T16:24:52.123Z ",  // a logger, Kubernetes
        "(RayWorker pid=77, ip=10.0.0.1) ", "0: [default0]:[2025-12-19 10:49:15,123] [INFO] ",
        "\x1b[32m2025-06-17 16:24:52\x1b[0m - root - INFO - ", "something glued to it");
    CAPTURE(before);

    const auto log = read_log(before + record + "\n");

    REQUIRE(log.runs.size() == 1);
    CHECK(last_step(log).iteration == 12U);
    CHECK_THAT(last_step(log).step_s.value(), WithinRel(3.7386, 1e-12));
}

TEST_CASE("a record that a terminal wrapped is one, wherever it was cut", "[training][log]") {
    const std::string whole = std::string{"[default7]:"} + record;
    // From the end of "iteration 12/" on, so that the first piece is seen to begin a record, to
    // the last "|": the piece after it must have one.
    for (auto cut = whole.find('|') + 1; cut < whole.size() - 1; ++cut) {
        for (const bool blank_lost : {false, true}) {
            auto rest = whole.substr(cut);
            if (blank_lost && rest.front() == ' ') {
                rest.erase(0, 1);
            }
            const auto head = whole.substr(0, cut);
            if (head.ends_with('|') || head.ends_with("| ")) {
                continue;  // looks whole
            }
            CAPTURE(head, rest);
            const auto log = read_log(head + "\n" + rest + "\n" + megatron_line(13, 3700));

            REQUIRE(log.runs.size() == 1);
            CHECK(log.runs[0].series.lines() == 2);
            CHECK(log.wrapped == 1);
            const auto& first = log.runs[0].first.value();
            CHECK(first.line == 1);
            CHECK_THAT(first.step_s.value(), WithinRel(3.7386, 1e-12));
            CHECK(first.tflops == 412.5);
            CHECK(first.loss == 7.968678);
            CHECK(log.runs[0].nan == 2);
        }
    }
}

TEST_CASE("a log is the same in whatever pieces it comes, and with CRLF", "[training][log]") {
    std::string text =
        "using world size: 64, data-parallel size: 8, tensor-model-parallel size: 8\n";
    std::string crlf;
    for (int i = 1; i <= 20; ++i) {
        text += megatron_line(i, 1000 + i);
    }
    for (const char c : text) {
        crlf += c == '\n' ? "\r\n" : std::string(1, c);
    }
    const auto whole = read_log(text);
    for (const std::size_t size : {1U, 7U, 64U, 1000U}) {
        CAPTURE(size);
        training::LogReader reader{"train.log"};
        for (std::size_t at = 0; at < crlf.size(); at += size) {
            reader.feed(std::string_view{crlf}.substr(at, size));
        }
        reader.finish();
        const auto& log = reader.log();
        REQUIRE(log.runs.size() == 1);
        CHECK(log.lines == whole.lines);
        CHECK(log.runs[0].series.lines() == 20);
        CHECK(log.runs[0].last->step_s == whole.runs[0].last->step_s);
        CHECK(log.runs[0].last->line == 21);
        CHECK_FALSE(log.cut);
    }
}

TEST_CASE("a log may be cut at any byte", "[training][log]") {
    const auto text = megatron_line(1, 1001) + megatron_line(2, 1002);
    for (std::size_t end = 0; end <= text.size(); ++end) {
        const auto log = read_log(std::string_view{text}.substr(0, end));
        CAPTURE(end);
        CHECK(log.cut == (end != 0 && text[end - 1] != '\n'));
        CHECK(log.runs.size() <= 1);
    }
}

TEST_CASE("steps that several ranks print count once", "[training][log]") {
    std::string text;
    for (int i = 1; i <= 5; ++i) {
        for (const auto* rank : {"[rank0]:", "[rank1]:", "[rank2]:"}) {
            text += rank + std::string{"step: "} + std::to_string(i) +
                    "  loss: 8.1  memory: 40.00GiB(50.00%)  tps: 6,100  mfu: 30.00%\n";
        }
    }

    const auto log = read_log(text);

    REQUIRE(log.runs.size() == 1);
    CHECK(log.runs[0].series.lines() == 5);
    CHECK(log.repeated == 10);
}

TEST_CASE("a rank that lags behind starts no new run", "[training][log]") {
    const auto log = read_log(
        "0: step: 1  loss: 8  tps: 6,100\n0: step: 2  loss: 8  tps: 6,100\n"
        "1: step: 1  loss: 8  tps: 6,100\n0: step: 3  loss: 8  tps: 6,100\n");

    REQUIRE(log.runs.size() == 1);
    CHECK(log.runs[0].series.lines() == 3);
}

TEST_CASE("a step whose number went back is the first of a new run", "[training][log]") {
    std::string text = "using world size: 8, data-parallel size: 8\n";
    for (const int i : {10, 20, 30, 21, 31, 41, 51}) {
        text += megatron_line(i, 900);
    }

    const auto log = read_log(text);

    REQUIRE(log.runs.size() == 2);
    CHECK(log.runs[0].series.lines() == 3);
    CHECK(log.runs[1].series.lines() == 4);
    CHECK(log.runs[1].fact(Topic::world_size)->value == 8);
}

TEST_CASE("lines of a start begin a run though its steps go on", "[training][log]") {
    const auto log =
        read_log("using world size: 8, data-parallel size: 8\n" + megatron_line(10, 900) +
                 "using world size: 16, data-parallel size: 16\n" + megatron_line(11, 460));

    REQUIRE(log.runs.size() == 2);
    CHECK(log.runs[0].fact(Topic::world_size)->value == 8);
    CHECK(log.runs[1].fact(Topic::world_size)->value == 16);
}

TEST_CASE("each format has its own words", "[training][log]") {
    struct Case {
        const char* text;
        LogKind kind;
        std::uint64_t iteration;
        double step_s, tokens_per_s_gpu, samples_per_s, loss, mfu;  // -1: not said
    };
    const auto c = GENERATE(values<Case>({
        {"Training epoch 0, iteration 3/99 | lr: 2.9e-07 | global_batch_size: 128 | global_step: 3 "
         "| "
         "reduced_train_loss: 11.03 | train_step_timing in s: 12.5 | consumed_samples: 512\n",
         LogKind::nemo, 3, 12.5, -1, -1, 11.03, -1},
        {"[titan] 2025-02-01 10:00:00,123 - root - INFO - \x1b[31mstep: 20  \x1b[32mloss:  8.5  "
         "\x1b[33mmemory: 40.50GiB(51.00%)  tps: 4,376  tflops: 253.41  mfu: 25.62%\x1b[39m\n",
         LogKind::torchtitan, 20, -1, 4376, -1, 8.5, 0.2562},
        {"step: 7  loss:  8.5  memory: 40.50GiB(51.00%)  wps: 3,101  mfu: 31.00%\n",  // its old
                                                                                      // name
         LogKind::torchtitan, 7, -1, 3101, -1, 8.5, 0.31},
        {"[batch=12/4800]:\n\t Train time/epoch: 0\n\t Train loss/train/total: 7.25\n"
         "\t Train throughput/batches_per_sec: 0.25\n\t Train throughput/samples_per_sec: 64\n"
         "\t Train throughput/device/tokens_per_sec: 16384\n\t Train throughput/device/mfu: "
         "0.412\n",
         LogKind::composer, 12, 4, 16384, 64, 7.25, 0.412},
        {" 12%|#2        | 120/1000 [04:22<36:00,  2.18s/it]\r 12%|#2        | 121/1000 "
         "[04:24<36:00,  2.18s/it]\n{'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 1e-05}\n",
         LogKind::trainer, 121, 2.18, -1, -1, 2.31, -1},
        {"Epoch 0:  45%|####5     | 45/100 [00:10<00:12, 4.00it/s, v_num=0, train_loss=2.375]\n",
         LogKind::progress_bar, 45, 0.25, -1, -1, 2.375, -1},
        {"0: 2025-06-17 16:24:55 I [train.py:103] Batch 1 Loss: 11.5, Speed: 10.90 samples/sec, "
         "lr: "
         "0.0001\n",
         LogKind::samples_per_s, 1, -1, -1, 10.9, 11.5, -1},
        {":::MLLOG {\"time_ms\": 1000, \"key\": \"block_start\", \"value\": \"training_step\", "
         "\"metadata\": {\"step_num\": 100}}\n:::MLLOG {\"time_ms\": 3000, \"key\": \"loss\", "
         "\"value\": 0.5}\n:::MLLOG {\"time_ms\": 3500, \"key\": \"block_stop\", \"value\": "
         "\"training_step\", \"metadata\": {\"step_num\": 110}}\n",
         LogKind::mllog, 110, 0.25, -1, -1, 0.5, -1},
        {"world size:                                                   8\n"
         "fwd+bwd FLOPS per GPU = 3 * fwd flops per GPU / (fwd+bwd latency):   102.0 TFLOPS\n"
         "iter latency:       250.0 ms\nsamples/second:         433.07\n",
         LogKind::flops_profiler, 0, 0.25, -1, 433.07, -1, -1},
    }));
    CAPTURE(c.text);
    const auto or_none = [](const std::optional<double>& value) { return value.value_or(-1); };

    const auto log = read_log(c.text);

    REQUIRE(log.runs.size() == 1);
    const auto& step = last_step(log);
    CHECK(log.runs[0].kind == c.kind);
    CHECK(step.iteration.value_or(0) == c.iteration);
    CHECK_THAT(or_none(step.step_s), WithinRel(c.step_s, 1e-12));
    CHECK(or_none(step.tokens_per_s_gpu) == c.tokens_per_s_gpu);
    CHECK(or_none(step.samples_per_s) == c.samples_per_s);
    CHECK(or_none(step.loss) == c.loss);
    CHECK_THAT(or_none(step.mfu), WithinRel(c.mfu, 1e-12));
}

TEST_CASE("bars of downloads and of validation are no steps", "[training][log]") {
    const auto log = read_log(
        "Loading checkpoint shards: 50%|#####     | 2/4 [00:10<00:10, 4.00it/s]\n"
        "Validation DataLoader 0: 45%|####5     | 45/100 [00:10<00:12, 4.00it/s]\n"
        "Downloading: 45%|####5     | 45M/100M [00:10<00:12, 4.00MB/s]\n");

    CHECK(log.runs.empty());
}

TEST_CASE("arguments that a log prints are known, with their lines", "[training][log]") {
    const auto log = read_log(
        "------------------------ arguments ------------------------\n"
        "  bf16 ............................................ True\n"
        "  hidden_size ..................................... 8192\n"
        "  num_layers ...................................... 80\n"
        "  num_attention_heads ............................. 64\n"
        "  num_query_groups ................................ 8\n"
        "  ffn_hidden_size ................................. 28672\n"
        "  padded_vocab_size ............................... 128256\n"
        "  seq_length ...................................... 8192\n"
        "  recompute_granularity ........................... full\n"
        "  swiglu .......................................... True\n"
        "  untie_embeddings_and_output_weights ............. True\n"
        "  num_experts ..................................... None\n"
        "  tensor_model_parallel_size ...................... 4\n"
        "  world_size ...................................... 512\n");

    CHECK(fact(log, Topic::bf16) == 1);
    CHECK(fact(log, Topic::hidden) == 8192);
    CHECK(fact(log, Topic::layers) == 80);
    CHECK(fact(log, Topic::heads) == 64);
    CHECK(fact(log, Topic::key_value_heads) == 8);
    CHECK(fact(log, Topic::ffn) == 28672);
    CHECK(fact(log, Topic::vocabulary) == 128256);
    CHECK(fact(log, Topic::sequence) == 8192);
    CHECK(fact(log, Topic::full_recompute) == 1);
    CHECK(fact(log, Topic::gated) == 1);
    CHECK(fact(log, Topic::tied) == 0);
    CHECK(fact(log, Topic::experts) == -1);
    CHECK(fact(log, Topic::tensor_parallel) == 4);
    CHECK(fact(log, Topic::world_size) == 512);
    CHECK(log.runs[0].fact(Topic::hidden)->line == 3);
    CHECK(log.runs[0].fact(Topic::hidden)->written == "hidden_size");
}

TEST_CASE("validation and checkpoints are events, with their times", "[training][log]") {
    const auto log = read_log(
        megatron_line(10, 900) +
        " validation loss at iteration 10 | lm loss value: 2.3 | lm loss PPL: 10.2 |\n"
        "[2025-12-19 10:00:00] saving checkpoint at iteration      10 to /ckpt\n"
        "[2025-12-19 10:00:42] successfully saved checkpoint at iteration      10 to /ckpt\n" +
        megatron_line(11, 1900));

    const auto& events = log.runs.at(0).events;
    REQUIRE(events.size() == 2);
    CHECK(events[0].kind == EventKind::validation);
    CHECK(events[0].iteration == 10U);
    CHECK(events[0].line == 2);
    CHECK(events[1].kind == EventKind::checkpoint_save);
    CHECK(events[1].duration_s == 42.0);
    const auto marks = log.runs[0].series.samples().back().marks;
    CHECK(marks == (training::after_validation | training::after_checkpoint));
}

TEST_CASE("a text that is no training log has no run", "[training][log]") {
    CHECK(read_log("").runs.empty());
    CHECK(read_log("| a | b |\n| - | - |\n| FSDP | 5,762 |\n").runs.empty());
    CHECK(read_log("node3:47930:47930 [0] NCCL INFO NCCL version 2.26.2+cuda12.2\n").runs.empty());
    CHECK(read_log(std::string(100000, '[') + "\n").runs.empty());
}

TEST_CASE("memory is bounded, and a sample of a long log is fair", "[training][log]") {
    training::StepSeries series;
    constexpr std::uint64_t lines = 1'000'000;
    for (std::uint64_t i = 1; i <= lines; ++i) {
        training::Sample sample;
        sample.iteration = i;
        sample.time = i % 10 == 0 ? 2 : 1;  // every tenth is slow: no regular pick may follow it
        series.add(sample);
    }

    CHECK(series.lines() == lines);
    CHECK(series.samples().size() <= training::StepSeries::limit);
    CHECK(series.samples().size() * series.stride() > lines * 9 / 10);
    std::size_t slow = 0;
    std::uint64_t before = 0;
    for (const auto& sample : series.samples()) {
        CHECK(sample.iteration > before);
        before = sample.iteration;
        slow += sample.time > 1 ? 1 : 0;
    }
    const auto share = static_cast<double>(slow) / static_cast<double>(series.samples().size());
    CHECK(std::abs(share - 0.1) < 0.01);
}
