#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace railhead {

namespace {

tl::unexpected<Error> fail_errno(Errc code, const std::string& path, const char* what, int error) {
    return fail(code, fmt::format("{} \"{}\": {}", what, path, std::strerror(error)));
}

/// Opens without blocking on a pipe and without following /proc-style surprises: only what
/// fstat() calls a regular file is read.
Result<std::pair<UniqueFd, struct stat>> open_regular(const std::string& path) {
    UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!fd) {
        const int error = errno;
        const auto code = error == ENOENT || error == ENOTDIR ? Errc::not_found : Errc::bad_input;
        return fail_errno(code, path, "cannot open", error);
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) {
        return fail_errno(Errc::bad_input, path, "cannot look at", errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(Errc::bad_input, fmt::format("\"{}\" is not a regular file", path));
    }
    return std::pair{std::move(fd), status};
}

}  // namespace

UniqueFd::~UniqueFd() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

FileStamp stamp_of(const std::string& path) noexcept {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        return {};
    }
    const auto nanoseconds = [](const timespec& t) {
        return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
    };
    return {nanoseconds(status.st_mtim), nanoseconds(status.st_ctim),
            static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(status.st_ino)};
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
    auto opened = open_regular(path);
    if (!opened) {
        return propagate(opened);
    }
    return read_open_file(opened->first.get(), path, limit);
}

Result<std::string> read_trusted_file(const std::string& path, uid_t owner, std::size_t limit) {
    auto opened = open_regular(path);
    if (!opened) {
        return propagate(opened);
    }
    if (auto trusted = check_trusted(opened->second, path, owner); !trusted) {
        return propagate(trusted);
    }
    return read_open_file(opened->first.get(), path, limit);
}

Result<std::string> read_open_file(int fd, const std::string& path, std::size_t limit) {
    std::string text;
    constexpr std::size_t least = 4096;  // most files are a line of sysfs
    constexpr std::size_t most = std::size_t{64} << 10U;
    for (;;) {
        const auto old_size = text.size();
        const auto block = std::clamp(old_size, least, most);
        if (old_size > limit) {
            return fail(Errc::bad_input,
                        fmt::format("\"{}\" is larger than {} bytes", path, limit));
        }
        text.resize(old_size + block);
        const auto got = ::read(fd, text.data() + old_size, block);
        text.resize(old_size + (got > 0 ? static_cast<std::size_t>(got) : 0));
        if (got == 0) {
            return text;
        }
        if (got < 0 && errno != EINTR) {
            return fail_errno(Errc::bad_input, path, "cannot read", errno);
        }
    }
}

Result<void> check_trusted(const struct stat& status, const std::string& path, uid_t owner) {
    if (status.st_uid != 0 && status.st_uid != owner) {
        const auto whose = owner == 0 ? std::string{"root"} : fmt::format("root or uid {}", owner);
        return fail(Errc::bad_input, fmt::format("\"{}\" belongs to uid {}, not to {}", path,
                                                 status.st_uid, whose));
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" can be written by others (mode {:o}): chmod go-w it", path,
                                status.st_mode & 07777U));
    }
    return {};
}

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    return true;
}

}  // namespace railhead
