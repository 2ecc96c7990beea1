#include "changes.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace railhead::helper {

namespace {

/// Folders below that are followed: checkpoints that are being written are few.
constexpr std::size_t most_below = 16;

int add(int inotify, int folder) {
    // By descriptor: a path could lead elsewhere by now.
    constexpr std::uint32_t events = IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR;
    return ::inotify_add_watch(inotify, fmt::format("/proc/self/fd/{}", folder).c_str(), events);
}

}  // namespace

bool Changes::follow(const checkpoint::Folder& folder, const checkpoint::Scan& scan) {
    heard_ = false;
    if (folder.is_remote()) {
        return false;
    }
    if (!inotify_) {
        inotify_ = UniqueFd{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    }
    std::vector<int> now{add(inotify_.get(), folder.fd())};
    heard_ = now.front() >= 0;
    for (const auto& found : scan.found) {
        if (found.verdict == checkpoint::Verdict::complete || now.size() > most_below) {
            continue;
        }
        if (const auto inside = folder.below(found.name)) {
            now.push_back(add(inotify_.get(), inside->fd()));
        }
    }
    std::ranges::sort(now);
    const bool is_more = !std::ranges::includes(watches_, now);
    for (const int old : watches_) {
        if (!std::ranges::binary_search(now, old)) {
            ::inotify_rm_watch(inotify_.get(), old);
        }
    }
    watches_ = std::move(now);
    return heard_ && is_more;
}

void Changes::drain() const {
    alignas(inotify_event) std::array<char, 4096> events{};
    while (::read(inotify_.get(), events.data(), events.size()) > 0) {
    }
}

}  // namespace railhead::helper
