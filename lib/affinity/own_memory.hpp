// The memory policy of this process, which the kernel keeps over fork and exec.
#pragma once

#include <string>
#include <string_view>

#include "affinity/memory.hpp"
#include "base/error.hpp"

namespace railhead::affinity {

/// The nodes in Mems_allowed_list of a /proc/<pid>/status; `bad_input` where there is no such line.
[[nodiscard]] Result<MemoryNodes> parse_allowed_memory(std::string_view status);

/// The nodes that this process may take memory from.
/// Asks get_mempolicy(2), else /proc/self/status, which takes 50 microseconds.
/// Fails as read_file() and parse_allowed_memory(): a kernel without NUMA has no such line.
[[nodiscard]] Result<MemoryNodes> read_allowed_memory();

/// Has this process and what it starts take memory from `memory.nodes`, which is not empty.
///
/// Several preferred nodes need Linux 5.15.  Fails with `unavailable` when the kernel refuses,
/// which changes nothing.
[[nodiscard]] Result<void> write_own_memory(const Memory& memory);

}  // namespace railhead::affinity
