// Reads logs of NCCL_DEBUG, of NCCL 2.4 to 2.30, piece by piece.
//
// Prefixes of launchers and log collectors do not matter: a record is found by "NCCL INFO" or
// "NCCL WARN", and read back from there to "host:pid:tid [device]".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "diagnose/nccl_facts.hpp"

namespace railhead::diagnose {

class NcclBook;  // facts in the making
struct Mark;     // where a record begins
struct Record;   // and who says it

class NcclLogReader {
 public:
    NcclLogReader();
    NcclLogReader(NcclLogReader&&) noexcept;
    NcclLogReader& operator=(NcclLogReader&&) noexcept;
    NcclLogReader(const NcclLogReader&) = delete;
    NcclLogReader& operator=(const NcclLogReader&) = delete;
    ~NcclLogReader();

    /// What is fed from here on is from this file; its lines count from 1.
    void begin_file(std::uint32_t file);
    /// The next piece, of any size.
    void feed(std::string_view piece);
    /// Ends the file: what was fed last may be a line without an end.
    void end_file();
    /// The facts of all files; call it once, after the last end_file().
    [[nodiscard]] NcclLog take();

 private:
    std::string_view take_lines(std::string_view text);
    void take_line(std::string_view line);
    void take_line(std::string_view line, Record record);
    void take_record(const Mark& mark, std::uint32_t rank, std::string_view text,
                     std::string_view before);
    void take_loose_line(std::string_view line);
    void give_up_join();

    std::unique_ptr<NcclBook> book_;
    std::string rest_;       ///< the beginning of a line
    std::string torn_;       ///< a record that has no end yet
    std::string torn_lead_;  ///< what stands before it in its line
    std::uint32_t torn_rank_ = 0;
    std::uint64_t torn_line_ = 0;
};

/// One text, whole; `file` is its number in evidence.
[[nodiscard]] NcclLog read_nccl_log(std::string_view text, std::uint32_t file = 0);

}  // namespace railhead::diagnose
