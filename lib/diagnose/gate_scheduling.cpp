// Of the gate: are nodes at work, and is the scheduler set so that they can be?
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "base/word_list.hpp"
#include "diagnose/gate_checks.hpp"
#include "diagnose/node_use.hpp"
#include "job/hostlist.hpp"

namespace railhead::diagnose {

namespace {

constexpr GateDefault usual_idle{300,
                                 "a common aim of sites, without a source; [gate] sets another"};
constexpr GateDefault usual_utilization{
    0.85, "a common aim of sites, without a source; [gate] sets another"};

/// Nodes with GPUs; all of them where none has one.
std::map<std::string, std::uint64_t> nodes_of(const SlurmRecords& records) {
    std::map<std::string, std::uint64_t> all;
    for (const auto& node : records.nodes) {
        all[node.node] = node.gpus;
    }
    const bool has_gpus = std::ranges::any_of(all, [](const auto& one) { return one.second > 0; });
    std::erase_if(all, [&](const auto& one) { return has_gpus && one.second == 0; });
    return all;
}

/// Where it is not known which nodes there are: those that jobs with GPUs had, or jobs at all.
std::map<std::string, std::uint64_t> nodes_of_jobs(const SlurmRecords& records) {
    std::map<std::string, std::uint64_t> all;
    const bool has_gpus =
        std::ranges::any_of(records.attempts, [](const auto& one) { return one.gpus > 0; });
    for (const auto& attempt : records.attempts) {
        const auto nodes = job::expand_hostlist(attempt.node_list);
        if (attempt.node_list.empty() || !nodes || (has_gpus && attempt.gpus == 0)) {
            continue;
        }
        for (const auto& node : *nodes) {
            all.emplace(node, 0);
        }
    }
    return all;
}

void judge_idle(GateCheck& check, const NodeUse& use, const GateWindow& window) {
    if (use.changes == 0) {
        check.missing = {"a node with two jobs, one after the other, in this time"};
        check.run = {"--since, an earlier time"};
        return;
    }
    judge(check, use.mean_idle_s(),
          fmt::format("{} on average of {}", span_text(use.mean_idle_s()),
                      count_of(use.changes, "change")),
          window.from);
    const auto share = use.idle_s > 0 ? use.idle_waited_s / use.idle_s : 0;
    check.details = {
        fmt::format("{} from one job to the next on {}; the median is {}, the longest {} on {}. "
                    "Time out of service is left out.",
                    count_of(use.changes, "change"), count_of(use.nodes, "node"),
                    span_text(use.median_idle_s),
                    span_text(use.longest.end_s - use.longest.begin_s), use.longest.node),
        fmt::format("In {} of that time a job that ran later had been submitted.",
                    percent_text(share))};
    if (check.verdict == GateVerdict::fail) {
        check.advice = {
            "squeue --start, and sprio, while nodes are idle: which job waits, and for what?",
            "time limits near the run time: backfill fills a gap with a job that fits it",
            "Epilog and Prolog: what they take is between two jobs (slurmd's log has it)"};
    }
}

/// Whether accounting knows GPUs; why not.
std::optional<std::string> why_no_gpus(const GateQuestion& question) {
    const auto set = question.settings != nullptr ? question.settings->find("AccountingStorageTRES")
                                                  : std::nullopt;
    if (set) {
        const auto words = split(set->value, ',');
        const bool has = std::ranges::any_of(
            words, [](std::string_view word) { return trim(word).starts_with("gres/gpu"); });
        if (!has) {
            return fmt::format("GPUs in accounting: AccountingStorageTRES has no gres/gpu ({})",
                               set->from);
        }
    }
    const bool any = std::ranges::any_of(question.records->attempts,
                                         [](const auto& one) { return one.gpus > 0; });
    if (!any) {
        return "GPUs of jobs: no record has one (AccountingStorageTRES=gres/gpu, and the column "
               "AllocTRES)";
    }
    return std::nullopt;
}

void judge_utilization(GateCheck& check, const GateQuestion& question, const NodeUse& use,
                       const GateWindow& window) {
    if (auto why = why_no_gpus(question)) {
        check.missing = {std::move(*why)};
        check.run = {
            "AccountingStorageTRES=gres/gpu in slurm.conf, and a restart of slurmctld: "
            "it counts from then on"};
        return;
    }
    if (!(use.in_service_gpu_s > 0)) {
        check.missing = {"which nodes there are, and their GPUs"};
        check.run = {"scontrol show node > nodes.txt; railhead gate ... nodes.txt"};
        return;
    }
    constexpr double hour = 3600;
    const auto share = use.busy_gpu_s / use.in_service_gpu_s;
    judge(check, share,
          fmt::format("{} of {:.4g} GPU hours in service", percent_text(share),
                      use.in_service_gpu_s / hour),
          window.from);
    const auto all_s = (use.end_s - use.begin_s) * static_cast<double>(use.nodes);
    check.details = {
        fmt::format("Jobs had {:.4g} GPU hours of {}; they were in service for {} of the time, the "
                    "rest does not count.",
                    use.busy_gpu_s / hour, count_of(use.nodes, "node"),
                    percent_text(all_s > 0 ? use.in_service_s / all_s : 0)),
        fmt::format("A node had a job in {} of its time in service.",
                    percent_text(use.in_service_s > 0 ? use.busy_s / use.in_service_s : 0))};
    if (use.left_out > 0) {
        check.details.push_back(fmt::format("{} with nodes that cannot be read left out.",
                                            count_of(use.left_out, "attempt")));
    }
    if (check.verdict == GateVerdict::fail) {
        check.advice = {"the check \"idle\" tells whether nodes wait between jobs",
                        "jobs that have whole nodes and use a part of their GPUs: railhead "
                        "explain SCRIPT"};
    }
}

void check_use(const GateQuestion& question, GateCheck& idle, GateCheck& utilization) {
    const auto window = find_window(question);
    if (!question.hidden_jobs.empty()) {
        idle.missing = utilization.missing = {question.hidden_jobs};
        idle.run = utilization.run = {"railhead gate as root, or as SlurmUser"};
        return;
    }
    if (!window) {
        idle.missing = utilization.missing = {"records of jobs that ran"};
        idle.run = utilization.run = records_commands();
        return;
    }
    const auto& records = *question.records;
    auto nodes = nodes_of(records);
    if (nodes.empty()) {
        nodes = nodes_of_jobs(records);
        idle.details = {"Of nodes that had a job: which others there are is not known."};
    }
    const auto use = use_of(records, nodes, window->begin_s, window->end_s);
    judge_idle(idle, use, *window);
    judge_utilization(utilization, question, use, *window);
}

// -- Settings ------------------------------------------------------------------------------------

/// Of the check, as one of slurmctld's settings; unknown where it is not told.
std::optional<SlurmSetting> take_setting(const GateQuestion& question, std::string_view key,
                                         GateCheck& check) {
    auto setting =
        question.settings != nullptr ? question.settings->find(key) : std::optional<SlurmSetting>{};
    if (!setting) {
        check.missing = {fmt::format("slurmctld's {}", key)};
        check.run = {"scontrol show config > config.txt; railhead gate ... config.txt"};
        return std::nullopt;
    }
    check.measured = fmt::format("{}={}", setting->key, setting->value);
    check.from = setting->from;
    return setting;
}

/// How far ahead backfill looks, in minutes: slurm.conf(5), bf_window.
double window_min(std::string_view parameters) {
    constexpr double usual = 1440;
    for (const auto word : split(parameters, ',')) {
        constexpr std::string_view key = "bf_window=";
        if (trim(word).starts_with(key)) {
            return parse_number<std::uint32_t>(trim(word).substr(key.size())).value_or(1440);
        }
    }
    return usual;
}

void note_depth(const GateQuestion& question, GateCheck& check) {
    if (question.facts == nullptr || question.facts->machine.controllers.empty()) {
        return;
    }
    const auto& sdiag = question.facts->machine.controllers.back();
    if (!sdiag.backfill_depth || !sdiag.backfill_queue) {
        return;
    }
    check.details.push_back(
        fmt::format("sdiag: backfill looks at {} of {} jobs in the queue on average ({}).",
                    *sdiag.backfill_depth, *sdiag.backfill_queue,
                    place_of(question.facts->sources, sdiag.evidence)));
    if (*sdiag.backfill_depth < *sdiag.backfill_queue) {
        check.advice.emplace_back(
            "bf_max_job_test above the length of the queue, bf_continue: "
            "backfill stops before the end of it");
    }
}

double longest_run_s(const SlurmRecords* records) {
    std::int64_t longest_s = 0;
    if (records != nullptr) {
        for (const auto& attempt : records->attempts) {
            if (attempt.start_s && attempt.end_s) {
                longest_s = std::max(longest_s, *attempt.end_s - *attempt.start_s);
            }
        }
    }
    return static_cast<double>(longest_s);
}

GateCheck check_backfill(const GateQuestion& question) {
    auto check = make_check(GateGroup::scheduling, "backfill",
                            "small jobs run while large ones wait", GateUnit::none);
    check.aim.text = "sched/backfill";
    check.aim.from = "slurm.conf(5): sched/builtin starts jobs in order alone";
    const auto type = take_setting(question, "SchedulerType", check);
    if (!type) {
        return check;
    }
    const bool is_on = type->value.ends_with("backfill");
    check.verdict = is_on ? GateVerdict::pass : GateVerdict::fail;
    if (!is_on) {
        check.advice = {"SchedulerType=sched/backfill, and a restart of slurmctld"};
        return check;
    }
    const auto parameters = question.settings->find("SchedulerParameters");
    const auto ahead_min = window_min(parameters ? parameters->value : std::string{});
    const auto longest_s = longest_run_s(question.records);
    constexpr double minute = 60;
    check.details.push_back(
        fmt::format("It looks {} ahead (bf_window).", span_text(ahead_min * minute)));
    if (longest_s > ahead_min * minute) {
        check.advice.push_back(fmt::format(
            "bf_window={:.0f} or more: a job ran for {}, and backfill does not plan behind the end "
            "of such",
            longest_s / minute, span_text(longest_s)));
    }
    note_depth(question, check);
    return check;
}

GateCheck check_gang(const GateQuestion& question) {
    auto check = make_check(GateGroup::scheduling, "gang", "a job keeps its nodes: no time slices",
                            GateUnit::none);
    check.aim.text = "PreemptMode without GANG";
    check.aim.from = "slurm.conf(5): GANG lets jobs of one node run in turns";
    const auto mode = take_setting(question, "PreemptMode", check);
    if (!mode) {
        return check;
    }
    const bool is_sliced = has_word(mode->value, "GANG");
    check.verdict = is_sliced ? GateVerdict::fail : GateVerdict::pass;
    if (is_sliced) {
        check.advice = {
            "PreemptMode=REQUEUE: a job that stands still keeps the memory of its GPUs, and the "
            "ranks of a gang on several nodes do not stand still at one time"};
    }
    const auto kill = question.settings->find("KillOnBadExit");
    if (kill && kill->value != "1") {
        check.advice.push_back(fmt::format(
            "KillOnBadExit=1 (now {}, {}): else the ranks of a gang wait for one that ended, "
            "until NCCL's timeout",
            kill->value, kill->from));
    }
    return check;
}

}  // namespace

void check_scheduling(const GateQuestion& question, std::vector<GateCheck>& checks) {
    auto idle =
        make_check(GateGroup::scheduling, "idle", "a node between two jobs", GateUnit::seconds,
                   make_aim(question.targets.idle_s, usual_idle, false, AimText::time));
    auto utilization =
        make_check(GateGroup::scheduling, "utilization", "GPU time in jobs", GateUnit::share,
                   make_aim(question.targets.utilization, usual_utilization, true, AimText::share));
    check_use(question, idle, utilization);
    checks.push_back(std::move(idle));
    checks.push_back(std::move(utilization));
    checks.push_back(check_backfill(question));
    checks.push_back(check_gang(question));
}

std::optional<GateWindow> find_window(const GateQuestion& question) {
    if (question.records == nullptr) {
        return std::nullopt;
    }
    const auto& records = *question.records;
    std::optional<std::int64_t> first_s;
    std::set<std::uint32_t> files;
    for (const auto& attempt : records.attempts) {
        if (attempt.start_s) {
            first_s = std::min(first_s.value_or(*attempt.start_s), *attempt.start_s);
            files.insert(attempt.from.file);
        }
    }
    if (!first_s) {
        return std::nullopt;
    }
    GateWindow window;
    window.begin_s = question.since_s.value_or(*first_s);
    window.end_s = question.until_s.value_or(records.latest_s);
    if (window.end_s <= window.begin_s) {
        return std::nullopt;
    }
    auto from = question.records_from;
    if (from.empty()) {
        for (const auto file : files) {
            from += (from.empty() ? "" : ", ") + records.sources.name(file);
        }
    }
    window.from =
        fmt::format("{}, {}", from, span_text(static_cast<double>(window.end_s - window.begin_s)));
    return window;
}

std::vector<std::string> records_commands() {
    return {"railhead gate where Slurm's commands are, or files of them:",
            "SLURM_TIME_FORMAT=%s sacct -a -D -X -P -S now-7days -o "
            "JobID,JobIDRaw,State,NodeList,AllocNodes,AllocTRES,Submit,Start,End > jobs.txt",
            "SLURM_TIME_FORMAT=%s sacctmgr -P show event > events.txt; scontrol show node > "
            "nodes.txt"};
}

}  // namespace railhead::diagnose
