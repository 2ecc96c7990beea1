#include "slurm_files.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "diagnose/slurm_reader.hpp"
#include "job/hostlist.hpp"
#include "policy/lemons.hpp"
#include "progress.hpp"
#include "text_stream.hpp"

namespace railhead::cli {

namespace {

/// Whether the file is of a kind that is known.
Result<bool> read_one(const std::string& path, diagnose::SlurmRecords& records, Console& console) {
    auto stream = TextStream::open(path);
    if (!stream) {
        return propagate(stream);
    }
    diagnose::SlurmReader reader{records, path};
    Progress progress{console, "railhead: reading " + printable(path)};
    while (true) {
        const auto piece = stream->read();
        if (!piece) {
            console.warn(piece.error());  // what was read until then counts
            break;
        }
        if (piece->empty()) {
            break;
        }
        reader.feed(*piece);
        if (stream->size() > 0) {
            progress.show(std::min(stream->done(), stream->size()), stream->size());
        }
    }
    reader.finish();
    if (reader.kind().empty()) {
        console.warn({Errc::bad_input,
                      fmt::format("\"{}\" is not read: it is none of sacct --parsable2 or --json, "
                                  "sacctmgr show event --parsable2, scontrol show job or node, "
                                  "slurmctld's log",
                                  printable(path)),
                      {}});
    }
    return !reader.kind().empty();
}

Result<std::optional<std::int64_t>> read_time(std::string_view option,
                                              const std::optional<std::string>& text) {
    if (!text) {
        return std::optional<std::int64_t>{};
    }
    const auto seconds = policy::parse_until(*text);
    if (!seconds || *seconds == policy::Lemon::never) {
        return fail(Errc::bad_input, fmt::format("{} \"{}\": expected a time such as 2026-12-01 or "
                                                 "2026-12-01T12:00",
                                                 option, printable(*text)));
    }
    return std::optional{*seconds};
}

}  // namespace

Result<diagnose::SlurmRecords> read_slurm_files(const std::vector<std::string>& files,
                                                Console& console, diagnose::SlurmRecords records) {
    bool is_any_known = files.empty();
    for (const auto& file : files) {
        const auto known = read_one(file, records, console);
        if (!known) {
            return tl::unexpected{known.error()};
        }
        is_any_known = is_any_known || *known;
    }
    if (!is_any_known) {
        return fail(Errc::bad_input, "none of these files has records of Slurm");
    }
    if (records.first_unread) {
        const auto& first = *records.first_unread;
        console.warn({Errc::bad_input,
                      fmt::format("{} not read: cut, or not as the heading says",
                                  count_of(records.unread, "record")),
                      {records.sources.name(first.file), static_cast<unsigned>(first.line), 1}});
    }
    if (records.has_local_times && records.has_utc_times) {
        console.warn({Errc::bad_input,
                      "some times have a zone and others have none: those are taken as UTC; print "
                      "all with SLURM_TIME_FORMAT=%s",
                      {}});
    }
    diagnose::merge_repeated(records);
    if (records.repeated > 0) {
        console.warn({Errc::bad_input,
                      fmt::format("{} of these files tell what others told before: counted once",
                                  count_of(records.repeated, "record")),
                      {}});
    }
    diagnose::add_failed_nodes(records);
    diagnose::add_logged_events(records);
    return records;
}

void read_slurm_text(const std::string& text, const std::string& name,
                     diagnose::SlurmRecords& records) {
    diagnose::SlurmReader reader{records, name};
    reader.feed(text);
    reader.finish();
}

void add_count_options(CLI::App& command, CountOptions& options) {
    const std::string group = "What counts";
    command
        .add_option("--definition", options.definition,
                    "Of a failure: rsc, node-fail or node-down (default: rsc)")
        ->group(group);
    command
        .add_option("--min-gpus", options.min_gpus,
                    "Leave smaller jobs out (default: none; RSC counts from 129 on)")
        ->check(CLI::Range{std::uint64_t{0}, std::uint64_t{100'000'000}})
        ->group(group);
    command.add_option("--nodes", options.nodes, "Only these: n[001-512]")->group(group);
    command.add_option("--since", options.since, "Only from this time on: 2026-12-01")
        ->group(group);
    command.add_option("--until", options.until, "Only until this time")->group(group);
}

Result<diagnose::CountQuestion> read_count_options(const CountOptions& options) {
    diagnose::CountQuestion question;
    std::vector<std::string_view> names;
    bool is_known = false;
    for (const auto& one : diagnose::definitions()) {
        names.push_back(one.name);
        if (equals_ignoring_case(one.name, options.definition)) {
            question.definition = one.definition;
            is_known = true;
        }
    }
    if (!is_known) {
        return fail(Errc::bad_input,
                    fmt::format("--definition \"{}\" is none of {}", printable(options.definition),
                                fmt::join(names, ", ")));
    }
    auto since = read_time("--since", options.since);
    auto until = read_time("--until", options.until);
    for (const auto* time : {&since, &until}) {
        if (!*time) {
            return tl::unexpected{time->error()};
        }
    }
    question.since_s = *since;
    question.until_s = *until;
    question.min_gpus = options.min_gpus;
    if (!options.nodes.empty()) {
        auto nodes = job::expand_hostlist(options.nodes);
        if (!nodes) {
            return fail(Errc::bad_input, "--nodes: " + nodes.error().message);
        }
        question.nodes = std::move(*nodes);
    }
    return question;
}

}  // namespace railhead::cli
