// A training log: in one piece or in two it says the same, and its summary is sane.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "training/log_reader.hpp"
#include "training/log_summary.hpp"

namespace {

namespace training = railhead::training;

void check(bool right) {
    if (!right) {
        std::abort();
    }
}

void check_summary(const training::TrainingLog& log) {
    for (std::size_t i = 0; i < log.runs.size(); ++i) {
        const auto summary = training::summarize(log, i);
        check(summary.time.q1 <= summary.time.median && summary.time.median <= summary.time.q3);
        check(summary.slow.lost_share >= 0 && summary.slow.lost_share <= 1);
        check(std::isfinite(summary.time.median));
        check(summary.levels.size() >= summary.shifts.size());
        static_cast<void>(training::batch_of(log.runs[i]));
        static_cast<void>(training::sequence_of(log.runs[i]));
    }
    static_cast<void>(training::choose_run(log));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    training::LogReader whole{"log"};
    whole.feed(text);
    whole.finish();
    training::LogReader pieces{"log"};
    pieces.feed(text.substr(0, size / 2));
    pieces.feed(text.substr(size / 2));
    pieces.finish();
    const auto& log = whole.log();
    check(log.lines == pieces.log().lines && log.runs.size() == pieces.log().runs.size());
    for (std::size_t i = 0; i < log.runs.size(); ++i) {
        check(log.runs[i].series.lines() == pieces.log().runs[i].series.lines());
        check(log.runs[i].first_line <= log.lines);
    }
    check_summary(log);
    return 0;
}
