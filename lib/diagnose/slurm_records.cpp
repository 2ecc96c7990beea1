#include "diagnose/slurm_records.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "job/hostlist.hpp"
#include "policy/lemons.hpp"

namespace railhead::diagnose {

namespace {

/// "+01:00", "-0530", "Z": seconds east of Greenwich.
std::optional<std::int64_t> parse_zone(std::string_view text) {
    if (text == "Z") {
        return 0;
    }
    if (text.size() < 5 || (text[0] != '+' && text[0] != '-')) {
        return std::nullopt;
    }
    const auto hours = parse_number<unsigned>(text.substr(1, 2));
    const auto minutes = parse_number<unsigned>(text.substr(text[3] == ':' ? 4 : 3));
    if (!hours || !minutes || *hours > 14 || *minutes > 59) {
        return std::nullopt;
    }
    const auto east_s = (std::int64_t{*hours} * 60 + *minutes) * 60;
    return text[0] == '-' ? -east_s : east_s;
}

constexpr std::int64_t same_s = 60;  // apart, an event of the log and of accounting are one

/// Whether a line of the log may be about how this attempt ended.
bool ended_by(const JobAttempt& attempt, const LogLine& line) {
    constexpr std::int64_t slack_s = 120;  // the nodes of a job that is killed take their time
    return attempt.failed_node.empty() && attempt.start_s && *attempt.start_s <= line.at_s &&
           (!attempt.end_s || line.at_s <= *attempt.end_s + slack_s);
}

bool is_out(const LogLine& line) {
    return line.kind == LineKind::down ||
           (line.kind == LineKind::set_state &&
            (line.what.starts_with("DOWN") || line.what.starts_with("DRAIN") ||
             line.what.starts_with("FAIL")));
}

bool is_in(const LogLine& line) {
    return line.kind == LineKind::back ||
           (line.kind == LineKind::set_state &&
            (line.what.starts_with("IDLE") || line.what.starts_with("RESUME") ||
             line.what.starts_with("UNDRAIN")));
}

/// What the log says of one node, line by line.
class LoggedNode {
 public:
    void read(const LogLine& line) {
        if (line.kind == LineKind::set_reason) {
            constexpr std::int64_t together_s = 1;  // scontrol sets both at once, in any order
            reason_ = line.what;
            reason_at_s_ = line.at_s;
            if (event_ && line.at_s - event_->begin_s <= together_s) {
                event_->reason = line.what;
            }
        } else if (is_out(line) && !event_) {
            event_ = NodeEvent{{}, line.at_s, std::nullopt, {}, {}, line.from};
            event_->state = line.kind == LineKind::down ? "DOWN" : line.what;
            event_->reason = line.kind == LineKind::down     ? "Not responding"
                             : reason_at_s_ >= line.at_s - 1 ? reason_
                                                             : std::string{};
        } else if (is_in(line) && event_) {
            event_->end_s = line.at_s;
            events.push_back(*std::exchange(event_, std::nullopt));
        }
    }
    void finish() {
        if (event_) {
            events.push_back(*std::exchange(event_, std::nullopt));
        }
    }

    std::vector<NodeEvent> events;

 private:
    std::optional<NodeEvent> event_;
    std::string reason_;
    std::int64_t reason_at_s_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace

bool is_of_job(const JobAttempt& attempt, std::string_view job) {
    const std::string_view id = attempt.id;
    return id == job || (id.starts_with(job) && (id[job.size()] == '_' || id[job.size()] == '+'));
}

std::optional<SlurmTime> parse_slurm_time(std::string_view text) {
    if (const auto seconds = parse_number<std::int64_t>(text)) {
        return *seconds > 0 ? std::optional{SlurmTime{*seconds, true}} : std::nullopt;
    }
    constexpr std::size_t plain = std::string_view{"2026-12-01T12:00:30"}.size();
    if (text.size() < plain || text[10] != 'T') {
        return std::nullopt;
    }
    auto rest = text.substr(plain);
    if (rest.starts_with('.')) {
        rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
    }
    const auto at_s = policy::parse_until(text.substr(0, plain));
    const auto east_s = rest.empty() ? std::optional<std::int64_t>{0} : parse_zone(rest);
    if (!at_s || !east_s) {
        return std::nullopt;
    }
    return SlurmTime{*at_s - *east_s, !rest.empty()};
}

std::uint64_t gpus_of_tres(std::string_view tres) {
    std::uint64_t typed = 0;
    for (const auto part : split(tres, ',')) {
        const auto equals = part.find('=');
        const auto key = part.substr(0, equals);
        const auto count = equals == std::string_view::npos
                               ? std::nullopt
                               : parse_number<std::uint64_t>(part.substr(equals + 1));
        if (count && key == "gres/gpu") {
            return *count;  // all types together
        }
        if (count && key.starts_with("gres/gpu:")) {
            typed += *count;
        }
    }
    return typed;
}

std::string_view short_state(std::string_view state) {
    return state.substr(0, state.find_first_of(" +"));
}

void add_failed_nodes(SlurmRecords& records) {
    std::multimap<std::string_view, JobAttempt*> by_id;
    for (auto& attempt : records.attempts) {
        by_id.emplace(attempt.id, &attempt);
    }
    for (const auto& line : records.lines) {
        if (line.kind != LineKind::node_failed || line.nodes.empty()) {
            continue;
        }
        const auto [from, to] = by_id.equal_range(line.job);
        for (auto it = from; it != to; ++it) {
            if (ended_by(*it->second, line)) {
                it->second->failed_node = line.nodes;
                break;
            }
        }
    }
}

void add_logged_events(SlurmRecords& records) {
    std::map<std::string, LoggedNode> nodes;
    for (const auto& line : records.lines) {
        if (line.nodes.empty()) {
            continue;
        }
        if (const auto names = job::expand_hostlist(line.nodes)) {
            for (const auto& name : *names) {
                nodes[name].read(line);
            }
        }
    }
    std::multimap<std::string, std::int64_t> known;
    for (const auto& event : records.events) {
        known.emplace(event.node, event.begin_s);
    }
    for (auto& [name, node] : nodes) {
        node.finish();
        const auto [from, to] = known.equal_range(name);
        for (auto& event : node.events) {
            const bool is_known = std::any_of(from, to, [&event = event](const auto& other) {
                return std::abs(other.second - event.begin_s) <= same_s;
            });
            if (!is_known) {
                event.node = name;
                records.events.push_back(std::move(event));
            }
        }
    }
}

}  // namespace railhead::diagnose
