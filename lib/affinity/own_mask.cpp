#include "affinity/own_mask.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <system_error>

#include <fmt/format.h>

namespace railhead::affinity {

namespace {

using Word = unsigned long;

/// The fixed cpu_set_t ends at 1,024 CPUs.
struct Mask {
    struct Free {
        void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
    };
    static constexpr std::size_t cpus = CpuSet::limit;
    std::unique_ptr<cpu_set_t, Free> set{CPU_ALLOC(cpus)};
    std::size_t bytes = CPU_ALLOC_SIZE(cpus);

    Mask() {
        if (set == nullptr) {
            throw std::bad_alloc{};
        }
        CPU_ZERO_S(bytes, set.get());
    }
};

}  // namespace

Result<CpuSet> read_own_mask() {
    // The call itself tells how much of the mask the kernel has; sched_getaffinity() does not, and
    // to look at all the CPUs that could be takes longer than all else that a task is served with.
    std::array<Word, CpuSet::limit / CHAR_BIT / sizeof(Word)> mask{};
    const auto bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof mask, mask.data());
    if (bytes < 0) {
        return fail(Errc::unavailable, fmt::format("cannot read the task's CPU mask: {}",
                                                   std::generic_category().message(errno)));
    }
    return from_mask(std::span{mask}.first(static_cast<std::size_t>(bytes) / sizeof(Word)));
}

Result<void> write_own_mask(const CpuSet& cpus) {
    const Mask mask;
    for (const auto cpu : cpus.cpus()) {
        CPU_SET_S(cpu, mask.bytes, mask.set.get());
    }
    if (::sched_setaffinity(0, mask.bytes, mask.set.get()) != 0) {
        return fail(Errc::unavailable, fmt::format("cannot bind to CPUs {}: {}", to_string(cpus),
                                                   std::generic_category().message(errno)));
    }
    return {};
}

}  // namespace railhead::affinity
