// Turns files, read piece by piece, into facts.
//
// What a job prints is a mix: NCCL's lines, steps, tables of nccl-tests, tracebacks.  So each such
// file goes through the readers of all four; others through that of their kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "diagnose/facts.hpp"
#include "diagnose/nccl_log.hpp"
#include "training/achieved.hpp"
#include "training/catalogue.hpp"
#include "training/log_reader.hpp"

namespace railhead::diagnose {

/// What was said of the run beside the files.
struct Given {
    Hardware hardware;
    training::MfuQuestion mfu;  ///< model, batch, GPUs and accelerator as far as they were said
    /// To find GPUs and models in that files name; null: none is looked up.
    const training::Catalogue* catalogue = nullptr;
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
    void decide();
    void keep_table_text(std::string_view piece);
    bool take_training();
    bool take_table();
    void find_accelerator();
    void work_out_mfu(TrainingFacts& facts) const;

    Given given_;
    Facts facts_;
    NcclLogReader nccl_;
    std::optional<training::LogReader> training_;
    std::unique_ptr<Reader> machine_;  ///< of the file's kind; null: none
    std::string head_;                 ///< of the file, until its kind is told from it
    bool is_decided_ = false;
    FileKind kind_ = FileKind::unknown;
    std::string text_;  ///< of the file, for a table in it: its first megabytes
    std::uint32_t file_ = 0;
};

}  // namespace railhead::diagnose
