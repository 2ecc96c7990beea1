// Reading files whole, with the limits that code running as root needs.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace railhead {

/// An open file descriptor that closes itself.
class UniqueFd {
   public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) noexcept : fd_{fd} {}
    UniqueFd(UniqueFd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd();

    [[nodiscard]] int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }

   private:
    int fd_ = -1;
};

/// What tells one version of a file from another, cheaply.  All zero: there is no such file.
struct FileStamp {
    std::int64_t mtime_ns = 0;
    std::int64_t ctime_ns = 0;
    std::uint64_t size = 0;
    std::uint64_t inode = 0;
    bool operator==(const FileStamp&) const = default;
};
[[nodiscard]] FileStamp stamp_of(const std::string& path) noexcept;

constexpr std::size_t default_file_limit = std::size_t{64} << 20U;  // 64 MiB

/// The whole of a regular file.
///
/// Fails with `not_found` when there is none, `bad_input` when it is not a regular file, cannot
/// be read or is larger than `limit` bytes.  A pipe or device never blocks it.
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            std::size_t limit = default_file_limit);

/// As read_file(), for a file that root acts on: it must belong to root or to `owner`, and only
/// its owner may write it; else `bad_input`.  The check is made on the opened file, so it cannot
/// be swapped in between.
[[nodiscard]] Result<std::string> read_trusted_file(const std::string& path, uid_t owner,
                                                    std::size_t limit = default_file_limit);

/// The rest of an open file that errors call `path`; `bad_input` as read_file().
[[nodiscard]] Result<std::string> read_open_file(int fd, const std::string& path,
                                                 std::size_t limit);

/// Whether root may act on what has this `status`: see read_trusted_file().
[[nodiscard]] Result<void> check_trusted(const struct stat& status, const std::string& path,
                                         uid_t owner);

/// Writes all of `text`; false, with errno, when that fails.
[[nodiscard]] bool write_all(int fd, std::string_view text);

}  // namespace railhead
