#include "ckpt_status.hpp"

#include <pwd.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "checkpoint/state_folder.hpp"
#include "report/checkpoint_status.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::string job, user;
    bool json = false;
};

/// Whose records are looked at, and where they are.
struct Place {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string path;
};

// NOLINTBEGIN(concurrency-mt-unsafe): the command has one thread

Result<Place> find_place(const std::string& user) {
    if (user.empty()) {
        auto path = checkpoint::state_path(&own_variable);
        if (!path) {
            return propagate(path);
        }
        return Place{::geteuid(), ::getegid(), std::move(*path)};
    }
    const auto* account = ::getpwnam(user.c_str());
    if (account == nullptr) {
        return fail(Errc::not_found, fmt::format("there is no user \"{}\"", printable(user)));
    }
    if (::geteuid() != 0 && ::geteuid() != account->pw_uid) {
        return fail(Errc::bad_input, "only root may look at the records of another user");
    }
    return Place{account->pw_uid, account->pw_gid,
                 std::string{static_cast<const char*>(account->pw_dir)} + "/.local/state/railhead"};
}

// NOLINTEND(concurrency-mt-unsafe)

/// Looks with the rights of the user for as long as it lives: root may read what the user cannot,
/// and may not enter what the user can.
class AsUser {
 public:
    explicit AsUser(const Place& place) : uid_{::geteuid()}, gid_{::getegid()} {
        is_ = (place.gid == gid_ || ::setegid(place.gid) == 0) &&
              (place.uid == uid_ || ::seteuid(place.uid) == 0);
    }
    AsUser(const AsUser&) = delete;
    AsUser& operator=(const AsUser&) = delete;
    ~AsUser() {
        if (::seteuid(uid_) != 0 || ::setegid(gid_) != 0) {
            std::abort();  // root again is what this process may be
        }
    }
    explicit operator bool() const { return is_; }

 private:
    uid_t uid_;
    gid_t gid_;
    bool is_ = false;
};

Result<checkpoint::Record> read_record(const Options& options) {
    const auto job = parse_number<std::uint32_t>(options.job);
    if (!job || *job == 0) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is no job's number; squeue --format=%A tells it of a task "
                                "of an array",
                                printable(options.job)));
    }
    auto place = find_place(options.user);
    if (!place) {
        return propagate(place);
    }
    const AsUser user{*place};
    if (!user) {
        return fail(Errc::unavailable,
                    fmt::format("cannot become \"{}\"", printable(options.user)));
    }
    const auto folder = checkpoint::StateFolder::open(place->path, place->uid);
    auto record = folder ? folder->read_record(*job)
                         : Result<checkpoint::Record>{tl::unexpected{folder.error()}};
    if (!record && record.error().code == Errc::not_found) {
        return fail(Errc::not_found,
                    fmt::format("no record of job {} in \"{}\": only jobs with --ckpt-dir have one",
                                *job, printable(place->path)));
    }
    return record;
}

void run(const Options& options, Console& console) {
    const auto record = read_record(options);
    if (!record) {
        return console.fail(record.error());
    }
    const auto now_s =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    console.out << (options.json ? report::checkpoint_status_json(*record, now_s)
                                 : report::checkpoint_status_text(*record, now_s));
}

}  // namespace

void add_ckpt_status(CLI::App& ckpt, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command =
        ckpt.add_subcommand("status", "The checkpoints that a job with --ckpt-dir has written");
    command->add_option("job", options->job, "The job's number")->required();
    command->add_option("--user", options->user, "Whose job it is, for root (default: one's own)");
    command->add_flag("--json", options->json, "Write JSON, schema railhead.ckpt-status/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
