// The CPU masks that Slurm writes: hexadecimal numbers, one bit a CPU.
#pragma once

#include <string_view>
#include <vector>

#include "base/cpu_set.hpp"

namespace railhead::affinity {

/// "0x3": CPUs 0 and 1; any length, "0x" may be absent.
/// Fails with `bad_input` on anything else and on CPUs at or above CpuSet::limit.
[[nodiscard]] Result<CpuSet> parse_cpu_mask(std::string_view text);

/// All CPUs of a list of masks, as in SLURM_CPU_BIND_LIST: "0x1,0x2" is {0, 1}.
/// Fails as parse_cpu_mask().
[[nodiscard]] Result<CpuSet> parse_cpu_masks(std::string_view list);

}  // namespace railhead::affinity
