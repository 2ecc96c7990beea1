// Reads what Slurm prints of jobs and nodes, piece by piece, into SlurmRecords.
//
// sacct --parsable2 and --json, sacctmgr show event --parsable2, scontrol show job and show node,
// and slurmctld's log, of Slurm 22.05 to 26.05.  Which of them it is is told from its content.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "diagnose/slurm_records.hpp"

namespace railhead::diagnose {

/// Reads the lines of one file of a kind that is known.
class SlurmLines {
 public:
    SlurmLines(SlurmRecords& into, std::uint32_t file) : into_{into}, file_{file} {}
    SlurmLines(const SlurmLines&) = delete;
    SlurmLines& operator=(const SlurmLines&) = delete;
    virtual ~SlurmLines() = default;
    /// A line without its end; `number` is 1-based.
    virtual void read(std::string_view line, std::uint64_t number) = 0;
    virtual void finish() {}
    /// Whether read() takes pieces of any size, with their line ends, in place of lines; `number`
    /// is then that of the line in which a piece begins.
    [[nodiscard]] virtual bool reads_pieces() const { return false; }

 protected:
    /// A time of this file, noted as one with a zone or without.
    std::optional<std::int64_t> time_of(std::string_view text);
    void note_unread(std::uint64_t number);
    [[nodiscard]] Origin at(std::uint64_t number) const { return {file_, number}; }
    SlurmRecords& into() { return into_; }

 private:
    SlurmRecords& into_;
    std::uint32_t file_;
};

/// The readers; SlurmReader chooses.
[[nodiscard]] std::unique_ptr<SlurmLines> read_job_table(SlurmRecords& into, std::uint32_t file);
[[nodiscard]] std::unique_ptr<SlurmLines> read_event_table(SlurmRecords& into, std::uint32_t file);
[[nodiscard]] std::unique_ptr<SlurmLines> read_sacct_json(SlurmRecords& into, std::uint32_t file);
[[nodiscard]] std::unique_ptr<SlurmLines> read_job_records(SlurmRecords& into, std::uint32_t file);
[[nodiscard]] std::unique_ptr<SlurmLines> read_node_records(SlurmRecords& into, std::uint32_t file);
[[nodiscard]] std::unique_ptr<SlurmLines> read_slurmctld_log(SlurmRecords& into,
                                                             std::uint32_t file);

/// What a file that begins with `head` is taken for: "sacct --parsable2"; empty for none of them.
[[nodiscard]] std::string_view kind_of_records(std::string_view head);

class SlurmReader {
 public:
    /// `file` is its name, for what people are told.
    SlurmReader(SlurmRecords& into, std::string_view file);
    /// `file` is its number in Sources of the caller's.
    SlurmReader(SlurmRecords& into, std::uint32_t file) : into_{into}, file_{file} {}
    void feed(std::string_view piece);
    void finish();
    /// What it was taken for: "sacct --parsable2"; empty for what is none of them.
    [[nodiscard]] std::string_view kind() const { return kind_; }

 private:
    void choose();
    void read_lines(std::string_view text);

    SlurmRecords& into_;
    std::uint32_t file_;
    std::string_view kind_;
    bool is_chosen_ = false;
    std::unique_ptr<SlurmLines> lines_;
    std::string head_;  ///< until the kind is chosen
    std::string rest_;  ///< the begin of a line
    std::uint64_t number_ = 0;
};

}  // namespace railhead::diagnose
