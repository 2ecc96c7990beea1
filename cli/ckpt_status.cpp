#include "ckpt_status.hpp"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "as_user.hpp"
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
    Account account;
    std::string path;
};

Result<Place> find_place(const std::string& user) {
    if (user.empty()) {
        auto path = checkpoint::state_path(&own_variable);
        if (!path) {
            return propagate(path);
        }
        return Place{{::geteuid(), ::getegid(), {}, {}}, std::move(*path)};
    }
    auto account = find_account(user);
    if (!account) {
        return propagate(account);
    }
    if (::geteuid() != 0 && ::geteuid() != account->uid) {
        return fail(Errc::bad_input, "only root may look at the records of another user");
    }
    auto path = account->home + "/.local/state/railhead";
    return Place{std::move(*account), std::move(path)};
}

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
    const AsUser user{place->account};
    if (!user) {
        return fail(Errc::unavailable,
                    fmt::format("cannot become \"{}\"", printable(options.user)));
    }
    const auto folder = checkpoint::StateFolder::open(place->path, place->account.uid);
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
