#include "checkpoint/job_end.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "base/subprocess.hpp"
#include "base/text.hpp"

namespace railhead::checkpoint {

namespace {

std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
    for (const auto word : split_words(line)) {
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') {
            return word.substr(key.size() + 1);
        }
    }
    return std::nullopt;
}

/// Slurm gives a job without a limit a year from its start, or a second less.
bool is_unlimited(std::string_view line, std::int64_t end) {
    constexpr std::int64_t nearly_a_year_s = 364 * 86400;
    const auto start = parse_number<std::int64_t>(value_of(line, "StartTime").value_or(""));
    return value_of(line, "TimeLimit") == "UNLIMITED" && start && end - *start >= nearly_a_year_s;
}

}  // namespace

Result<EndTime> parse_job_end(std::string_view text, std::uint32_t id) {
    // The tasks of an array answer to the number of the first one, too.
    const auto number = fmt::format("{}", id);
    for (const auto line : split(text, '\n')) {
        if (value_of(line, "JobId") != number) {
            continue;
        }
        const auto value = value_of(line, "EndTime");
        if (value == "Unknown" || value == "NONE" || value == "None") {
            return EndTime{};
        }
        const auto seconds = parse_number<std::int64_t>(value.value_or(""));
        if (!seconds) {
            return fail(Errc::bad_input,
                        fmt::format("job {} has no EndTime that is a number: \"{}\"", id,
                                    printable(value.value_or(""))));
        }
        return is_unlimited(line, *seconds) ? EndTime{} : EndTime{seconds};
    }
    return fail(Errc::not_found, fmt::format("Slurm does not know job {}", id));
}

Result<EndTime> ask_job_end(const std::string& scontrol, std::uint32_t id,
                            std::chrono::milliseconds limit) {
    auto text = output_of({scontrol, "-o", "show", "job", fmt::format("{}", id)}, limit,
                          {"SLURM_TIME_FORMAT=%s"});
    if (!text) {
        return propagate(text);
    }
    return parse_job_end(*text, id);
}

std::string find_scontrol(const std::string& program) {
    const auto folder = program.substr(0, program.rfind('/') + 1);
    for (const auto* const place : {"scontrol", "../bin/scontrol"}) {
        auto path = folder + place;
        if (!folder.empty() && ::access(path.c_str(), X_OK) == 0) {
            return path;
        }
    }
    return "scontrol";
}

}  // namespace railhead::checkpoint
