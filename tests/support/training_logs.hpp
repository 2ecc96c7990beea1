// Training logs, read whole.
#pragma once

#include <string>
#include <string_view>

#include "training/log_reader.hpp"
#include "training/log_summary.hpp"

namespace railhead::test {

inline training::TrainingLog read_log(std::string_view text) {
    training::LogReader reader{"train.log"};
    reader.feed(text);
    reader.finish();
    return reader.log();
}

inline training::LogSummary summary_of(const training::TrainingLog& log) {
    return training::summarize(log, training::choose_run(log).value());
}

/// A record of Megatron-LM.
inline std::string megatron_line(int iteration, double step_ms, double loss = 2.5) {
    return " iteration " + std::to_string(iteration) +
           "/  100000 | consumed samples: " + std::to_string(iteration * 256) +
           " | elapsed time per iteration (ms): " + std::to_string(step_ms) +
           " | learning rate: 1.0E-04 | global batch size:   256 | lm loss: " +
           std::to_string(loss) +
           " | number of skipped iterations:   0 | number of nan iterations:   0 |\n";
}

}  // namespace railhead::test
