#include "diagnose/postmortem.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/failures.hpp"
#include "job/hostlist.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::int64_t about_s = before_end_s + after_end_s;

bool is_well(const JobAttempt& attempt) {
    const auto state = short_state(attempt.state);
    return !attempt.end_s || state == "COMPLETED" || state == "RUNNING" || state == "PENDING" ||
           (state == "COMPLETING" && attempt.failed_node.empty()) || state == "SUSPENDED";
}

bool is_near(std::int64_t at_s, std::int64_t end_s) {
    return at_s >= end_s - before_end_s && at_s <= end_s + after_end_s;
}

/// Finds what belongs to an end.
class Finder {
 public:
    Finder(const SlurmRecords& records, const PostmortemQuestion& question)
        : records_{records}, question_{question} {}

    [[nodiscard]] Ending look(const JobAttempt& attempt, const JobAttempt* next) const {
        Ending ending;
        ending.attempt = &attempt;
        ending.next = next;
        ending.node = attempt.failed_node;
        ending.event = event_of(attempt);
        if (ending.node.empty() && ending.event != nullptr) {
            ending.node = ending.event->node;
        }
        ending.line = line_of(attempt);
        ending.clue = clue_of(ending);
        return ending;
    }

 private:
    /// The earliest one of its nodes about its end; of the failed node where that is known.  A node
    /// that is taken out on purpose ends a job as one that failed, or not at all.
    [[nodiscard]] const NodeEvent* event_of(const JobAttempt& attempt) const {
        const bool failed_itself = short_state(attempt.state) == "FAILED";
        const NodeEvent* found = nullptr;
        for (const auto& event : records_.events) {
            const bool is_its = attempt.failed_node.empty()
                                    ? job::hostlist_has(attempt.node_list, event.node)
                                    : attempt.failed_node == event.node;
            const bool is_before = attempt.start_s && event.begin_s < *attempt.start_s;
            if (is_near(event.begin_s, *attempt.end_s) && is_its && !is_before &&
                !(failed_itself && is_planned(event)) &&
                (found == nullptr || event.begin_s < found->begin_s)) {
                found = &event;
            }
        }
        return found;
    }

    [[nodiscard]] const LogLine* line_of(const JobAttempt& attempt) const {
        const auto found = std::ranges::find_if(records_.lines, [&](const LogLine& line) {
            return line.job == attempt.id && is_near(line.at_s, *attempt.end_s);
        });
        return found == records_.lines.end() ? nullptr : &*found;
    }

    [[nodiscard]] const Clue* clue_of(const Ending& ending) const {
        const auto& attempt = *ending.attempt;
        const auto found = std::ranges::find_if(question_.clues, [&](const Clue& clue) {
            const bool is_its = (!clue.job.empty() && is_of_job(attempt, clue.job)) ||
                                (clue.job.empty() && !clue.node.empty() &&
                                 job::hostlist_has(attempt.node_list, clue.node));
            return is_its && (!clue.at_s || is_near(*clue.at_s, *attempt.end_s));
        });
        return found == question_.clues.end() ? nullptr : &*found;
    }

    const SlurmRecords& records_;
    const PostmortemQuestion& question_;
};

/// Whether two ends have one cause: the same node at the same time, several nodes that went at once
/// for the same reason, or the same job that ends the same way again.
bool belong_together(const Ending& a, const Ending& b) {
    const auto apart_s = std::abs(*a.attempt->end_s - *b.attempt->end_s);
    if (!a.node.empty() && a.node == b.node && apart_s <= about_s) {
        return a.event == nullptr || b.event == nullptr || a.event == b.event;
    }
    if (a.event != nullptr && b.event != nullptr && a.event->reason == b.event->reason &&
        std::abs(a.event->begin_s - b.event->begin_s) <= after_end_s) {
        return true;
    }
    return a.attempt->id == b.attempt->id && a.node.empty() && b.node.empty() &&
           a.attempt->state == b.attempt->state && a.attempt->exit_code == b.attempt->exit_code;
}

std::string job_text(const JobAttempt& attempt) {
    return attempt.name.empty() ? fmt::format("job {}", attempt.id)
                                : fmt::format("job {} ({})", attempt.id, attempt.name);
}

class Timeline {
 public:
    Timeline(const SlurmRecords& records, const PostmortemQuestion& question)
        : records_{records}, question_{question} {}

    std::vector<Moment> of(std::span<const Ending> endings) {
        for (const auto& ending : endings) {
            add_attempt(ending);
            add_checkpoints(*ending.attempt);
            add_events(*ending.attempt);
            add_lines(*ending.attempt);
            if (ending.clue != nullptr && ending.clue->at_s) {
                add(*ending.clue->at_s, ending.clue->what, ending.clue->source);
            }
        }
        std::ranges::stable_sort(moments_, {}, &Moment::at_s);
        const auto same = [](const Moment& a, const Moment& b) {
            return a.at_s == b.at_s && a.what == b.what;
        };
        moments_.erase(std::unique(moments_.begin(), moments_.end(), same), moments_.end());
        return std::move(moments_);
    }

 private:
    void add(std::int64_t at_s, std::string what, std::string source) {
        moments_.push_back({at_s, std::move(what), std::move(source)});
    }
    [[nodiscard]] std::string source_of(const Origin& from) const {
        return place_of(records_.sources, {from.file, from.line, {}});
    }

    void add_attempt(const Ending& ending) {
        const auto& attempt = *ending.attempt;
        const auto source = source_of(attempt.from);
        if (attempt.submit_s) {
            add(*attempt.submit_s, job_text(attempt) + " was submitted, or requeued", source);
        }
        if (attempt.start_s) {
            add(*attempt.start_s,
                fmt::format("job {} started on {}{}", attempt.id, attempt.node_list,
                            attempt.gpus > 0 ? ", " + count_of(attempt.gpus, "GPU") : ""),
                source);
        }
        add(*attempt.end_s,
            fmt::format("job {} ended: {}{}", attempt.id, attempt.state,
                        attempt.exit_code.empty() || attempt.exit_code == "0:0"
                            ? ""
                            : ", exit code " + attempt.exit_code),
            source);
        if (ending.next != nullptr && ending.next->start_s) {
            add(*ending.next->start_s,
                fmt::format("job {} started again on {}", attempt.id, ending.next->node_list),
                source_of(ending.next->from));
        }
    }

    void add_checkpoints(const JobAttempt& attempt) {
        const auto* found = recorded(attempt, question_);
        if (found != nullptr && found->last_s) {
            add(static_cast<std::int64_t>(*found->last_s),
                fmt::format("job {}: its last checkpoint was complete, the {}. of this attempt",
                            attempt.id, found->checkpoints),
                fmt::format("checkpoint record of job {}", attempt.number));
        }
    }

    void add_events(const JobAttempt& attempt) {
        for (const auto& event : records_.events) {
            if (!is_near(event.begin_s, *attempt.end_s) ||
                !job::hostlist_has(attempt.node_list, event.node)) {
                continue;
            }
            add(event.begin_s, fmt::format("{} went {}: {}", event.node, event.state, event.reason),
                source_of(event.from));
            if (event.end_s) {
                add(*event.end_s, event.node + " was back in service", source_of(event.from));
            }
        }
    }

    void add_lines(const JobAttempt& attempt) {
        for (const auto& line : records_.lines) {
            if (!is_near(line.at_s, *attempt.end_s)) {
                continue;
            }
            if (line.job == attempt.id) {
                add(line.at_s, line_text(line), source_of(line.from));
            } else if (line.job.empty() && shares_node(line.nodes, attempt.node_list)) {
                add(line.at_s, line_text(line), source_of(line.from));
            }
        }
    }

    static bool shares_node(const std::string& nodes, const std::string& list) {
        const auto names = job::expand_hostlist(nodes);
        return names && std::ranges::any_of(*names, [&](const std::string& name) {
                   return job::hostlist_has(list, name);
               });
    }

    static std::string line_text(const LogLine& line) {
        switch (line.kind) {
            case LineKind::silent:
                return "slurmctld: " + line.nodes + " does not respond";
            case LineKind::down:
                return "slurmctld: " + line.nodes + " does not respond and is set DOWN";
            case LineKind::back:
                return "slurmctld: " + line.nodes + " responds again";
            case LineKind::set_state:
                return fmt::format("slurmctld: {} is set {}", line.nodes, line.what);
            case LineKind::set_reason:
                return fmt::format("slurmctld: the reason of {} is set to \"{}\"", line.nodes,
                                   line.what);
            case LineKind::node_failed:
                return fmt::format("slurmctld: job {} ends for the failure of {}", line.job,
                                   line.nodes);
            case LineKind::requeued:
                return fmt::format("slurmctld: job {} is requeued", line.job);
            case LineKind::preempted:
                return fmt::format("slurmctld: job {} is preempted and requeued", line.job);
            case LineKind::time_limit:
                return fmt::format("slurmctld: the time limit of job {} is over", line.job);
        }
        return {};
    }

    const SlurmRecords& records_;
    const PostmortemQuestion& question_;
    std::vector<Moment> moments_;
};

}  // namespace

const checkpoint::Attempt* recorded(const JobAttempt& attempt, const PostmortemQuestion& question) {
    constexpr double same_s = 120;  // the watcher starts with the first step
    for (const auto& record : question.checkpoints) {
        if (record.job != attempt.number || !attempt.start_s) {
            continue;
        }
        for (const auto& one : record.attempts) {
            if (std::abs(one.started_s - static_cast<double>(*attempt.start_s)) <= same_s) {
                return &one;
            }
        }
    }
    return nullptr;
}

Result<Postmortem> make_postmortem(const SlurmRecords& records,
                                   const PostmortemQuestion& question) {
    std::map<std::string, std::vector<const JobAttempt*>> attempts;
    for (const auto& job : question.jobs) {
        bool is_there = false;
        for (const auto& attempt : records.attempts) {
            if (is_of_job(attempt, job)) {
                auto& own = attempts[attempt.id];
                is_there = true;
                if (std::ranges::find(own, &attempt) == own.end()) {
                    own.push_back(&attempt);
                }
            }
        }
        if (!is_there) {
            return fail(Errc::not_found, fmt::format("no job {} in these records", printable(job)));
        }
    }
    const Finder finder{records, question};
    Postmortem answer;
    std::vector<Ending> endings;
    for (auto& [id, own] : attempts) {
        std::ranges::stable_sort(own, {}, [](const JobAttempt* one) { return one->start_s; });
        for (std::size_t i = 0; i < own.size(); ++i) {
            if (is_well(*own[i])) {
                answer.well.push_back(own[i]);
            } else {
                endings.push_back(finder.look(*own[i], i + 1 < own.size() ? own[i + 1] : nullptr));
            }
        }
    }
    std::ranges::stable_sort(endings, {}, [](const Ending& one) { return *one.attempt->end_s; });
    for (auto& ending : endings) {
        const auto found = std::ranges::find_if(answer.incidents, [&](const Incident& incident) {
            return std::ranges::any_of(incident.endings, [&](const Ending& other) {
                return belong_together(other, ending);
            });
        });
        auto& incident = found == answer.incidents.end() ? answer.incidents.emplace_back() : *found;
        incident.endings.push_back(std::move(ending));
    }
    for (auto& incident : answer.incidents) {
        incident.cause = cause_of(incident.endings.front());
        for (const auto& ending : incident.endings) {  // one end may know what another does not
            if (auto cause = cause_of(ending);
                cause.is_determined && !incident.cause.is_determined) {
                incident.cause = std::move(cause);
            }
        }
        incident.timeline = Timeline{records, question}.of(incident.endings);
        incident.impact = impact_of(incident.endings, records, question);
    }
    return answer;
}

}  // namespace railhead::diagnose
