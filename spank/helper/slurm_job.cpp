#include "slurm_job.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "job/hostlist.hpp"

namespace railhead::helper {

namespace {

using namespace std::chrono_literals;

// This process has one thread, and its environment is its own.
// NOLINTBEGIN(concurrency-mt-unsafe)

std::string variable(const char* name) {
    return own_variable(name).value_or("");
}

/// Runs one of Slurm's commands, wherever it is installed.
Result<std::string> ask(std::vector<std::string> words, SlurmJob::Limit limit) {
    ::setenv("SLURM_TIME_FORMAT", "standard", 1);  // the user's may be one that cannot be read
    const auto command = words.front();
    for (const auto* const folder : {"", "/usr/bin/", "/usr/local/bin/", "/opt/slurm/bin/"}) {
        words.front() = folder + command;
        auto text = output_of(words, limit);
        if (text || text.error().code != Errc::not_found) {
            return text;
        }
    }
    return fail(Errc::not_found, fmt::format("\"{}\" is not there", command));
}

Result<void> tell(std::vector<std::string> words) {
    auto text = ask(std::move(words), 20s);
    if (!text) {
        return propagate(text);
    }
    return {};
}

/// The value of "key=" among the words of a line; empty where it has none.
std::string value_of(std::string_view line, std::string_view key) {
    for (const auto word : split_words(line)) {
        if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
            return std::string{word.substr(key.size() + 1)};
        }
    }
    return {};
}

/// "2026-11-30T17:13:55", of this time zone.
std::optional<double> parse_time(const std::string& text) {
    std::tm parts{};
    const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (end == nullptr || *end != '\0') {
        return std::nullopt;
    }
    parts.tm_isdst = -1;
    return static_cast<double>(std::mktime(&parts));
}

}  // namespace

JobState parse_job_state(const std::string& text) {
    JobState job;
    for (auto line : split(text, '\n')) {
        if (!line.starts_with("   ")) {
            continue;  // "JobId=7 JobName=…"
        }
        line = line.substr(3);
        constexpr std::string_view comment = "Comment=";
        if (line.starts_with("JobState=")) {
            job.state = value_of(line, "JobState");
            job.reason = value_of(line, "Reason");
        } else if (line.starts_with("Requeue=")) {
            job.exit_code = value_of(line, "ExitCode");
            job.can_requeue = value_of(line, "Requeue") != "0";
            job.restarts = parse_number<std::uint32_t>(value_of(line, "Restarts")).value_or(0);
        } else if (line.starts_with("SubmitTime=")) {
            job.submitted_s = parse_time(value_of(line, "SubmitTime"));
        } else if (line.starts_with("NodeList=")) {
            job.node_list = value_of(line, "NodeList");
        } else if (line.starts_with("BatchHost=")) {
            job.batch_host = value_of(line, "BatchHost");
        } else if (line.starts_with("DerivedExitCode=")) {
            job.worst_step = value_of(line, "DerivedExitCode");
        } else if (line.starts_with(comment)) {
            job.comment = trim(line.substr(comment.size()));
        }
    }
    return job;
}

bool has_lost_batch_host(const JobState& job) {
    return job.state == "COMPLETING" && !job.batch_host.empty() && !job.node_list.empty() &&
           job.node_list != "(null)" && !job::hostlist_has(job.node_list, job.batch_host);
}

std::optional<double> latest_boot_s(const std::string& text) {
    std::optional<double> latest;
    for (const auto line : split(text, '\n')) {
        if (!trim(line).starts_with("BootTime=")) {
            continue;  // a node's reason and comment are lines of their own
        }
        if (const auto at_s = parse_time(value_of(line, "BootTime"))) {
            latest = std::max(latest.value_or(*at_s), *at_s);
        }
    }
    return latest;
}

SlurmJob::SlurmJob(std::uint32_t job) : name_{fmt::format("{}", job)} {
    const auto array = variable("SLURM_ARRAY_JOB_ID");
    const auto task = variable("SLURM_ARRAY_TASK_ID");
    if (parse_number<std::uint32_t>(array) && parse_number<std::uint32_t>(task)) {
        name_ = array + "_" + task;
    }
}

Result<JobState> SlurmJob::look(Limit limit) const {
    auto text = ask({"scontrol", "show", "job", name_, "--details"}, limit);
    if (!text) {
        return propagate(text);
    }
    return parse_job_state(*text);
}

bool SlurmJob::has_dead_node(Limit limit) const {
    const auto nodes = variable("SLURM_JOB_NODELIST");
    if (nodes.empty()) {
        return false;
    }
    const auto text =
        ask({"sinfo", "--noheader", "--Node", "--nodes=" + nodes, "--format=%T"}, limit);
    // "down*", "drained*": a star is a node that does not answer.
    return text &&
           (text->find("down") != std::string::npos || text->find('*') != std::string::npos);
}

bool SlurmJob::has_rebooted_node(const std::string& nodes, double since_s, Limit limit) {
    if (nodes.empty()) {
        return false;
    }
    // A node tells how long it is up, in whole seconds.
    constexpr double slack_s = 5;
    const auto text = ask({"scontrol", "show", "node", nodes}, limit);
    const auto boot_s = text ? latest_boot_s(*text) : std::nullopt;
    return boot_s && *boot_s > since_s + slack_s;
}

bool SlurmJob::is_without_preemption(Limit limit) {
    const auto text = ask({"scontrol", "show", "config"}, limit);
    if (!text) {
        return false;
    }
    for (const auto line : split(*text, '\n')) {
        if (line.starts_with("PreemptType ")) {
            const auto value = trim(line.substr(line.find('=') + 1));
            return value == "preempt/none" || value == "(null)";
        }
    }
    return false;
}

std::optional<checkpoint::Cause> SlurmJob::ended_by(std::uint32_t restarts, Limit limit) const {
    const auto text = ask({"sacct", "--duplicates", "--allocations", "--noheader", "--parsable2",
                           "--jobs=" + name_, "--format=State"},
                          limit);
    const auto state = text ? checkpoint::sacct_state(*text, restarts) : std::nullopt;
    return state ? std::optional{checkpoint::cause_of_state(*state)} : std::nullopt;
}

Result<void> SlurmJob::hold() const {
    return tell({"scontrol", "hold", name_});
}

Result<void> SlurmJob::release() const {
    return tell({"scontrol", "release", name_});
}

Result<void> SlurmJob::set_comment(const std::string& comment) const {
    return tell({"scontrol", "update", "JobId=" + name_, "Comment=" + comment});
}

// NOLINTEND(concurrency-mt-unsafe)

}  // namespace railhead::helper
