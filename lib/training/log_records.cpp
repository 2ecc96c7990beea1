// Formats whose records take several lines: composer, MLPerf's :::MLLOG, DeepSpeed's profiler.
#include <array>
#include <utility>

#include "base/text.hpp"
#include "training/log_fields.hpp"
#include "training/log_line.hpp"
#include "training/log_reader.hpp"

namespace railhead::training {

namespace {

std::optional<std::uint64_t> whole(std::optional<double> number) {
    return number && *number >= 0 && *number < 1e15
               ? std::optional{static_cast<std::uint64_t>(*number)}
               : std::nullopt;
}

/// The text of a JSON string member: "training_step" of "value": "training_step".
std::string_view string_member(std::string_view text, std::string_view key) {
    const auto at = text.find(key);
    if (at == std::string_view::npos) {
        return {};
    }
    const auto rest = text.substr(at + key.size());
    const auto start = rest.find_first_not_of(" \t:");
    if (start == std::string_view::npos || rest[start] != '"') {
        return {};
    }
    const auto inside = rest.substr(start + 1);
    return inside.substr(0, inside.find('"'));
}

/// "1.29 ms", "34.09 us", "1.2 s" in seconds.
std::optional<double> latency_s(std::string_view text) {
    std::string_view unit;
    const auto value = leading_number(text, &unit);
    if (!value) {
        return std::nullopt;
    }
    unit = trim(unit);
    return unit.starts_with("us")   ? *value / 1e6
           : unit.starts_with("ms") ? *value / 1e3
           : unit.starts_with("s")  ? std::optional{*value}
                                    : std::nullopt;
}

/// "336.23 M" as a number.
std::optional<double> scaled(std::string_view text) {
    std::string_view unit;
    const auto value = leading_number(text, &unit);
    if (!value) {
        return std::nullopt;
    }
    unit = trim(unit);
    constexpr std::array<std::pair<char, double>, 5> scales{
        {{'K', 1e3}, {'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}}};
    for (const auto& [letter, scale] : scales) {
        if (unit.starts_with(letter)) {
            return *value * scale;
        }
    }
    return *value;
}

struct ComposerKey {
    std::string_view name;
    std::optional<double> Step::*field;
    double scale = 1;
};
constexpr std::array composer_keys{
    ComposerKey{"throughput/samples_per_sec", &Step::samples_per_s},
    ComposerKey{"throughput/tokens_per_sec", &Step::tokens_per_s},
    ComposerKey{"throughput/device/tokens_per_sec", &Step::tokens_per_s_gpu},
    ComposerKey{"throughput/device/mfu", &Step::mfu},
    ComposerKey{"throughput/device/flops_per_sec", &Step::tflops, 1e-12},
    ComposerKey{"loss/train/total", &Step::loss},
    ComposerKey{"memory/peak_allocated_mem", &Step::memory_bytes, 1e9},
};

void set_composer(Step& step, std::string_view key, double value) {
    if (key == "throughput/batches_per_sec" && value > 0) {
        step.step_s = 1 / value;
    } else if (key.starts_with("lr-")) {
        step.learning_rate = value;
    }
    for (const auto& known : composer_keys) {
        if (known.name == key) {
            step.*known.field = value * known.scale;
        }
    }
}

}  // namespace

// -- composer: "[batch=12/4800]:" and lines of "Train key: value" --------------------------------

void LogReader::close_composer() {
    if (composer_) {
        add_step(*std::exchange(composer_, std::nullopt), LogKind::composer);
    }
}

void LogReader::read_composer(std::string_view text) {
    if (text.front() == '[') {
        close_composer();
        if (text.starts_with("[Eval ")) {
            add_event({EventKind::validation, std::nullopt, std::nullopt, log_.lines});
        } else if (const auto batch = whole(number_after(text, "batch="))) {
            composer_ = Step{};
            composer_->line = log_.lines;
            composer_->iteration = batch;
        }
        return;
    }
    if (!text.starts_with("Train ")) {
        close_composer();
        return read_text({{}, std::nullopt, text});
    }
    const auto colon = text.rfind(": ");
    if (colon != std::string_view::npos) {
        if (const auto value = leading_number(text.substr(colon + 1))) {
            set_composer(*composer_, text.substr(6, colon - 6), *value);
        }
    }
}

// -- MLPerf: https://github.com/mlcommons/logging, blocks of steps with their times ---------------

void LogReader::read_mllog(std::string_view text) {
    const auto key = string_member(text, "\"key\"");
    const auto at_ms = number_after(text, "\"time_ms\"");
    const auto number = whole(number_after(text, "\"step_num\""));
    if (at_ms) {
        note_time(*at_ms / 1000);
        line_at_s_ = *at_ms / 1000;
    }
    if (key == "global_batch_size") {
        if (const auto batch = number_after(text, "\"value\"")) {
            set_fact(Topic::global_batch, *batch, key);
        }
    } else if (key == "loss") {
        block_loss_ = number_after(text, "\"value\"");
    } else if (key == "block_start" || key == "block_stop") {
        const auto what = string_member(text, "\"value\"");
        if (what != "training_step") {
            add_event({EventKind::validation, number, std::nullopt, log_.lines});
        } else if (key == "block_start") {
            block_start_s_ = line_at_s_;
            block_start_step_ = number;
        } else if (block_start_s_ && block_start_step_ && number && at_ms &&
                   *number > *block_start_step_) {
            Step step;
            step.iteration = number;
            step.step_s = (*at_ms / 1000 - *block_start_s_) /
                          static_cast<double>(*number - *block_start_step_);
            step.loss = std::exchange(block_loss_, std::nullopt);
            block_start_s_.reset();
            add_step(step, LogKind::mllog);
        }
    }
}

// -- DeepSpeed's flops profiler: one step, taken apart --------------------------------------------

void LogReader::read_profiler(std::string_view text) {
    const auto colon = text.find(": ");
    if (colon == std::string_view::npos) {
        return;
    }
    const auto key = text.substr(0, colon);
    const auto value = text.substr(colon + 1);
    if (key == "world size") {
        if (const auto number = leading_number(value)) {
            see_start();
            set_fact(Topic::world_size, *number, key);
        }
    } else if (key == "params of model = params per GPU * mp_size") {
        if (const auto number = scaled(value)) {
            set_fact(Topic::parameters, *number, "params of model");
        }
    } else if (key == "batch size per GPU") {
        if (const auto number = leading_number(value)) {
            set_fact(Topic::micro_batch, *number, key);
        }
    } else if (key.starts_with("fwd+bwd FLOPS per GPU")) {
        if (const auto flops = scaled(value)) {
            profiler_ = Step{};
            profiler_->line = log_.lines;
            profiler_->tflops = *flops / 1e12;
        }
    } else if (key == "iter latency" && profiler_) {
        profiler_->step_s = latency_s(value);
    } else if (key == "samples/second" && profiler_) {
        profiler_->samples_per_s = leading_number(value);
        add_step(*std::exchange(profiler_, std::nullopt), LogKind::flops_profiler);
    }
}

}  // namespace railhead::training
