// Output of nccl-tests: what a collective was measured to take, by size.
//
// As people keep it: with srun's and mpirun's prefixes, colours, lines of NCCL between, columns of
// any release since NCCL 2, rows left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::fabric {

struct MeasuredRow {
    double bytes = 0;
    double time_us = 0;  ///< out of place
    double busbw_gb_per_s = 0;
    std::optional<double> in_place_us, in_place_busbw_gb_per_s;  ///< absent where it is cut off
    std::uint64_t wrong = 0;  ///< values that were not right; 0 where that was not looked at
};

struct NcclTests {
    std::vector<MeasuredRow> rows;  ///< in the order of the file; none of size 0
    std::optional<double> average_busbw_gb_per_s;
    std::uint64_t ranks = 0;  ///< listed in the header; 0: none is
    std::uint64_t hosts = 0;
    std::string device;         ///< of rank 0: "NVIDIA B200"
    std::string nccl_version;   ///< "2.26.6+cuda12.8"
    bool is_shortened = false;  ///< rows were replaced by "..."

    [[nodiscard]] const MeasuredRow* largest() const;
    [[nodiscard]] std::uint64_t wrong() const;
};

/// Fails with `bad_input` where there is neither a row nor an average, or where it is the format
/// of NCCL 1 (time in ms, no count); errors name the text `name`.
[[nodiscard]] Result<NcclTests> parse_nccl_tests(std::string_view text, const std::string& name);

}  // namespace railhead::fabric
