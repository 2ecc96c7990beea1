#include "affinity/own_mask.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <span>
#include <system_error>

#include <fmt/format.h>

namespace railhead::affinity {

// By the system calls: glibc's functions want a mask for all the CPUs that could be, 1,024 in a
// cpu_set_t, and to write and search 8 KiB took longer than all else that a task is served with.

Result<CpuSet> read_own_mask() {
    using Word = unsigned long;
    std::array<Word, CpuSet::limit / CHAR_BIT / sizeof(Word)> mask;  // the kernel writes what it has
    const auto bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof mask, mask.data());
    if (bytes < 0) {
        return fail(Errc::unavailable, fmt::format("cannot read the task's CPU mask: {}",
                                                   std::generic_category().message(errno)));
    }
    return from_mask(std::span{mask}.first(static_cast<std::size_t>(bytes) / sizeof(Word)));
}

Result<void> write_own_mask(const CpuSet& cpus) {
    const auto mask = to_mask(cpus);
    if (::syscall(SYS_sched_setaffinity, 0, mask.size() * sizeof mask[0], mask.data()) != 0) {
        return fail(Errc::unavailable, fmt::format("cannot bind to CPUs {}: {}", to_string(cpus),
                                                   std::generic_category().message(errno)));
    }
    return {};
}

}  // namespace railhead::affinity
