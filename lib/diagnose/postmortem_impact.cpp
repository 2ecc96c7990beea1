// What an incident cost, in hours of GPUs.
#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/postmortem.hpp"

namespace railhead::diagnose {

namespace {

constexpr double hour_s = 3600;

class Reckoner {
 public:
    Reckoner(const SlurmRecords& records, const PostmortemQuestion& question)
        : records_{records}, question_{question} {}

    Impact of(std::span<const Ending> endings) {
        for (const auto& ending : endings) {
            ++(ending.attempt->gpus == 0 ? impact_.without_gpus : impact_.with_gpus);
            if (ending.attempt->gpus == 0) {
                note(
                    fmt::format("The GPUs of job {} are not known: accounting needs "
                                "AccountingStorageTRES=gres/gpu.",
                                ending.attempt->id));
                continue;
            }
            add_work(ending);
            add_return(ending);
            add_node(ending);
        }
        return std::move(impact_);
    }

 private:
    void note(std::string text) {
        if (std::ranges::find(impact_.notes, text) == impact_.notes.end()) {
            impact_.notes.push_back(std::move(text));
        }
    }

    static double hours(const JobAttempt& attempt, double seconds) {
        return std::max(0.0, seconds) * static_cast<double>(attempt.gpus) / hour_s;
    }

    /// Training stood still when the node went out of service, at the latest when the job ended.
    void add_work(const Ending& ending) {
        const auto& attempt = *ending.attempt;
        if (!attempt.start_s) {
            return;
        }
        const auto end_s = static_cast<double>(*attempt.end_s);
        const auto start_s = static_cast<double>(*attempt.start_s);
        const auto stopped_s =
            ending.event != nullptr
                ? std::clamp(static_cast<double>(ending.event->begin_s), start_s, end_s)
                : end_s;
        impact_.idle += hours(attempt, end_s - stopped_s);
        const auto* record = recorded(attempt, question_);
        if (record == nullptr) {
            impact_.has_upper_bounds = true;
            note(
                fmt::format("No checkpoint record of job {}: all of its work since its start is "
                            "counted as lost, which is the most it can be.",
                            attempt.id));
        }
        const auto kept_s = record != nullptr ? record->last_s.value_or(start_s) : start_s;
        impact_.recomputed += hours(attempt, stopped_s - std::max(kept_s, start_s));
    }

    void add_return(const Ending& ending) {
        const auto* next = ending.next;
        if (next == nullptr || !next->start_s) {
            return;
        }
        const auto& attempt = *ending.attempt;
        impact_.queue += hours(attempt, static_cast<double>(*next->start_s - *attempt.end_s));
        const auto restart_s = question_.restart_s.value_or(usual_restart_s);
        const auto ran_s =
            static_cast<double>(next->end_s.value_or(records_.latest_s) - *next->start_s);
        impact_.restart += hours(*next, std::min(restart_s, ran_s));
        note(fmt::format("A restart takes {}, {}.",
                         duration_text(static_cast<std::uint64_t>(restart_s)),
                         question_.restart_s ? "as given"
                                             : "assumed as for RSC's jobs (arXiv:2410.21680); "
                                               "--restart tells another time"));
    }

    /// A node that stays out of service leaves its own GPUs idle, once for all of its jobs.
    void add_node(const Ending& ending) {
        const auto& attempt = *ending.attempt;
        if (ending.event == nullptr || attempt.nodes == 0 || !seen_.insert(ending.event).second) {
            return;
        }
        const auto end_s = ending.event->end_s.value_or(records_.latest_s);
        const auto from_s = std::max(ending.event->begin_s, *attempt.end_s);
        impact_.idle += hours(attempt, static_cast<double>(end_s - from_s)) /
                        static_cast<double>(attempt.nodes);
        if (!ending.event->end_s) {
            note(fmt::format("{} was still out of service at the last time of these records.",
                             ending.event->node));
        }
    }

    const SlurmRecords& records_;
    const PostmortemQuestion& question_;
    Impact impact_;
    std::set<const NodeEvent*> seen_;
};

}  // namespace

Impact impact_of(std::span<const Ending> endings, const SlurmRecords& records,
                 const PostmortemQuestion& question) {
    return Reckoner{records, question}.of(endings);
}

}  // namespace railhead::diagnose
