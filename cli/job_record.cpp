#include "job_record.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::cli {

namespace {

/// The value of a key at the start of a word; empty for "(null)" and where the key is not.
std::string value_of(std::string_view line, std::string_view key) {
    for (const auto word : split_words(line)) {
        if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
            const auto value = word.substr(key.size() + 1);
            return value == "(null)" || value == "(none)" ? std::string{} : std::string{value};
        }
    }
    return {};
}

/// "JobId=13 HetJobId=12 HetJobOffset=1 JobName=…": the ids stand before the name, which is the
/// user's.
std::string name_of(std::string_view line) {
    const auto ids = line.substr(0, line.find(" JobName="));
    const auto array = value_of(ids, "ArrayJobId");
    const auto het = value_of(ids, "HetJobId");
    if (!array.empty()) {
        return fmt::format("{}_{}", array, value_of(ids, "ArrayTaskId"));
    }
    return het.empty() ? value_of(ids, "JobId")
                       : fmt::format("{}+{}", het, value_of(ids, "HetJobOffset"));
}

/// Reads a line by its first key: those below are Slurm's own lines, with no user's text in front.
void add_line(std::string_view line, JobRecord& record) {
    const auto set = [&](std::string& field, std::string_view key) {
        if (auto value = value_of(line, key); !value.empty()) {
            field = std::move(value);
        }
    };
    if (line.starts_with("JobState=")) {
        set(record.state, "JobState");
    } else if (line.starts_with("Partition=")) {
        set(record.partition, "Partition");
    } else if (line.starts_with("NodeList=")) {
        set(record.node_list, "NodeList");
    } else if (line.starts_with("ReqNodeList=")) {
        set(record.excluded, "ExcNodeList");
    } else if (line.starts_with("Features=")) {
        set(record.features, "Features");
    }
}

}  // namespace

Result<std::vector<JobRecord>> parse_job_records(std::string_view text) {
    std::vector<JobRecord> records;
    for (const auto line : split(text, '\n')) {
        if (line.starts_with("JobId=")) {
            records.emplace_back().name = name_of(line);
        } else if (!records.empty() && line.starts_with("   ")) {
            add_line(line.substr(3), records.back());
        }
    }
    if (records.empty()) {
        return fail(Errc::bad_input, "scontrol printed no job");
    }
    return records;
}

bool is_job_name(std::string_view job) {
    constexpr std::string_view more = "_+[]-,";
    return !job.empty() && std::isdigit(static_cast<unsigned char>(job.front())) != 0 &&
           std::ranges::all_of(job, [more](unsigned char c) {
               return std::isdigit(c) != 0 ||
                      more.find(static_cast<char>(c)) != std::string_view::npos;
           });
}

}  // namespace railhead::cli
