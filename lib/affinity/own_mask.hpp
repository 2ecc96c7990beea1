// The CPU mask of this process, on machines of any size.
#pragma once

#include "base/cpu_set.hpp"
#include "base/error.hpp"

namespace railhead::affinity {

/// Fails with `unavailable` when the kernel does not tell.
[[nodiscard]] Result<CpuSet> read_own_mask();

/// Binds the process to `cpus`.
/// Fails with `unavailable` when none of them is in the cpuset of its cgroup, or does not exist.
[[nodiscard]] Result<void> write_own_mask(const CpuSet& cpus);

}  // namespace railhead::affinity
