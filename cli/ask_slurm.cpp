#include "ask_slurm.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/subprocess.hpp"
#include "policy/lemons.hpp"
#include "slurm_files.hpp"

namespace railhead::cli {

namespace {

/// A time that ask_slurm() told, as sacctmgr takes it.
std::string asked_time(std::int64_t at_s, Clock clock) {
    if (clock == Clock::utc) {
        return fmt::format("uts{}", at_s);
    }
    auto text = policy::until_text(at_s);
    text.pop_back();  // "Z": it is a time of this machine
    return text;
}

void keep(Asked& asked, std::string name, std::string text) {
    read_slurm_text(text, name, asked.records);
    asked.texts.push_back({std::move(name), std::move(text)});
}

}  // namespace

Result<std::string> ask_slurm(const std::vector<std::string>& argv, Clock clock) {
    constexpr std::chrono::seconds limit{60};
    const auto* const format =
        clock == Clock::utc ? "SLURM_TIME_FORMAT=%s" : "SLURM_TIME_FORMAT=standard";
    return output_of(argv, limit, {format});
}

std::string nodes_of(const diagnose::SlurmRecords& records) {
    std::string list;
    for (const auto& attempt : records.attempts) {
        if (!attempt.node_list.empty() && list.find(attempt.node_list) == std::string::npos) {
            list += (list.empty() ? "" : ",") + attempt.node_list;
        }
    }
    return list;
}

Result<std::string> ask_sacct(const std::vector<std::string>& selection, Clock clock) {
    // Fields that this Slurm does not have are an error: FailedNode came with 24.11, or shortly
    // before.
    const std::string fields =
        "JobID,JobIDRaw,User,State,ExitCode,NodeList,AllocNodes,AllocTRES,Submit,Start,End,Reason";
    Result<std::string> text;
    for (const auto* const more : {",FailedNode,Restarts,JobName", ",JobName"}) {
        std::vector<std::string> argv{"sacct", "--duplicates", "--allocations", "--parsable2",
                                      "--format=" + fields + more};
        argv.insert(argv.end(), selection.begin(), selection.end());
        text = ask_slurm(argv, clock);
        if (text || text.error().code == Errc::not_found) {
            break;
        }
    }
    return text;
}

Result<Asked> ask_accounting(const std::vector<std::string>& jobs, Clock clock) {
    Asked asked;
    auto attempts = ask_sacct({fmt::format("--jobs={}", fmt::join(jobs, ","))}, clock);
    if (!attempts) {
        return propagate(attempts);
    }
    keep(asked, "sacct --duplicates", std::move(*attempts));
    std::optional<std::int64_t> first_s;
    for (const auto& attempt : asked.records.attempts) {
        if (attempt.start_s && (!first_s || *attempt.start_s < *first_s)) {
            first_s = attempt.start_s;
        }
    }
    if (!first_s) {
        return asked;
    }
    auto text =
        ask_slurm({"sacctmgr", "--parsable2", "show", "event", "Nodes=" + nodes_of(asked.records),
                   "Start=" + asked_time(*first_s, clock)},
                  clock);
    if (!text) {
        return tl::unexpected{text.error()};
    }
    keep(asked, "sacctmgr show event", std::move(*text));
    return asked;
}

Result<Asked> ask_slurmctld(const std::vector<std::string>& jobs, Clock clock) {
    Asked asked;
    for (const auto& job : jobs) {
        auto text = ask_slurm({"scontrol", "show", "job", job}, clock);
        if (!text) {
            return fail(text.error().code, fmt::format("job {}: {}", job, text.error().message));
        }
        keep(asked, "scontrol show job", std::move(*text));
    }
    if (const auto nodes = nodes_of(asked.records); !nodes.empty()) {
        if (auto text = ask_slurm({"scontrol", "show", "node", nodes}, clock)) {
            keep(asked, "scontrol show node", std::move(*text));
        }
    }
    return asked;
}

}  // namespace railhead::cli
