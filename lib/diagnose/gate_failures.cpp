// Of the gate: does a job lose little to failures, is it back soon, and how many end well?
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/recommend.hpp"
#include "diagnose/failures.hpp"
#include "diagnose/gate_checks.hpp"

namespace railhead::diagnose {

namespace {

constexpr GateDefault usual_interval{
    2, "twice the optimum, or half of it, loses 1.25 times the least (Young 1974)"};
constexpr GateDefault usual_recovery{900, "MegaScale is back within 15 min (arXiv:2402.15627)"};
constexpr GateDefault usual_completion{
    0.998, "0.2 % of RSC's jobs were ended by infrastructure (arXiv:2410.21680)"};

std::optional<FailureCount> count_window(const GateQuestion& question, const GateWindow& window) {
    CountQuestion about;
    about.since_s = window.begin_s;
    about.until_s = window.end_s;
    auto count = count_failures(*question.records, about);
    return count ? std::optional{std::move(*count)} : std::nullopt;
}

// -- The interval --------------------------------------------------------------------------------

std::optional<std::uint64_t> nodes_of(const GateQuestion& question) {
    if (question.nodes) {
        return question.nodes;
    }
    if (!question.checkpoints.empty() && question.checkpoints.back().nodes > 0) {
        return question.checkpoints.back().nodes;
    }
    if (question.records != nullptr && !question.jobs.empty()) {
        std::uint64_t nodes = 0;
        for (const auto& attempt : question.records->attempts) {
            nodes = is_asked(question, attempt) && attempt.nodes > 0 ? attempt.nodes : nodes;
        }
        return nodes > 0 ? std::optional{nodes} : std::nullopt;
    }
    const auto* training = question.facts != nullptr ? question.facts->main_training() : nullptr;
    const auto gpus = training != nullptr && training->mfu ? training->mfu->rate.gpus : 0;
    const auto a_node = question.facts != nullptr ? question.facts->gpus_per_node() : 0;
    return gpus > 1 && a_node > 0
               ? std::optional{(static_cast<std::uint64_t>(gpus) + a_node - 1) / a_node}
               : std::nullopt;
}

/// The rate that counts: typed, counted here, the policy's; else recommend() takes a published one.
std::string set_rate(const GateQuestion& question, checkpoint::Question& about) {
    about.per_1000_node_days = question.per_1000_node_days;
    if (about.per_1000_node_days) {
        return "--rate";
    }
    if (const auto window = find_window(question)) {
        auto count = count_window(question, *window);
        if (count && !count->failures.empty()) {
            const auto failures = count->failures.size();
            if (const auto rate = failure_rate(std::move(*count), 0)) {
                about.per_1000_node_days = rate->per_1000_node_days;
                return fmt::format("{} in {:.4g} node-days, {}; 95 %: {:.3g} to {:.3g}",
                                   count_of(failures, "failure"), rate->node_days, window->from,
                                   rate->low, rate->high);
            }
        }
    }
    about.per_1000_node_days = question.site.per_1000_node_days;
    return about.per_1000_node_days ? "[checkpoint] failures of the policy" : "";
}

void explain(GateCheck& check, const checkpoint::Recommendation& answer,
             const CheckpointFigures& figures, const std::string& rate_from) {
    check.details.push_back(fmt::format(
        "The optimum is {} (Daly's model, exact): a checkpoint costs {} ({}), the gang "
        "of {} fails every {}.",
        span_text(answer.chosen.interval_s), span_text(answer.timing.cost_s()), figures.cost_from,
        count_of(answer.failures.nodes.value_or(0), "node"), span_text(answer.timing.mtbf_s())));
    check.details.push_back(fmt::format("Rate: {:.4g} failures in 1000 node-days ({}).",
                                        answer.failures.per_1000_node_days.value_or(0),
                                        rate_from.empty() && !answer.assumptions.empty()
                                            ? answer.assumptions.front().source
                                            : rate_from));
    check.details.push_back(fmt::format(
        "Of its time the job loses {} at its own interval and {} at the optimum.",
        percent_text(answer.own->shares.waste()), percent_text(answer.chosen.shares.waste())));
}

GateCheck check_interval(const GateQuestion& question) {
    auto check = make_check(
        GateGroup::failures, "interval", "checkpoint interval against the optimum", GateUnit::times,
        make_aim(question.targets.interval, usual_interval, false, AimText::times));
    check.aim.text = fmt::format("within {:.3g} times", *check.aim.value);
    const auto figures = find_checkpoints(question);
    checkpoint::Question about;
    about.nodes = nodes_of(question);
    const auto miss = [&](bool is_missing, std::string_view what, std::string_view run) {
        if (is_missing) {
            check.missing.emplace_back(what);
            check.run.emplace_back(run);
        }
    };
    miss(!figures.interval_s, "the interval that the job has",
         "--interval 1h; or a training log with two checkpoints; or gate JOB, for a job with "
         "--ckpt-interval");
    miss(!figures.cost_s, "what a checkpoint costs",
         "--cost 40s; or a training log with checkpoints; or [checkpoint] cost of the policy");
    miss(!about.nodes, "how many nodes the job has", "--nodes 128, or gate JOB");
    if (!check.missing.empty()) {
        return check;
    }
    const auto rate_from = set_rate(question, about);
    about.cost_s = figures.cost_s;
    about.own_interval_s = figures.interval_s;
    about.restart_s = question.restart_s;
    if (!about.restart_s && question.site.restart_s) {
        about.restart_s = *question.site.restart_s;
    }
    const auto answer = checkpoint::recommend(about);
    if (!answer || !answer->own || !(answer->chosen.interval_s > 0)) {
        check.missing = {answer ? std::string{"an optimum"} : answer.error().message};
        return check;
    }
    const auto ratio = *figures.interval_s / answer->chosen.interval_s;
    judge(check, std::max(ratio, 1 / ratio),
          fmt::format("{}, {:.3g} times the optimum", span_text(*figures.interval_s), ratio),
          figures.interval_from);
    check.value = ratio;
    explain(check, *answer, figures, rate_from);
    if (check.verdict == GateVerdict::fail) {
        check.advice.push_back(
            fmt::format("write a checkpoint every {}: railhead ckpt has the "
                        "curve",
                        span_text(answer->chosen.interval_s)));
    }
    return check;
}

// -- Ends of attempts ----------------------------------------------------------------------------

/// Attempts that ended in the window, and which of them a node ended.
struct Ends {
    std::uint64_t ended = 0, lost = 0;
    std::map<std::string, std::uint64_t> states;
    std::vector<double> recoveries_s;
    std::uint64_t not_back = 0;  ///< that a node ended, and that did not start again
};

class EndCounter {
 public:
    EndCounter(const GateQuestion& question, const GateWindow& window, const FailureCount* count)
        : question_{question}, window_{window} {
        for (const auto& failure :
             count != nullptr ? std::span{count->failures} : std::span<const Failure>{}) {
            failures_.emplace(failure.job, failure.at_s);
        }
    }

    Ends run() {
        for (const auto& attempt : question_.records->attempts) {
            // Without nodes it never ran: one that was cancelled as it waited has a start.
            if (is_asked(question_, attempt) && attempt.start_s && !attempt.node_list.empty()) {
                by_id_[attempt.id].push_back(&attempt);
            }
        }
        for (auto& [id, attempts] : by_id_) {
            std::ranges::stable_sort(attempts, {}, [](const auto* one) { return *one->start_s; });
            for (std::size_t i = 0; i < attempts.size(); ++i) {
                look(*attempts[i], i + 1 < attempts.size() ? attempts[i + 1] : nullptr);
            }
        }
        return std::move(ends_);
    }

 private:
    [[nodiscard]] bool is_lost(const JobAttempt& attempt) const {
        const auto [from, to] = failures_.equal_range(attempt.id);
        return short_state(attempt.state) == "NODE_FAIL" ||
               std::any_of(from, to, [&](const auto& one) { return one.second == *attempt.end_s; });
    }

    void look(const JobAttempt& attempt, const JobAttempt* next) {
        constexpr std::array<std::string_view, 3> open{"RUNNING", "SUSPENDED", "PENDING"};
        const auto state = short_state(attempt.state);
        if (!attempt.end_s || *attempt.end_s < window_.begin_s || *attempt.end_s > window_.end_s ||
            std::ranges::find(open, state) != open.end()) {
            return;
        }
        ++ends_.ended;
        ++ends_.states[std::string{state}];
        if (!is_lost(attempt)) {
            return;
        }
        ++ends_.lost;
        if (next != nullptr && *next->start_s >= *attempt.end_s) {
            ends_.recoveries_s.push_back(static_cast<double>(*next->start_s - *attempt.end_s));
        } else {
            ++ends_.not_back;
        }
    }

    const GateQuestion& question_;
    const GateWindow& window_;
    std::multimap<std::string, std::int64_t> failures_;
    std::map<std::string, std::vector<const JobAttempt*>> by_id_;
    Ends ends_;
};

GateCheck make_recovery(const GateQuestion& question) {
    return make_check(
        GateGroup::failures, "recovery", "from a node's failure to the job's next start",
        GateUnit::seconds,
        make_aim(question.targets.recovery_s, usual_recovery, false, AimText::time));
}

void judge_recovery(GateCheck& check, const Ends& ends, const GateWindow& window) {
    const auto& all = ends.recoveries_s;
    if (ends.lost == 0) {
        judge(check, 0,
              fmt::format("none was needed: no node ended one of {}",
                          count_of(ends.ended, "attempt")),
              window.from);
        return;
    }
    if (all.empty()) {
        check.missing = {fmt::format("a job that started again: {} that a node ended did not",
                                     count_of(ends.not_back, "attempt"))};
        check.run = {"sbatch --requeue, with checkpoints: railhead.toml, [checkpoint] requeue"};
        return;
    }
    double sum_s = 0;
    for (const auto one : all) {
        sum_s += one;
    }
    const auto mean_s = sum_s / static_cast<double>(all.size());
    judge(check, mean_s,
          fmt::format("{} on average of {}, the longest {}", span_text(mean_s), all.size(),
                      span_text(*std::ranges::max_element(all))),
          window.from);
    check.details.push_back(
        "From the end of one attempt to the start of the next; the program's "
        "own start and the work that is done again come on top.");
    if (ends.not_back > 0) {
        check.details.push_back(fmt::format("{} that a node ended did not start again.",
                                            count_of(ends.not_back, "attempt")));
    }
    if (check.verdict == GateVerdict::fail) {
        check.advice = {
            "spare nodes (railhead size tells how many), a priority that brings a "
            "requeued job to the front, SlurmdTimeout shorter than 300 s"};
    }
}

GateCheck make_completion(const GateQuestion& question) {
    return make_check(
        GateGroup::failures, "completion", "attempts that no failure of a node ended",
        GateUnit::share,
        make_aim(question.targets.completion, usual_completion, true, AimText::share));
}

void judge_completion(GateCheck& check, const Ends& ends, const GateWindow& window) {
    if (ends.ended == 0) {
        check.missing = {"an attempt that ended in this time"};
        check.run = {"--since, an earlier time"};
        return;
    }
    const auto share =
        static_cast<double>(ends.ended - ends.lost) / static_cast<double>(ends.ended);
    judge(check, share,
          fmt::format("{}: {} of {} were ended by a node", percent_text(share), ends.lost,
                      count_of(ends.ended, "attempt")),
          window.from);
    std::string states;
    for (const auto& [state, count] : ends.states) {
        states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, state);
    }
    check.details = {fmt::format("Counted as railhead mtbf does, {}: {}.",
                                 text_of(Definition::rsc).name, text_of(Definition::rsc).counted),
                     fmt::format("Ends: {}.", states)};
    if (check.verdict == GateVerdict::fail) {
        check.advice = {"railhead lemons tells whether a few nodes do most of it",
                        "railhead postmortem JOB tells why a job ended"};
    }
}

}  // namespace

void check_failures(const GateQuestion& question, std::vector<GateCheck>& checks) {
    checks.push_back(check_interval(question));
    auto recovery = make_recovery(question);
    auto completion = make_completion(question);
    const auto window = find_window(question);
    if (!question.hidden_jobs.empty() && question.jobs.empty()) {
        recovery.missing = completion.missing = {question.hidden_jobs};
        recovery.run = completion.run = {"railhead gate as root, or as SlurmUser"};
    } else if (!window) {
        recovery.missing = completion.missing = {"records of jobs that ran"};
        recovery.run = completion.run = records_commands();
    } else {
        const auto count = count_window(question, *window);
        const auto ends = EndCounter{question, *window, count ? &*count : nullptr}.run();
        judge_recovery(recovery, ends, *window);
        judge_completion(completion, ends, *window);
    }
    checks.push_back(std::move(recovery));
    checks.push_back(std::move(completion));
}

}  // namespace railhead::diagnose
