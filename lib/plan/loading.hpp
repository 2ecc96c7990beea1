// Reading samples while training: bandwidth, random reads, opened files, cores that decode.  Inside
// of the plan of storage.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "plan/storage.hpp"
#include "plan/storage_bases.hpp"

namespace railhead::plan {

/// What samples are read from, and by whom.
struct Source {
    const Store& store;
    std::uint64_t nodes = 1;
    std::optional<double> read_bytes_per_s;  ///< of the store
    double node_read_bytes_per_s = 0;
    std::optional<std::uint64_t> units;
    std::optional<double> opens_per_s;
};

/// Nothing where no samples are asked about.  Fails with `bad_input` where their number is given
/// without their size or the other way round, or a figure is not more than 0.
[[nodiscard]] Result<std::optional<Loading>> plan_loading(const DataQuestion& question,
                                                          const Source& source, Bases& bases);

}  // namespace railhead::plan
