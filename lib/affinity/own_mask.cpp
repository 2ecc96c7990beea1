#include "affinity/own_mask.hpp"

#include <sched.h>

#include <cerrno>
#include <memory>
#include <new>
#include <system_error>

#include <fmt/format.h>

namespace railhead::affinity {

namespace {

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
    const Mask mask;
    if (::sched_getaffinity(0, mask.bytes, mask.set.get()) != 0) {
        return fail(Errc::unavailable, fmt::format("cannot read the task's CPU mask: {}",
                                                   std::generic_category().message(errno)));
    }
    CpuSet cpus;
    for (unsigned cpu = 0; cpu < Mask::cpus; ++cpu) {
        if (CPU_ISSET_S(cpu, mask.bytes, mask.set.get())) {
            cpus.add(cpu);
        }
    }
    return cpus;
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
