#include "base/trusted_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

namespace railhead {

namespace {

tl::unexpected<Error> fail_errno(Errc code, const char* what, const std::string& path, int error) {
    return fail(code,
                fmt::format("{} \"{}\": {}", what, path, std::generic_category().message(error)));
}

tl::unexpected<Error> cannot_open(const std::string& path, int error) {
    return fail_errno(error == ENOENT ? Errc::not_found : Errc::bad_input, "cannot open", path,
                      error);
}

}  // namespace

Result<TrustedFolder> TrustedFolder::open(const std::string& path, uid_t owner) {
    UniqueFd fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!fd) {
        return cannot_open(path, errno);
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) {
        return fail_errno(Errc::bad_input, "cannot look at", path, errno);
    }
    if (auto trusted = check_trusted(status, path, owner); !trusted) {
        return propagate(trusted);
    }
    return TrustedFolder{std::move(fd), path, owner};
}

Result<TrustedFolder> TrustedFolder::make(const std::string& path, uid_t owner) {
    constexpr mode_t mode = 0755;
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
        return fail_errno(Errc::unavailable, "cannot make the folder", path, errno);
    }
    return open(path, owner);
}

Result<std::string> TrustedFolder::read(const std::string& name, std::size_t limit) const {
    const auto path = path_ + "/" + name;
    constexpr int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const UniqueFd fd{::openat(fd_.get(), name.c_str(), flags)};
    if (!fd) {
        return cannot_open(path, errno);
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) {
        return fail_errno(Errc::bad_input, "cannot look at", path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(Errc::bad_input, fmt::format("\"{}\" is not a regular file", path));
    }
    if (auto trusted = check_trusted(status, path, owner_); !trusted) {
        return propagate(trusted);
    }
    return read_open_file(fd.get(), path, limit);
}

Result<void> TrustedFolder::write(const std::string& name, std::string_view text) const {
    const auto path = path_ + "/" + name;
    const auto other = fmt::format(".{}.{}", name, ::getpid());
    ::unlinkat(fd_.get(), other.c_str(), 0);  // of a process that was killed here
    constexpr mode_t mode = 0644;
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const UniqueFd fd{::openat(fd_.get(), other.c_str(), flags, mode)};
    if (!fd) {
        return fail_errno(Errc::unavailable, "cannot write", path, errno);
    }
    // What a umask took away is given back: nothing in here is secret.
    if (::fchmod(fd.get(), mode) != 0 || !write_all(fd.get(), text) ||
        ::renameat(fd_.get(), other.c_str(), fd_.get(), name.c_str()) != 0) {
        const int error = errno;
        ::unlinkat(fd_.get(), other.c_str(), 0);
        return fail_errno(Errc::unavailable, "cannot write", path, error);
    }
    return {};
}

}  // namespace railhead
