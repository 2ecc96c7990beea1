#include "gate_input.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ask_slurm.hpp"
#include "base/text.hpp"
#include "base/word_list.hpp"
#include "diagnose/kind.hpp"
#include "diagnose/slurm_reader.hpp"
#include "progress.hpp"
#include "slurm_files.hpp"
#include "text_stream.hpp"

namespace railhead::cli {

namespace {

/// A log of another program may have times in brackets too.
bool is_records(std::string_view head) {
    const auto kind = diagnose::kind_of_records(head);
    return !kind.empty() && (kind != "slurmctld log" ||
                             diagnose::guess_kind(head) == diagnose::FileKind::slurmctld_log);
}

/// Hands a file, piece by piece, to the reader of its kind.
class FileReader {
 public:
    FileReader(GateInput& input, diagnose::Intake& intake, Console& console)
        : input_{input}, intake_{intake}, console_{console} {}

    bool read(const std::string& path) {
        auto stream = TextStream::open(path);
        if (!stream) {
            console_.fail(stream.error());
            return false;
        }
        const auto name = path == "-" ? std::string{"standard input"} : path;
        Progress progress{console_, "railhead: reading " + printable(path)};
        const auto head = read_head(*stream);
        if (diagnose::SlurmSettings::is_known(head) && !is_records(head)) {
            auto text = head;
            feed(*stream, progress, [&](std::string_view piece) { text += piece; });
            input_.settings.emplace(text, name);
        } else if (is_records(head)) {
            diagnose::SlurmReader reader{input_.records, name};
            reader.feed(head);
            feed(*stream, progress, [&](std::string_view piece) { reader.feed(piece); });
            reader.finish();
            input_.has_records = true;
        } else {
            intake_.begin_file(name);
            intake_.feed(head);
            feed(*stream, progress, [&](std::string_view piece) { intake_.feed(piece); });
            intake_.end_file();
        }
        return true;
    }

 private:
    /// What tells the kind.
    std::string read_head(TextStream& stream) {
        std::string head;
        while (head.size() < diagnose::kind_head) {
            const auto piece = stream.read();
            if (!piece) {
                console_.warn(piece.error());
                break;
            }
            if (piece->empty()) {
                break;
            }
            head += *piece;
        }
        return head;
    }

    template <class Take>
    void feed(TextStream& stream, Progress& progress, Take take) {
        while (true) {
            const auto piece = stream.read();
            if (!piece) {
                console_.warn(piece.error());  // what was read until then counts
                return;
            }
            if (piece->empty()) {
                return;
            }
            take(*piece);
            if (stream.size() > 0) {
                progress.show(std::min(stream.done(), stream.size()), stream.size());
            }
        }
    }

    GateInput& input_;
    diagnose::Intake& intake_;
    Console& console_;
};

std::int64_t now_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

void warn(Console& console, std::string_view what, const Error& error) {
    console.warn({error.code, fmt::format("{}: {}", what, error.message), {}});
}

void ask_settings(GateInput& input, Console& console) {
    if (input.settings) {
        return;
    }
    if (const auto text = ask_slurm({"scontrol", "show", "config"}, Clock::utc)) {
        input.settings.emplace(*text, "scontrol show config");
    } else {
        warn(console, "slurmctld's settings are not known", text.error());
    }
}

/// Adds what sacct says of the jobs that `selection` names.
Result<void> add_attempts(const std::vector<std::string>& selection,
                          diagnose::SlurmRecords& records) {
    const auto text = ask_sacct(selection, Clock::utc);
    if (!text) {
        return tl::unexpected{text.error()};
    }
    read_slurm_text(*text, "sacct --duplicates", records);
    return {};
}

/// From the submission of the first to the end of the last; false where accounting knows none.
Result<bool> find_span(GateSpan& span) {
    diagnose::SlurmRecords records;
    const auto jobs = fmt::format("--jobs={}", fmt::join(span.jobs, ","));
    if (auto asked = add_attempts({jobs}, records); !asked) {
        return propagate(asked);
    }
    if (records.attempts.empty()) {
        return false;
    }
    std::int64_t first_s = now_s();
    std::int64_t last_s = 0;
    for (const auto& attempt : records.attempts) {
        first_s = std::min(
            {first_s, attempt.submit_s.value_or(first_s), attempt.start_s.value_or(first_s)});
        last_s = std::max(last_s, attempt.end_s.value_or(now_s()));
    }
    span.since_s = span.since_s.value_or(first_s);
    span.until_s = span.until_s.value_or(last_s);
    return true;
}

/// False where accounting does not know the jobs.
Result<bool> ask_records(GateInput& input, GateSpan& span) {
    if (!span.jobs.empty()) {
        if (auto found = find_span(span); !found || !*found) {
            return found;
        }
    }
    constexpr std::int64_t week_s = 7 * 86400;
    span.until_s = span.until_s.value_or(now_s());
    span.since_s = span.since_s.value_or(*span.until_s - week_s);
    const auto since = fmt::format("uts{}", *span.since_s);
    // sacct leaves out what starts in the second that ends the time: an attempt may do both in it.
    const auto until = fmt::format("uts{}", *span.until_s + 1);
    if (auto asked = add_attempts({"--allusers", "--starttime=" + since, "--endtime=" + until},
                                  input.records);
        !asked) {
        return propagate(asked);
    }
    for (const auto& [argv, name] :
         {std::pair{std::vector<std::string>{"sacctmgr", "--parsable2", "show", "event",
                                             "Start=" + since, "End=" + until},
                    "sacctmgr show event"},
          std::pair{std::vector<std::string>{"scontrol", "show", "node"}, "scontrol show node"}}) {
        const auto text = ask_slurm(argv, Clock::utc);
        if (!text) {
            return tl::unexpected{text.error()};
        }
        read_slurm_text(*text, name, input.records);
    }
    input.records_from = "sacct, sacctmgr, scontrol";
    return true;
}

}  // namespace

std::optional<GateInput> read_gate_files(const std::vector<std::string>& files,
                                         const diagnose::Given& given, Console& console) {
    GateInput input;
    diagnose::Intake intake{given};
    FileReader reader{input, intake, console};
    for (const auto& file : files) {
        if (!reader.read(file)) {
            return std::nullopt;
        }
    }
    input.facts = intake.take();
    for (const auto& file : input.facts.files) {
        if (!file.is_read) {
            console.warn({Errc::bad_input,
                          fmt::format("\"{}\" has nothing that the gate looks at",
                                      input.facts.sources.name(file.file)),
                          {}});
        }
    }
    auto records = read_slurm_files({}, console, std::move(input.records));
    if (!records) {
        console.fail(records.error());
        return std::nullopt;
    }
    input.records = std::move(*records);
    return input;
}

Result<void> ask_for_gate(GateInput& input, GateSpan& span, Console& console) {
    ask_settings(input, console);
    if (input.has_records) {
        return {};
    }
    const auto asked = ask_records(input, span);
    if (!asked) {
        warn(console, "accounting does not answer", asked.error());
        input.records = {};
    } else if (!*asked) {
        return fail(Errc::not_found,
                    fmt::format("accounting knows no job {}", fmt::join(span.jobs, ", ")));
    }
    constexpr std::string_view key = "PrivateData";
    const auto hidden = input.settings ? input.settings->find(key) : std::nullopt;
    if (hidden && has_word(hidden->value, "jobs") && ::geteuid() != 0) {
        input.hidden_jobs =
            fmt::format("jobs of others: PrivateData={} ({})", hidden->value, hidden->from);
    }
    return {};
}

}  // namespace railhead::cli
