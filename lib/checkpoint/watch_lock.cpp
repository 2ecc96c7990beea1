#include "checkpoint/watch_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/folder.hpp"

namespace railhead::checkpoint {

namespace {

constexpr std::string_view suffix = ".lock";

/// Apart from the records, which are many.
std::string folder_of_locks(const StateFolder& state) {
    return state.path() + "/watching";
}

/// Of the attempt, since that of one whose node died may be held for a while by a file server.
std::string lock_name(const Watcher& watcher) {
    auto cluster = watcher.cluster;
    std::erase_if(cluster, [](char c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return !is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '_';
    });
    return fmt::format("{}{}{}-{}{}", cluster, cluster.empty() ? "" : ".", watcher.job,
                       watcher.restarts, suffix);
}

/// The folder by a path that is the same for all who name it.
std::string whole_path(const std::string& folder) {
    std::error_code error;
    const auto whole = std::filesystem::weakly_canonical(folder, error);
    return error ? folder : whole.string();
}

tl::unexpected<Error> fail_errno(const char* what, const std::string& path, int error) {
    return fail(Errc::unavailable, fmt::format("{} \"{}\": {}", what, printable(path),
                                               std::generic_category().message(error)));
}

/// Whether the file is still the one of this name: who had the lock before removes it.
bool is_still_there(int fd, const std::string& path) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// What a lock file says, when somebody holds it.
std::optional<std::string> held_text(const std::string& path) {
    UniqueFd fd{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
    if (!fd || ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
        return std::nullopt;
    }
    auto text = read_open_file(fd.get(), path, StateFolder::most_bytes);
    return text ? std::optional{std::move(*text)} : std::nullopt;
}

}  // namespace

Result<std::optional<WatchLock>> WatchLock::take(const StateFolder& state, const Watcher& watcher) {
    const auto folder = folder_of_locks(state);
    constexpr mode_t own = 0700;
    if (::mkdir(folder.c_str(), own) != 0 && errno != EEXIST) {
        return fail_errno("cannot make the folder", folder, errno);
    }
    const auto path = folder + "/" + lock_name(watcher);
    // Who looks whether it is held holds it for a moment, and one that ends removes it.
    constexpr int tries = 5;
    constexpr useconds_t pause = 20'000;
    for (int i = 0; i < tries; ++i) {
        constexpr mode_t mode = 0600;
        UniqueFd fd{
            ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode)};
        if (!fd) {
            return fail_errno("cannot open", path, errno);
        }
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK && errno != EINTR) {
                return fail_errno("cannot lock", path, errno);
            }
        } else if (is_still_there(fd.get(), path)) {
            const auto text = fmt::format("{}\n{}", watcher.job, whole_path(watcher.folder));
            if (::ftruncate(fd.get(), 0) != 0 || !write_all(fd.get(), text)) {
                return fail_errno("cannot write", path, errno);
            }
            return std::optional{WatchLock{std::move(fd), path}};
        }
        ::usleep(pause);
    }
    return std::optional<WatchLock>{};
}

WatchLock::~WatchLock() {
    if (!path_.empty()) {
        ::unlink(path_.c_str());
    }
}

std::optional<std::uint32_t> other_job_in_folder(const StateFolder& state, const Watcher& watcher) {
    constexpr std::size_t most_files = 10'000;
    const auto path = folder_of_locks(state);
    const auto locks = Folder::open(path);
    if (!locks) {
        return std::nullopt;
    }
    const auto folder = whole_path(watcher.folder);
    const auto own = lock_name(watcher);
    for (const auto& entry : locks->list(most_files).entries) {
        const auto& name = entry.name;
        if (!name.ends_with(suffix) || name == own) {
            continue;
        }
        const auto text = held_text(path + "/" + name).value_or("");
        const auto job = parse_number<std::uint32_t>(text.substr(0, text.find('\n')));
        if (job && text == fmt::format("{}\n{}", *job, folder) && *job != watcher.job) {
            return job;
        }
    }
    return std::nullopt;
}

}  // namespace railhead::checkpoint
