// When a job ends, as Slurm knows it now: the time limit may be changed while it runs.
//
// Asked through scontrol, as the job's user: that is the same on every release, and whoever waits
// for the answer can stop waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace railhead::checkpoint {

/// Seconds since 1970; nothing: it may run for ever.
using EndTime = std::optional<std::int64_t>;

/// The end of the job `id` in what `scontrol -o show job` prints with SLURM_TIME_FORMAT=%s.
/// Fails with `not_found` where it is not among them, `bad_input` where its line has no end.
[[nodiscard]] Result<EndTime> parse_job_end(std::string_view text, std::uint32_t id);

/// Asks slurmctld.  Fails also as output_of() does.
[[nodiscard]] Result<EndTime> ask_job_end(const std::string& scontrol, std::uint32_t id,
                                          std::chrono::milliseconds limit);

/// The scontrol that belongs to a program of Slurm: beside it, or in the "bin" beside its folder.
/// "scontrol" where there is neither.
[[nodiscard]] std::string find_scontrol(const std::string& program);

}  // namespace railhead::checkpoint
