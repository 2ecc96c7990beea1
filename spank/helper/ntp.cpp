#include "ntp.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/file.hpp"

namespace railhead::helper {

namespace {

bool is_synchronised() {
    timex state{};
    return ::adjtimex(&state) != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

/// Whether the file names another job, or none: it now names this one.  Where the file is not the
/// user's own every time is the first.
bool is_first_time(const std::string& path, std::uint32_t job) {
    const UniqueFd file{
        ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != ::geteuid()) {
        return true;
    }
    const auto name = fmt::format("{}\n", job);
    std::array<char, 16> before{};
    const auto got = ::pread(file.get(), before.data(), before.size(), 0);
    if (got > 0 && std::string_view(before.data(), static_cast<std::size_t>(got)) == name) {
        return false;
    }
    static_cast<void>(::ftruncate(file.get(), 0) == 0 &&
                      ::pwrite(file.get(), name.data(), name.size(), 0) > 0);
    return true;
}

}  // namespace

std::optional<std::string> clock_warning(std::uint32_t job, const std::string& node,
                                         const std::string& folder) {
    if (is_synchronised() ||
        !is_first_time(fmt::format("{}/railhead-ckpt-{}.{}.ntp", folder, ::geteuid(), node), job)) {
        return std::nullopt;
    }
    return fmt::format(
        "the clock of {} is not synchronised (NTP): it may call for checkpoints at another time "
        "than other nodes",
        node);
}

}  // namespace railhead::helper
