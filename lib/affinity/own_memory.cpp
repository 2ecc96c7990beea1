#include "affinity/own_memory.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"

namespace railhead::affinity {

namespace {

// linux/mempolicy.h; the last came with Linux 5.15, and headers may be older than the kernel.
constexpr int mpol_preferred = 1;
constexpr int mpol_bind = 2;
constexpr int mpol_preferred_many = 5;

using Word = unsigned long;
constexpr unsigned bits_of_word = sizeof(Word) * CHAR_BIT;

int mode_of(const Memory& memory) {
    if (memory.policy == MemoryPolicy::bind) {
        return mpol_bind;
    }
    return memory.nodes.size() == 1 ? mpol_preferred : mpol_preferred_many;
}

}  // namespace

Result<MemoryNodes> parse_allowed_memory(std::string_view status) {
    constexpr std::string_view key = "Mems_allowed_list:";
    for (const auto line : split(status, '\n')) {
        if (line.starts_with(key)) {
            return parse_cpu_list(trim(line.substr(key.size())));
        }
    }
    return fail(Errc::bad_input, "the kernel does not tell the allowed memory nodes");
}

Result<MemoryNodes> read_allowed_memory() {
    constexpr unsigned long mems_allowed = 4;  // MPOL_F_MEMS_ALLOWED
    std::array<Word, 64> mask{};               // more nodes than any kernel is built for
    if (::syscall(SYS_get_mempolicy, nullptr, mask.data(), mask.size() * bits_of_word, nullptr,
                  mems_allowed) == 0) {
        return from_mask(mask);
    }
    // A container may keep the call from us.
    auto status = read_file("/proc/self/status");
    return status ? parse_allowed_memory(*status) : propagate(status);
}

Result<void> write_own_memory(const Memory& memory) {
    const auto mask = to_mask(memory.nodes);
    // The kernel reads one bit less than it is told.
    if (::syscall(SYS_set_mempolicy, mode_of(memory), mask.data(),
                  mask.size() * bits_of_word + 1) != 0) {
        return fail(Errc::unavailable,
                    fmt::format("the kernel refuses memory node {}: {}", to_string(memory.nodes),
                                std::generic_category().message(errno)));
    }
    return {};
}

}  // namespace railhead::affinity
