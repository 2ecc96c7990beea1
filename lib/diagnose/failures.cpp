#include "diagnose/failures.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/lower.hpp"
#include "base/text.hpp"
#include "diagnose/node_times.hpp"
#include "job/hostlist.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::array<DefinitionText, 3> all_definitions{{
    {Definition::node_fail, "node-fail",
     "a job that ended as NODE_FAIL, or was requeued for the failure of a node",
     "time of nodes in jobs"},
    {Definition::rsc, "rsc",
     "a job that ended as NODE_FAIL (or was requeued for a node), or as FAILED while a node of it "
     "went out of service, from 10 min before its end to 5 min after (as Meta's RSC, "
     "arXiv:2410.21680, where health checks take nodes out)",
     "time of nodes in jobs"},
    {Definition::node_down, "node-down",
     "a node that went DOWN or FAIL unplanned, with a job or without", "time of nodes in service"},
}};

constexpr std::array<std::string_view, 6> words_of_plans{"maint",  "upgrade",  "reboot",
                                                         "update", "firmware", "decommission"};

/// A state that does not say why a job ended: slurmctld may have told the node it was for.
bool is_open(std::string_view state) {
    return state == "REQUEUED" || state == "COMPLETING";
}

bool is_down(std::string_view state) {
    return state.starts_with("DOWN") || state.starts_with("FAIL") || state.starts_with("ERROR");
}

/// Counts failures and exposure.  One object a question.
class Counter {
 public:
    Counter(const SlurmRecords& records, CountQuestion question) : records_{records} {
        count_.question = std::move(question);
        const auto& asked = count_.question;
        since_s_ = asked.since_s.value_or(std::numeric_limits<std::int64_t>::min());
        until_s_ = std::min(asked.until_s.value_or(records.latest_s), records.latest_s);
        for (const auto& node : asked.nodes) {
            wanted_.emplace(node, true);
        }
        for (const auto& event : records.events) {
            if (is_reversed(event)) {
                ++count_.reversed;
            } else if (is_planned(event)) {
                count_.planned += is_wanted(event.node) && event.begin_s <= until_s_ &&
                                          event.end_s.value_or(records.latest_s) >= since_s_
                                      ? 1
                                      : 0;
            } else {
                events_[event.node].push_back(&event);
            }
        }
    }

    Result<FailureCount> run() {
        if (count_.question.definition == Definition::node_down) {
            count_nodes();
        } else {
            count_jobs();
        }
        std::ranges::stable_sort(count_.failures, {}, &Failure::at_s);
        merge_repeated();
        finish();
        if (!(count_.exposure_s > 0)) {
            return fail(Errc::bad_input,
                        fmt::format("no {} in these records: {}",
                                    text_of(count_.question.definition).exposure, why_nothing()));
        }
        return std::move(count_);
    }

 private:
    [[nodiscard]] bool is_wanted(const std::string& node) const {
        return wanted_.empty() || wanted_.contains(node);
    }
    [[nodiscard]] bool is_in_window(std::int64_t at_s) const {
        return at_s >= since_s_ && at_s <= until_s_;
    }

    static bool is_reversed(const NodeEvent& event) {
        return event.end_s && *event.end_s < event.begin_s;
    }

    /// Which column or filter left nothing that failures could be divided by.
    [[nodiscard]] std::string why_nothing() const {
        const auto& all = records_.attempts;
        const auto none = [&all](auto has) { return std::ranges::none_of(all, has); };
        if (count_.question.definition != Definition::node_down) {
            if (all.empty()) {
                return "they have no job; sacct --parsable2 "
                       "--format=JobID,State,NodeList,AllocTRES,Start,End tells them";
            }
            if (none([](const JobAttempt& one) { return !one.node_list.empty(); })) {
                return "no job has nodes: is the column NodeList missing?";
            }
            if (none([](const JobAttempt& one) { return one.start_s.has_value(); })) {
                return "no job has a start: is the column Start missing?";
            }
            if (const auto least = count_.question.min_gpus;
                none([least](const JobAttempt& one) { return one.gpus >= least; })) {
                return fmt::format(
                    "no job has {} GPUs as --min-gpus asks (the column AllocTRES "
                    "tells them)",
                    least);
            }
        }
        std::string filters;
        const auto add = [&filters](bool is_set, std::string_view name) {
            if (is_set) {
                filters += fmt::format("{}{}", filters.empty() ? "" : ", ", name);
            }
        };
        add(count_.question.min_gpus > 0, "--min-gpus");
        add(!count_.question.nodes.empty(), "--nodes");
        add(count_.question.since_s.has_value(), "--since");
        add(count_.question.until_s.has_value(), "--until");
        if (!filters.empty()) {
            return fmt::format("{} leaves nothing of them", filters);
        }
        return count_.reversed > 0 ? "records that end before they start are not believed"
                                   : "nothing in them lasts";
    }

    void count_jobs() {
        for (const auto& attempt : records_.attempts) {
            if (attempt.start_s && attempt.end_s && *attempt.end_s < *attempt.start_s) {
                ++count_.reversed;
                continue;
            }
            auto nodes = job::expand_hostlist(attempt.node_list);
            if (!attempt.start_s || attempt.node_list.empty() || !nodes ||
                attempt.gpus < count_.question.min_gpus) {
                ++count_.left_out;
                continue;
            }
            const auto end_s = attempt.end_s.value_or(records_.latest_s);
            ++count_.attempts;
            for (const auto& node : *nodes) {
                if (is_wanted(node)) {
                    times_.add(node, std::max(*attempt.start_s, since_s_),
                               std::min(end_s, until_s_));
                }
            }
            if (attempt.end_s && is_in_window(*attempt.end_s)) {
                judge(attempt, *nodes);
            }
        }
    }

    /// The event of a node of the job about its end; the earliest one.
    [[nodiscard]] const NodeEvent* event_at_end(const JobAttempt& attempt,
                                                std::span<const std::string> nodes) const {
        const NodeEvent* found = nullptr;
        for (const auto& node : nodes) {
            const auto at = events_.find(node);
            if (at == events_.end()) {
                continue;
            }
            for (const auto* event : at->second) {
                const auto after_s = event->begin_s - *attempt.end_s;
                // A node that was out before could not have been given to the job; one that came back
                // in the second of its start was.
                const bool is_over = event->end_s && *event->end_s <= *attempt.start_s;
                if (event->begin_s >= *attempt.start_s && !is_over && after_s >= -before_end_s &&
                    after_s <= after_end_s &&
                    (found == nullptr || event->begin_s < found->begin_s)) {
                    found = event;
                }
            }
        }
        return found;
    }

    void judge(const JobAttempt& attempt, std::span<const std::string> nodes) {
        const auto state = short_state(attempt.state);
        const bool of_node =
            state == "NODE_FAIL" || (is_open(state) && !attempt.failed_node.empty());
        const bool may_be = count_.question.definition == Definition::rsc && state == "FAILED";
        if (!of_node && !may_be) {
            return;
        }
        Failure failure{attempt.failed_node, *attempt.end_s, attempt.id, "FailedNode", {}, {},
                        attempt.from};
        const auto own = std::span{&attempt.failed_node, 1};
        const auto* event = event_at_end(attempt, attempt.failed_node.empty() ? nodes : own);
        if (event != nullptr) {
            failure.reason = event->reason;
            failure.event_s = event->begin_s;
        }
        if (failure.node.empty() && event != nullptr) {
            failure.node = event->node;
            failure.how = "its event";
        }
        if (failure.node.empty() && !of_node) {
            return;  // it failed by itself, as far as these records say
        }
        if (failure.node.empty() ? wanted_.empty() : is_wanted(failure.node)) {
            count_.failures.push_back(std::move(failure));
        }
    }

    void count_nodes() {
        std::int64_t first_s = until_s_;
        for (const auto& attempt : records_.attempts) {
            first_s = std::min(first_s, attempt.start_s.value_or(first_s));
            if (auto nodes = job::expand_hostlist(attempt.node_list); nodes) {
                for (auto& node : *nodes) {
                    seen_.emplace(std::move(node), true);
                }
            }
        }
        for (const auto& event : records_.events) {
            first_s = std::min(first_s, event.begin_s);
            seen_.emplace(event.node, true);
        }
        for (const auto& node : count_.question.nodes) {
            seen_.emplace(node, true);
        }
        const auto begin_s = count_.question.since_s.value_or(first_s);
        for (const auto& [node, yes] : seen_) {
            if (is_wanted(node)) {
                times_.add(node, begin_s, until_s_);
            }
        }
        for (const auto& event : records_.events) {
            if (is_wanted(event.node) && !is_reversed(event)) {
                times_.remove(event.node, event.begin_s, event.end_s.value_or(until_s_));
                if (!is_planned(event) && is_down(event.state) && is_in_window(event.begin_s)) {
                    count_.failures.push_back({event.node,
                                               event.begin_s,
                                               {},
                                               "its event",
                                               event.reason,
                                               event.begin_s,
                                               event.from});
                }
            }
        }
    }

    /// Whether a node failed once: in one event, or, where that is not known, at one time.
    static bool is_same(const Failure& first, const Failure& next) {
        return first.event_s && next.event_s ? first.event_s == next.event_s
                                             : next.at_s - first.at_s <= before_end_s + after_end_s;
    }

    /// A failure that ends several jobs of a node is one.
    void merge_repeated() {
        std::unordered_map<std::string, Failure> last;
        std::erase_if(count_.failures, [&](const Failure& failure) {
            if (failure.node.empty()) {
                return false;
            }
            const auto [at, is_first] = last.try_emplace(failure.node, failure);
            if (is_first || !is_same(at->second, failure)) {
                at->second = failure;
                return false;
            }
            ++count_.repeated;
            return true;
        });
    }

    void finish() {
        count_.nodes = times_.take();
        std::unordered_map<std::string_view, std::size_t> at;
        for (std::size_t i = 0; i < count_.nodes.size(); ++i) {
            at.emplace(count_.nodes[i].node, i);
            count_.exposure_s += count_.nodes[i].exposure_s;
        }
        for (const auto& failure : count_.failures) {
            if (const auto found = at.find(failure.node); found != at.end()) {
                ++count_.nodes[found->second].failures;
            } else {
                ++count_.unattributed;
            }
        }
        count_.first_s = times_.first_s();
        count_.last_s = times_.last_s();
    }

    const SlurmRecords& records_;
    FailureCount count_;
    NodeTimes times_;
    std::int64_t since_s_ = 0, until_s_ = 0;
    std::unordered_map<std::string, bool> wanted_, seen_;
    std::unordered_map<std::string, std::vector<const NodeEvent*>> events_;
};

}  // namespace

std::span<const DefinitionText> definitions() {
    return all_definitions;
}

const DefinitionText& text_of(Definition definition) {
    return *std::ranges::find(all_definitions, definition, &DefinitionText::definition);
}

std::span<const std::string_view> planned_words() {
    return words_of_plans;
}

bool is_planned(const NodeEvent& event) {
    constexpr std::array<std::string_view, 5> states{"MAINT", "PLANNED", "REBOOT", "POWER",
                                                     "RESERVED"};
    const auto has = [](std::string_view text) {
        return [text](std::string_view word) { return text.find(word) != std::string_view::npos; };
    };
    const auto reason = lower(event.reason);
    // "Node unexpectedly rebooted" is slurmctld's word for a crash.
    const bool is_crash = reason.find("unexpectedly") != std::string::npos;
    return std::ranges::any_of(states, has(event.state)) ||
           (!is_crash && std::ranges::any_of(words_of_plans, has(reason)));
}

Result<FailureCount> count_failures(const SlurmRecords& records, CountQuestion question) {
    return Counter{records, std::move(question)}.run();
}

Result<FailureRateAnswer> failure_rate(FailureCount count, std::uint64_t gang_nodes) {
    FailureRateAnswer answer;
    const auto all =
        checkpoint::estimate_mtbf(count.failures.size(), count.exposure_s, answer.confidence);
    if (!all) {
        return tl::unexpected{all.error()};
    }
    answer.node_days = count.exposure_s / 86400;
    answer.per_1000_node_days = checkpoint::rate_per_1000_node_days(all->mtbf_s, 1);
    answer.high = checkpoint::rate_per_1000_node_days(all->low_s, 1);
    answer.low = all->high_s ? checkpoint::rate_per_1000_node_days(*all->high_s, 1) : 0;
    answer.gang_nodes = gang_nodes;
    if (gang_nodes > 0) {
        const auto nodes = static_cast<double>(gang_nodes);
        answer.gang = {all->mtbf_s / nodes, all->low_s / nodes, {}};
        if (all->high_s) {
            answer.gang.high_s = *all->high_s / nodes;
        }
    }
    answer.count = std::move(count);
    return answer;
}

}  // namespace railhead::diagnose
