// Reads the log of a training run as it comes: every format that log.hpp names, behind whatever
// launchers and loggers put before a line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "training/log.hpp"

namespace railhead::training {

struct LogLine;

/// Reads a log as it comes, in pieces cut anywhere.  Never fails: what it does not know it passes
/// over.  Memory is bounded.
class LogReader {
 public:
    explicit LogReader(std::string file);
    void feed(std::string_view piece);
    /// There is no more.  A last line without an end is read too.
    void finish();
    [[nodiscard]] const TrainingLog& log() const { return log_; }

 private:
    void read_line(std::string_view text);
    void read_segment(std::string_view text);
    void read_text(const LogLine& line);
    void read_piped(std::string_view text);
    void read_plain(std::string_view text);
    bool continue_wrapped(std::string_view text);
    void close_wrapped();
    void read_composer(std::string_view text);
    void read_mllog(std::string_view text);
    void read_profiler(std::string_view text);
    bool read_event(std::string_view text);
    bool read_fact(std::string_view text);
    bool read_argument(std::string_view text);
    void read_setting(std::string_view key, std::string_view value);
    void set_facts(std::string_view text,
                   std::span<const std::pair<std::string_view, Topic>> named);
    void see_start();

    void add_step(Step step, LogKind kind);
    void add_event(Event event);
    /// `line` 0: the one that is read.
    void set_fact(Topic topic, double value, std::string_view written, std::uint64_t line = 0);
    void close_composer();
    [[nodiscard]] bool is_repeated(const Step& step) const;
    Run& run_for(const Step& step, LogKind kind);
    Run& open_run();
    void note_time(double at_s);
    void count_step(Run& run, const Step& step);
    Run& current();

    TrainingLog log_;
    std::string carry_;    ///< of a line whose end has not come yet
    std::string plain_;    ///< a line without its escape sequences
    std::string wrapped_;  ///< a record whose rest may be on the next line
    std::uint64_t wrapped_line_ = 0;
    std::string wrapped_label_;
    std::optional<double> wrapped_at_s_;
    unsigned wrapped_pieces_ = 0;
    std::string label_;        ///< of the line that is read: which rank wrote it
    std::string steps_label_;  ///< of the rank whose steps are counted
    std::optional<double> line_at_s_;
    std::uint8_t marks_ = 0;  ///< since the last step
    std::optional<Step> composer_;
    std::optional<Step> profiler_;
    std::optional<double> block_start_s_, save_start_s_;
    std::optional<std::uint64_t> block_start_step_;
    std::optional<double> block_loss_;
};

}  // namespace railhead::training
