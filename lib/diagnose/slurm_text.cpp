#include "diagnose/slurm_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "diagnose/when.hpp"

namespace railhead::diagnose {

namespace {

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

struct Figure {
    std::string_view key;
    std::optional<std::uint64_t> ControllerStatistics::*to;
};
constexpr std::array server_figures{
    Figure{"Server thread count", &ControllerStatistics::server_threads},
    Figure{"Agent queue size", &ControllerStatistics::agent_queue},
    Figure{"DBD Agent queue size", &ControllerStatistics::dbd_agent_queue},
    Figure{"Jobs submitted", &ControllerStatistics::jobs_submitted},
    Figure{"Jobs started", &ControllerStatistics::jobs_started},
    Figure{"Jobs pending", &ControllerStatistics::jobs_pending},
    Figure{"Jobs running", &ControllerStatistics::jobs_running},
};
constexpr std::array main_figures{
    Figure{"Last cycle", &ControllerStatistics::main_last_us},
    Figure{"Max cycle", &ControllerStatistics::main_max_us},
    Figure{"Mean cycle", &ControllerStatistics::main_mean_us},
    Figure{"Last queue length", &ControllerStatistics::main_queue},
};
constexpr std::array backfill_figures{
    Figure{"Total backfilled jobs (since last slurm start)", &ControllerStatistics::backfilled},
    Figure{"Last cycle", &ControllerStatistics::backfill_last_us},
    Figure{"Max cycle", &ControllerStatistics::backfill_max_us},
    Figure{"Mean cycle", &ControllerStatistics::backfill_mean_us},
    Figure{"Last depth cycle", &ControllerStatistics::backfill_depth},
    Figure{"Last depth cycle (try sched)", &ControllerStatistics::backfill_depth_try},
    Figure{"Last queue length", &ControllerStatistics::backfill_queue},
};

template <std::size_t N>
void set_figure(const std::array<Figure, N>& figures, const KeyValue& line,
                ControllerStatistics& to) {
    const auto* found = std::ranges::find(figures, line.key, &Figure::key);
    if (found != figures.end()) {
        to.*found->to = parse_number<std::uint64_t>(line.value);
    }
}

/// "sdiag output at Wed Feb 23 01:39:54 2022 (1645609194)".
std::optional<double> time_in(std::string_view text) {
    const auto seconds = parse_number<std::uint64_t>(word_after(text, "(", ")"));
    return seconds ? std::optional{static_cast<double>(*seconds)} : std::nullopt;
}

/// The number after `mark` and blanks: "count:12", "total_time: 5".
std::uint64_t figure_after(std::string_view text, std::string_view mark) {
    const auto at = text.find(mark);
    if (at == std::string_view::npos) {
        return 0;
    }
    const auto rest = trim(text.substr(at + mark.size()));
    return parse_number<std::uint64_t>(rest.substr(0, rest.find_first_of(" \t"))).value_or(0);
}

/// What slurmd and slurmstepd say.
struct Sign {
    std::string_view first, second;
    SlurmdEventKind kind;
};
constexpr std::array signs{
    Sign{"slurmd version ", " started", SlurmdEventKind::daemon_started},
    Sign{"Detected ", "oom_kill event", SlurmdEventKind::oom},
    Sign{"Detected ", "oom-kill event", SlurmdEventKind::oom},
    Sign{" CANCELLED AT ", " DUE TO ", SlurmdEventKind::cancelled},
    Sign{" STEPD TERMINATED ON ", " DUE TO ", SlurmdEventKind::cancelled},
    Sign{"rolog failed status", "", SlurmdEventKind::prolog_failed},
    Sign{"Prolog failure on node", "", SlurmdEventKind::prolog_failed},
    Sign{"pilog failed status", "", SlurmdEventKind::epilog_failed},
    Sign{"health_check failed: ", "", SlurmdEventKind::health_check_failed},
    Sign{"health_check killed by", "", SlurmdEventKind::health_check_failed},
    Sign{"health_check didn't run", "", SlurmdEventKind::health_check_failed},
    Sign{"launch failure message", "", SlurmdEventKind::launch_failed},
    Sign{"Unable to register", "", SlurmdEventKind::not_registered},
    Sign{"Removing file-less GPU", "", SlurmdEventKind::gres_missing},
    Sign{"config-only GPU", "", SlurmdEventKind::gres_missing},
};

}  // namespace

void SdiagReader::read_line(std::string_view line) {
    const auto text = trim(line);
    if (open_section(text)) {
        return;
    }
    if (section_ == Section::by_type || section_ == Section::by_user) {
        read_rpc(text);
        return;
    }
    if (text.starts_with("sdiag output at ")) {
        statistics_.at_s = time_in(text);
        statistics_.evidence = evidence();
        return;
    }
    if (text.starts_with("Data since ")) {
        statistics_.since_s = time_in(text);
        return;
    }
    const auto parts = split_key(text, ':');
    if (!parts) {
        return;
    }
    if (section_ == Section::server) {
        set_figure(server_figures, *parts, statistics_);
    } else if (section_ == Section::main) {
        set_figure(main_figures, *parts, statistics_);
    } else if (section_ == Section::backfill) {
        set_figure(backfill_figures, *parts, statistics_);
    }
}

bool SdiagReader::open_section(std::string_view text) {
    if (text.starts_with("Main schedule statistics")) {
        section_ = Section::main;
    } else if (text.starts_with("Backfilling stats")) {
        section_ = Section::backfill;
    } else if (text.starts_with("Remote Procedure Call statistics by message type")) {
        section_ = Section::by_type;
    } else if (text.starts_with("Remote Procedure Call statistics by user")) {
        section_ = Section::by_user;
    } else if (text.starts_with("Pending RPC") || text.starts_with("Latency for ") ||
               text.starts_with("Main scheduler exit") || text.starts_with("Backfill exit")) {
        section_ = Section::rest;
    } else {
        return false;
    }
    return true;
}

/// "REQUEST_PARTITION_INFO  ( 2009) count:1  ave_time:208  total_time:208".
void SdiagReader::read_rpc(std::string_view text) {
    auto& to = section_ == Section::by_type ? statistics_.by_type : statistics_.by_user;
    if (!has(text, "count:") || to.size() == most_rpcs) {
        return;
    }
    const auto who = trim(text.substr(0, text.find('(')));
    to.push_back({printable(who.substr(0, evidence_limit)), figure_after(text, "count:"),
                  figure_after(text, "total_time:"), evidence()});
}

std::string_view name_of(SlurmdEventKind kind) {
    static constexpr std::array<std::string_view, 9> names{
        "slurmd started", "step out of memory", "job cancelled",
        "prolog failed",  "epilog failed",      "health check failed",
        "launch failed",  "not registered",     "GPUs missing"};
    return names.at(static_cast<std::size_t>(kind));
}

void SlurmdLogReader::read_line(std::string_view line) {
    auto text = line;
    const auto when = take_when(text);
    const auto* sign = std::ranges::find_if(
        signs, [&](const Sign& s) { return has(text, s.first) && has(text, s.second); });
    if (sign == signs.end()) {
        return;
    }
    if (log_.events.size() == most_events) {
        ++log_.left_out;
        return;
    }
    SlurmdEvent event;
    event.kind = sign->kind;
    event.at_s = when.at_s;
    event.evidence = evidence();
    for (const std::string_view mark : {"StepId=", "JobId=", "JOB ", "STEP ", "job ", "JobID="}) {
        const auto job = parse_number<std::uint64_t>(word_after(text, mark, ".:, ]"));
        if (job) {
            event.job = job;
            break;
        }
    }
    if (event.kind == SlurmdEventKind::cancelled) {
        event.reason = printable(trim(word_after(text, " DUE TO ", "*")).substr(0, evidence_limit));
    }
    log_.events.push_back(std::move(event));
}

}  // namespace railhead::diagnose
