#include "report/checkpoint_status.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using checkpoint::Attempt;
using checkpoint::Cause;
using checkpoint::Record;
using json = nlohmann::ordered_json;

constexpr std::size_t width = 80;

double age_s(double at_s, double now_s) {
    return std::max(0.0, now_s - at_s);
}

/// The last attempt that failed, and so lost work; null where none did.
const Attempt* last_failure(const Record& record) {
    const auto found = std::find_if(record.attempts.rbegin(), record.attempts.rend(),
                                    [](const Attempt& attempt) { return lost_s(attempt).has_value(); });
    return found == record.attempts.rend() ? nullptr : &*found;
}

std::string last_text(const Record& record, double now_s) {
    const auto& last = record.latest.back();
    return fmt::format("the last {} ago: {}, {}, {}", time_text(age_s(last.at_s, now_s)),
                       printable(last.name), last.layout,
                       bytes_text(static_cast<double>(last.bytes)));
}

std::string cost_text(const Record& record) {
    const auto cost_s = record.mean_cost_s();
    return cost_s ? fmt::format(
                        "{} to write one, by {} of them: at most so long training stood "
                        "still",
                        time_text(*cost_s), record.costs)
                  : "not known: no checkpoint was seen from its beginning";
}

std::string interval_text(const Record& record) {
    const auto mean_s = record.mean_interval_s();
    auto text = mean_s ? time_text(*mean_s) + " on average" : std::string{"not yet known"};
    return record.interval_s > 0 ? text + fmt::format("; {} wanted", time_text(record.interval_s))
                                 : text;
}

std::string_view ended_by(Cause cause) {
    switch (cause) {
        case Cause::unknown:
            return "its end was not seen";
        case Cause::exited:
            return "its tasks ended";
        case Cause::failed:
            return "it failed";
        case Cause::node:
            return "a node failed";
        case Cause::preempted:
            return "it was preempted";
        case Cause::requeued:
            return "it was preempted, or requeued by hand";
        case Cause::time_limit:
            return "its time was over";
        case Cause::cancelled:
            return "it was cancelled";
        case Cause::completed:
            return "it completed";
    }
    return "";
}

std::string attempt_text(const Attempt& attempt, double now_s) {
    auto text = fmt::format("{}: {}", attempt.restarts + 1,
                            count_of(attempt.checkpoints, "checkpoint"));
    if (!attempt.ended_s) {
        return text + fmt::format(", runs for {}", time_text(age_s(attempt.started_s, now_s)));
    }
    text += fmt::format(", ended {} ago: {}", time_text(age_s(*attempt.ended_s, now_s)),
                        ended_by(attempt.cause));
    const auto lost_s = checkpoint::lost_s(attempt);
    return lost_s ? text + fmt::format(", {} of work lost", time_text(*lost_s)) : text;
}

json or_null(const std::optional<double>& value) {
    return value ? json(*value) : json(nullptr);
}

json last_json(const Record& record, double now_s) {
    if (record.latest.empty()) {
        return nullptr;
    }
    const auto& last = record.latest.back();
    return {{"name", last.name},
            {"layout", last.layout},
            {"at", last.at_s},
            {"bytes", last.bytes},
            {"age_s", age_s(last.at_s, now_s)},
            {"write_s", or_null(last.write_s)}};
}

json attempts_json(const Record& record) {
    auto list = json::array();
    for (const auto& attempt : record.attempts) {
        list.push_back({{"restarts", attempt.restarts},
                        {"started", attempt.started_s},
                        {"ended", or_null(attempt.ended_s)},
                        {"cause", checkpoint::to_string(attempt.cause)},
                        {"checkpoints", attempt.checkpoints},
                        {"lost_s", or_null(checkpoint::lost_s(attempt))}});
    }
    return list;
}

}  // namespace

std::string checkpoint_status_text(const Record& record, double now_s) {
    Table table;
    table.add({"Job", fmt::format("{} \"{}\"", record.job, printable(record.name))});
    table.add({"Folder", printable(record.folder)});
    table.add({"Checkpoints",
               record.latest.empty()
                   ? "none yet"
                   : fmt::format("{} complete, {}", record.checkpoints, last_text(record, now_s))});
    if (!record.trouble.empty()) {
        table.add({"Not watched", printable(record.trouble)});
    }
    table.add({"Cost", cost_text(record)});
    table.add({"Interval", interval_text(record)});
    constexpr std::size_t few = 10;
    const auto first = record.attempts.size() - std::min(few, record.attempts.size());
    for (std::size_t i = first; i < record.attempts.size(); ++i) {
        table.add({i == first ? "Attempts" : "", attempt_text(record.attempts[i], now_s)});
    }
    table.add({"Held", record.hold ? printable(record.hold->reason) : "no"});
    for (const auto& one : record.broken) {
        table.add({"Not complete", fmt::format("{}: {}", printable(one.name), printable(one.why))});
    }
    return table.text(0, width);
}

std::string checkpoint_status_json(const Record& record, double now_s) {
    auto broken = json::array();
    for (const auto& one : record.broken) {
        broken.push_back({{"name", one.name}, {"why", one.why}});
    }
    const auto* failure = last_failure(record);
    const json document{
        {"schema", "railhead.ckpt-status/1"},
        {"job", record.job},
        {"name", record.name},
        {"folder", record.folder},
        {"nodes", record.nodes},
        {"checkpoints", record.checkpoints},
        {"last", last_json(record, now_s)},
        {"mean_cost_s", or_null(record.mean_cost_s())},
        {"costs_seen", record.costs},
        {"mean_interval_s", or_null(record.mean_interval_s())},
        {"interval_s", record.interval_s > 0 ? json(record.interval_s) : json(nullptr)},
        {"attempts", attempts_json(record)},
        {"lost_s", failure == nullptr ? json(nullptr) : or_null(checkpoint::lost_s(*failure))},
        {"held", record.hold.has_value()},
        {"hold_reason", record.hold ? json(record.hold->reason) : json(nullptr)},
        {"broken", broken},
        {"trouble", record.trouble.empty() ? json(nullptr) : json(record.trouble)}};
    constexpr int indent = 2;
    return document.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
