// One watcher an attempt: a file beside the records, locked for as long as somebody watches.
//
// The lock goes with its process, however that ends, so who finds it taken knows that another one
// lives.  The file says which folder is watched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "checkpoint/state_folder.hpp"

namespace railhead::checkpoint {

/// Who watches what.
struct Watcher {
    std::string cluster;  ///< may be empty
    std::uint32_t job = 0, restarts = 0;
    std::string folder;  ///< as the user named it
};

class WatchLock {
 public:
    /// Nothing where another watcher of this attempt has it.  Fails with `unavailable` where there
    /// can be no lock: the file system may know none.
    [[nodiscard]] static Result<std::optional<WatchLock>> take(const StateFolder& state,
                                                               const Watcher& watcher);

    WatchLock(WatchLock&& other) noexcept
        : fd_{std::move(other.fd_)}, path_{std::exchange(other.path_, {})} {}
    WatchLock& operator=(WatchLock&&) = delete;
    WatchLock(const WatchLock&) = delete;
    WatchLock& operator=(const WatchLock&) = delete;
    ~WatchLock();  ///< removes the file

 private:
    WatchLock(UniqueFd fd, std::string path) : fd_{std::move(fd)}, path_{std::move(path)} {}
    UniqueFd fd_;
    std::string path_;
};

/// Another job of this user, whose watcher lives, with the same folder.
[[nodiscard]] std::optional<std::uint32_t> other_job_in_folder(const StateFolder& state,
                                                               const Watcher& watcher);

}  // namespace railhead::checkpoint
