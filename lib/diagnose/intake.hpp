// Turns files, read piece by piece, into facts.
//
// What a job prints is a mix: NCCL's lines, steps, tables of nccl-tests.  So each such file goes
// through all three readers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "diagnose/facts.hpp"
#include "diagnose/nccl_log.hpp"
#include "training/achieved.hpp"
#include "training/log_reader.hpp"

namespace railhead::diagnose {

/// What was said of the run beside the files.
struct Given {
    Hardware hardware;
    training::MfuQuestion mfu;  ///< model, batch, GPUs and accelerator as far as they were said
};

class Intake {
 public:
    explicit Intake(Given given);
    void begin_file(std::string_view name);
    void feed(std::string_view piece);
    void end_file();
    /// All facts; call it once, after the last end_file().
    [[nodiscard]] Facts take();

 private:
    void keep_table_text(std::string_view piece);
    bool take_training();
    bool take_table();

    Given given_;
    Facts facts_;
    NcclLogReader nccl_;
    std::optional<training::LogReader> training_;
    std::string head_;  ///< of the file, for its kind
    std::string text_;  ///< of the file, for a table in it: its first megabytes
    std::uint32_t file_ = 0;
};

}  // namespace railhead::diagnose
