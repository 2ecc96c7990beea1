// Which kernels and which calls take the time?  "nsys stats --format csv": summaries of kernels, of
// CUDA calls, of copies, of NVTX ranges, one after another in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

enum class NsysTable : std::uint8_t { kernels, calls, copies, ranges, other };
[[nodiscard]] std::string_view name_of(NsysTable table);

struct NsysRow {
    NsysTable table = NsysTable::other;
    std::string name;
    double total_ns = 0;
    std::uint64_t count = 0;
    double share = 0;  ///< of its table's time
    Evidence evidence;
};

struct NsysStats {
    std::vector<NsysRow> rows;
    // Of the tables of kernels; nsys adds up lengths, so that kernels which overlap count twice.
    double nccl_ns = 0, compute_ns = 0;
    std::uint64_t left_out = 0;
};

class NsysStatsReader : public LineReader {
 public:
    static constexpr std::size_t most_rows = 16384;

    using LineReader::LineReader;
    [[nodiscard]] const NsysStats& stats() const { return stats_; }

 private:
    /// Where the columns are; of a table without one it is `none`.
    struct Columns {
        static constexpr std::size_t none = ~std::size_t{0};
        std::size_t share = none, total = none, count = none, name = none;
    };

    void read_line(std::string_view line) override;
    bool read_header(const std::vector<std::string>& cells);

    NsysStats stats_;
    Columns columns_;
    NsysTable table_ = NsysTable::other;
};

/// The cells of a line of CSV (RFC 4180); quotes are taken off, doubled ones are one.
[[nodiscard]] std::vector<std::string> csv_cells(std::string_view line);

}  // namespace railhead::diagnose
