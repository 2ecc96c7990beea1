#include "base/pipe.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace railhead {

namespace {

/// Milliseconds until `deadline` as poll() takes them, never below 0: below 0 it waits for ever.
int left_ms(std::chrono::steady_clock::time_point deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, most));
}

}  // namespace

Result<std::string> read_to_end(int fd, std::chrono::steady_clock::time_point deadline,
                                std::size_t most) {
    std::string text;
    std::array<char, 16384> block{};
    for (;;) {
        const int left = left_ms(deadline);
        pollfd wait{fd, POLLIN, 0};
        const int ready = left > 0 ? ::poll(&wait, 1, left) : 0;
        if (ready == 0) {
            return fail(Errc::unavailable, "it did not end in time");
        }
        const auto got = ready > 0 ? ::read(fd, block.data(), block.size()) : -1;
        if (got == 0) {
            return text;
        }
        if (got > 0) {
            text.append(block.data(), static_cast<std::size_t>(got));
        } else if (errno != EINTR) {
            return fail(Errc::unavailable, fmt::format("cannot read: {}", std::strerror(errno)));
        }
        if (text.size() > most) {
            return fail(Errc::bad_input, fmt::format("it wrote more than {} bytes", most));
        }
    }
}

}  // namespace railhead
