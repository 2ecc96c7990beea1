#include "training/log_reader.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "training/log_fields.hpp"
#include "training/log_line.hpp"

namespace railhead::training {

namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20U;  // bytes; the rest is passed over
constexpr std::size_t most_runs = 32;
constexpr std::size_t most_events = 1024;
constexpr unsigned most_pieces = 8;  // of a record that a terminal wrapped

/// "iteration 12/ 300 |" or "iteration 12/300 |": a record of Megatron or NeMo.
bool starts_record(std::string_view text) {
    return find_iteration(text.substr(0, text.find('|'))).number.has_value();
}

double time_of(const Step& step, Measure measure) {
    switch (measure) {
        case Measure::step_s:
            return step.step_s.value_or(no_value);
        case Measure::seconds_a_token_gpu:
            return step.tokens_per_s_gpu ? 1 / *step.tokens_per_s_gpu : no_value;
        case Measure::seconds_a_sample:
            return step.samples_per_s ? 1 / *step.samples_per_s : no_value;
        case Measure::none:
            break;
    }
    return no_value;
}

bool is_some(const std::optional<double>& value) {
    return value && std::isfinite(*value) && *value > 0;
}

Measure measure_of(const Step& step) {
    return is_some(step.step_s)             ? Measure::step_s
           : is_some(step.tokens_per_s_gpu) ? Measure::seconds_a_token_gpu
           : is_some(step.samples_per_s)    ? Measure::seconds_a_sample
                                            : Measure::none;
}

/// A line that has no end may be cut within its last number: "1" of "15.3" is another speed.
std::string_view without_cut_number(std::string_view line) {
    if (line.empty() || !((line.back() >= '0' && line.back() <= '9') || line.back() == '.')) {
        return line;
    }
    const auto blank = line.find_last_of(" \t");
    return blank == std::string_view::npos ? std::string_view{} : line.substr(0, blank);
}

}  // namespace

LogReader::LogReader(std::string file) {
    log_.file = std::move(file);
}

void LogReader::feed(std::string_view piece) {
    log_.bytes += piece.size();
    while (!piece.empty()) {
        const auto end = piece.find('\n');
        const auto part = piece.substr(0, end);
        if (end == std::string_view::npos || !carry_.empty()) {
            carry_.append(part.substr(0, longest_line - std::min(longest_line, carry_.size())));
        }
        if (end == std::string_view::npos) {
            return;
        }
        ++log_.lines;
        read_line(carry_.empty() ? part.substr(0, longest_line) : std::string_view{carry_});
        carry_.clear();
        piece.remove_prefix(end + 1);
    }
}

void LogReader::finish() {
    if (!carry_.empty()) {
        log_.cut = true;
        ++log_.lines;
        read_line(without_cut_number(carry_));
        carry_.clear();
    }
    close_wrapped();
    close_composer();
    if (profiler_) {
        add_step(*std::exchange(profiler_, std::nullopt), LogKind::flops_profiler);
    }
}

/// A progress bar writes itself anew after each carriage return.
void LogReader::read_line(std::string_view text) {
    while (!text.empty() && text.back() == '\r') {
        text.remove_suffix(1);
    }
    for (auto cut = text.find('\r'); cut != std::string_view::npos; cut = text.find('\r')) {
        read_segment(text.substr(0, cut));
        text.remove_prefix(cut + 1);
    }
    read_segment(text);
}

void LogReader::read_segment(std::string_view text) {
    if (text.find('\x1b') != std::string_view::npos) {
        strip_escapes(text, plain_);
        text = plain_;
    }
    const auto line = strip_prefixes(text);
    if (line.label != label_) {
        label_ = line.label;
    }
    line_at_s_ = line.at_s;
    if (line.at_s) {
        note_time(*line.at_s);
    }
    if (!line.text.empty()) {
        read_text(line);
    }
}

void LogReader::read_text(const LogLine& line) {
    if (continue_wrapped(line.text)) {
        return;
    }
    if (line.text.starts_with(":::MLLOG")) {
        read_mllog(line.text);
    } else if (line.text.front() == '[' || composer_) {
        read_composer(line.text);
    } else if (line.text.find('|') != std::string_view::npos) {
        read_piped(line.text);
    } else {
        read_plain(line.text);
    }
}

// -- records that a terminal wrapped ---------------------------------------------------------

bool LogReader::continue_wrapped(std::string_view text) {
    if (wrapped_.empty()) {
        return false;
    }
    const bool more = text.find('|') != std::string_view::npos && !starts_record(text) &&
                      !text.starts_with("time (ms)") && text.find("%|") == std::string_view::npos &&
                      wrapped_pieces_ < most_pieces;
    if (!more) {
        close_wrapped();
        return false;
    }
    // Without a blank: keys are compared without them, and a number may be cut anywhere.
    wrapped_ += text;
    ++wrapped_pieces_;
    if (trim(text).ends_with('|')) {
        close_wrapped();
    }
    return true;
}

void LogReader::close_wrapped() {
    if (wrapped_.empty()) {
        return;
    }
    log_.wrapped += wrapped_pieces_ > 1 ? 1 : 0;
    auto [step, kind] = read_fields(wrapped_);
    step.line = wrapped_line_;
    wrapped_.clear();
    std::swap(label_, wrapped_label_);  // the line that is read now may be another rank's
    std::swap(line_at_s_, wrapped_at_s_);
    add_step(step, kind);
    std::swap(label_, wrapped_label_);
    std::swap(line_at_s_, wrapped_at_s_);
}

void LogReader::read_piped(std::string_view text) {
    if (starts_record(text)) {
        if (trim(text).ends_with('|')) {
            auto [step, kind] = read_fields(text);
            add_step(step, kind);
        } else {
            wrapped_ = text;
            wrapped_line_ = log_.lines;
            wrapped_label_ = label_;
            wrapped_at_s_ = line_at_s_;
            wrapped_pieces_ = 1;
        }
    } else if (const auto memory = memory_of(text)) {
        auto& most = current().memory_bytes;
        most = std::max(most.value_or(0), *memory);
    } else if (text.find("%|") != std::string_view::npos) {
        if (const auto bar = read_bar(text)) {
            add_step(*bar, LogKind::progress_bar);
        }
    } else if (!read_event(text)) {
        const auto [step, kind] = read_fields(text);
        if (step.step_s) {
            add_step(step, kind);
        }
    }
}

void LogReader::read_plain(std::string_view text) {
    if (text.front() == '{') {
        if (const auto step = read_dict(text)) {
            add_step(*step, LogKind::trainer);
        } else if (text.find("'eval_loss'") != std::string_view::npos) {
            add_event({EventKind::validation, std::nullopt, std::nullopt, log_.lines});
        }
    } else if (!may_tell(text)) {
        return;
    } else if (const auto speed = read_speed_line(text)) {
        add_step(*speed, LogKind::samples_per_s);
    } else if (const auto titan = read_titan_line(text)) {
        add_step(*titan, LogKind::torchtitan);
    } else if (!read_event(text) && !read_fact(text)) {
        read_profiler(text);
    }
}

// -- steps -----------------------------------------------------------------------------------

Run& LogReader::open_run() {
    if (log_.runs.size() == most_runs) {
        log_.runs.erase(log_.runs.begin());
        ++log_.runs_left_out;
    }
    auto& run = log_.runs.emplace_back();
    run.first_line = log_.lines;
    marks_ = 0;
    return run;
}

Run& LogReader::current() {
    return log_.runs.empty() ? open_run() : log_.runs.back();
}

/// Ranks may each print the same step.
bool LogReader::is_repeated(const Step& step) const {
    if (log_.runs.empty() || !log_.runs.back().last) {
        return false;
    }
    const auto& last = *log_.runs.back().last;
    const bool other = label_ != steps_label_;
    if (step.iteration && last.iteration) {
        return *step.iteration == *last.iteration || (other && *step.iteration < *last.iteration);
    }
    return other;
}

/// A step whose number went back is the first of a new start.
Run& LogReader::run_for(const Step& step, LogKind kind) {
    auto& run = current();
    const bool back =
        run.last && step.iteration && run.last->iteration && *step.iteration < *run.last->iteration;
    if (back) {
        const auto facts = run.facts;
        auto& next = open_run();
        next.facts = facts;
        next.kind = kind;
        return next;
    }
    if (run.kind == LogKind::none || run.kind == LogKind::progress_bar) {
        run.kind = kind;
    }
    return run;
}

void LogReader::add_step(Step step, LogKind kind) {
    step.line = step.line == 0 ? log_.lines : step.line;
    // A dictionary of the Trainer belongs to the step that its bar has just shown.
    if (kind == LogKind::trainer && !step.iteration && !log_.runs.empty() &&
        log_.runs.back().last && log_.runs.back().last->iteration) {
        auto& run = log_.runs.back();
        run.kind = kind;
        run.last->loss = step.loss;
        if (!run.series.samples().empty() && step.loss) {
            run.series.samples().back().loss = *step.loss;
        }
        return;
    }
    if (is_repeated(step)) {
        ++log_.repeated;
        return;
    }
    auto& run = run_for(step, kind);
    steps_label_ = label_;
    count_step(run, step);
    Sample sample;
    sample.iteration = step.iteration.value_or(run.series.lines() + 1);
    sample.line = step.line;
    const auto time = time_of(step, run.measure);
    sample.time = std::isfinite(time) && time > 0 ? time : no_value;
    sample.loss = step.loss.value_or(no_value);
    sample.tflops = step.tflops.value_or(no_value);
    sample.grad_norm = step.grad_norm.value_or(no_value);
    sample.marks = run.first ? marks_ : static_cast<std::uint8_t>(marks_ | after_start);
    run.series.add(sample);
    marks_ = 0;
    run.last_step_at_s = line_at_s_;
    run.after_step_at_s.reset();
    run.event_after_last.reset();
    if (!run.first) {
        run.first = step;
    }
    run.last = step;
}

void LogReader::count_step(Run& run, const Step& step) {
    if (run.measure == Measure::none) {
        run.measure = measure_of(step);
    }
    run.skipped += step.skipped.value_or(0);
    run.nan += step.nan.value_or(0);
    run.nan_losses += step.loss && !std::isfinite(*step.loss) ? 1 : 0;
    if (step.memory_bytes) {
        run.memory_bytes = std::max(run.memory_bytes.value_or(0), *step.memory_bytes);
    }
    if (step.mfu) {
        run.last_mfu = step.mfu;
    }
    if (step.tflops) {
        run.last_tflops = step.tflops;
    }
    if (step.of) {
        set_fact(Topic::steps, static_cast<double>(*step.of), "iteration n/N", step.line);
    }
    if (step.global_batch) {
        set_fact(Topic::global_batch, *step.global_batch, "global batch size", step.line);
    }
}

void LogReader::add_event(Event event) {
    auto& run = current();
    if (event.kind == EventKind::validation) {
        marks_ |= after_validation;
    } else if (event.kind == EventKind::checkpoint_save) {
        marks_ |= after_checkpoint;
    }
    if (!event.iteration && run.last) {
        event.iteration = run.last->iteration;
    }
    auto& events = run.events;
    // Other ranks, and the end of what began, tell the same again.
    if (!events.empty() && events.back().kind == event.kind &&
        events.back().iteration == event.iteration) {
        if (event.duration_s) {
            events.back().duration_s = event.duration_s;
        }
        run.event_after_last = events.back();
        return;
    }
    if (events.size() == most_events) {
        events.erase(events.begin() + most_events / 2);
        ++run.events_left_out;
    }
    events.push_back(event);
    run.event_after_last = event;
}

void LogReader::set_fact(Topic topic, double value, std::string_view written, std::uint64_t line) {
    auto& fact = current().facts[static_cast<std::size_t>(topic)];
    if (!fact || fact->value != value) {
        fact = Fact{value, std::string{written}, line == 0 ? log_.lines : line};
    }
}

void LogReader::note_time(double at_s) {
    if (log_.runs.empty()) {
        return;
    }
    auto& run = log_.runs.back();
    run.last_at_s = at_s;
    if (run.last && !run.after_step_at_s) {
        run.after_step_at_s = at_s;
    }
}

}  // namespace railhead::training
