#include "checkpoint/state_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::checkpoint {

namespace {

constexpr const char* history_name = "history.json";
constexpr mode_t own = 0700;

std::string record_name(std::uint32_t job) {
    return fmt::format("{}.json", job);
}

tl::unexpected<Error> fail_errno(const char* what, const std::string& path, int error) {
    return fail(Errc::unavailable, fmt::format("{} \"{}\": {}", what, printable(path),
                                               std::generic_category().message(error)));
}

/// Makes a folder and those above it; what is there stays as it is.
Result<void> make_folders(const std::string& path) {
    for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
        const auto part = path.substr(0, at);
        if (::mkdir(part.c_str(), own) != 0 && errno != EEXIST) {
            return fail_errno("cannot make the folder", part, errno);
        }
        if (at == std::string::npos) {
            return {};
        }
    }
}

/// Renames a file to a name that is free; gives it.
Result<std::string> put_aside(const std::string& folder, const std::string& name) {
    const auto old_path = folder + "/" + name;
    const auto stem =
        fmt::format("{}.broken-{}", old_path, static_cast<long long>(std::time(nullptr)));
    constexpr int tries = 100;
    for (int i = 0; i < tries; ++i) {
        const auto path = i == 0 ? stem : fmt::format("{}-{}", stem, i);
        if (::renameat2(AT_FDCWD, old_path.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) ==
            0) {
            return path;
        }
        struct stat status {};
        if (errno == EINVAL && ::lstat(path.c_str(), &status) != 0 &&  // NFS knows no such rename
            ::rename(old_path.c_str(), path.c_str()) == 0) {
            return path;
        }
        if (errno != EEXIST) {
            return fail_errno("cannot put aside", old_path, errno);
        }
    }
    return fail(Errc::unavailable, fmt::format("cannot put aside \"{}\"", printable(old_path)));
}

}  // namespace

Result<std::string> state_path(const LookUp& environment) {
    const auto absolute = [&](std::string_view variable) -> std::optional<std::string> {
        auto value = environment(variable);
        return value && value->starts_with('/') ? value : std::nullopt;
    };
    if (const auto state = absolute("XDG_STATE_HOME")) {
        return *state + "/railhead";
    }
    if (const auto home = absolute("HOME")) {
        return *home + "/.local/state/railhead";
    }
    return fail(Errc::not_found, "HOME is not set: there is no place for records of checkpoints");
}

Result<StateFolder> StateFolder::open(const std::string& path, uid_t owner) {
    auto top = TrustedFolder::open(path, owner);
    if (!top) {
        return propagate(top);
    }
    return StateFolder{std::move(*top), path, owner};
}

Result<StateFolder> StateFolder::make(const std::string& path, uid_t owner) {
    if (auto made = make_folders(path + "/jobs"); !made) {
        return propagate(made);
    }
    return open(path, owner);
}

Result<TrustedFolder> StateFolder::jobs() const {
    return TrustedFolder::open(path_ + "/jobs", owner_);
}

Result<Record> StateFolder::read_record(std::uint32_t job) const {
    const auto folder = jobs();
    if (!folder) {
        return tl::unexpected{folder.error()};
    }
    const auto text = folder->read(record_name(job), most_bytes);
    if (!text) {
        return tl::unexpected{text.error()};
    }
    auto record = parse_record(*text);
    if (!record) {
        record.error().message = fmt::format("\"{}/jobs/{}\": {}", printable(path_),
                                             record_name(job), record.error().message);
    }
    return record;
}

Result<void> StateFolder::write_record(const Record& record) const {
    const auto folder = jobs();
    if (!folder) {
        return tl::unexpected{folder.error()};
    }
    return folder->write(record_name(record.job), to_json(record));
}

Result<std::string> StateFolder::put_record_aside(std::uint32_t job) const {
    return put_aside(path_ + "/jobs", record_name(job));
}

Result<History> StateFolder::read_history() const {
    const auto text = top_.read(history_name, most_bytes);
    if (!text) {
        return tl::unexpected{text.error()};
    }
    auto history = History::parse(*text);
    if (!history) {
        history.error().message =
            fmt::format("\"{}/{}\": {}", printable(path_), history_name, history.error().message);
    }
    return history;
}

Result<UniqueFd> StateFolder::lock(std::chrono::milliseconds limit) const {
    const auto path = path_ + "/lock";
    constexpr mode_t mode = 0600;
    UniqueFd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode)};
    if (!fd) {
        return fail_errno("cannot open", path, errno);
    }
    const auto end = std::chrono::steady_clock::now() + limit;
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() > end) {
            return fail_errno("cannot lock", path, errno);
        }
        constexpr useconds_t pause = 20'000;
        ::usleep(pause);
    }
    return fd;
}

Result<void> StateFolder::add_cost(const std::string& name, const Costs::One& cost,
                                   std::string& told) const {
    constexpr std::chrono::milliseconds patience{300};
    const auto locked = lock(patience);
    if (!locked) {
        return tl::unexpected{locked.error()};
    }
    auto history = read_history();
    if (!history && history.error().code != Errc::not_found) {
        const auto aside = put_aside(path_, history_name);
        if (!aside) {
            return tl::unexpected{aside.error()};
        }
        told = fmt::format("{}: put aside as \"{}\", a new history begins", history.error().message,
                           printable(*aside));
    }
    auto changed = history ? std::move(*history) : History{};
    changed.put(name, cost);
    return top_.write(history_name, changed.json());
}

Result<std::optional<double>> cost_of(std::string_view job_name, const LookUp& environment) {
    const auto path = state_path(environment);
    if (!path) {
        return tl::unexpected{path.error()};
    }
    const auto folder = StateFolder::open(*path, ::geteuid());
    const auto history =
        folder ? folder->read_history() : Result<History>{tl::unexpected{folder.error()}};
    if (!history) {
        if (history.error().code == Errc::not_found) {
            return std::optional<double>{};
        }
        return tl::unexpected{history.error()};
    }
    return history->cost_s(job_name);
}

}  // namespace railhead::checkpoint
