// Records that stand in several files count once.
#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "diagnose/slurm_records.hpp"

namespace railhead::diagnose {

namespace {

std::string text_of(const std::optional<std::int64_t>& time) {
    return time ? std::to_string(*time) : std::string{};
}

/// What two records have in common that are one.
std::string key_of(const JobAttempt& job) {
    auto key = job.id + '\n' + text_of(job.submit_s) + '\n' + text_of(job.start_s);
    if (!job.start_s) {
        key += '\n' + job.state + '\n' + job.node_list + '\n' + job.exit_code + '\n' +
               text_of(job.end_s);
    }
    return key;
}

std::string key_of(const NodeEvent& event) {
    return event.node + '\n' + std::to_string(event.begin_s) + '\n' + event.reason;
}

/// A file that was given twice has another number each time, or the same: the text counts.
std::string key_of(const LogLine& line) {
    return std::to_string(static_cast<int>(line.kind)) + '\n' + std::to_string(line.at_s) + '\n' +
           line.nodes + '\n' + line.job + '\n' + line.what;
}

/// Takes over into `kept` what `other`, which tells the same, knows and it does not.
void complete(JobAttempt& kept, const JobAttempt& other) {
    const bool has_ended = !kept.end_s && other.end_s;
    if (has_ended) {
        kept.end_s = other.end_s;
        kept.state = other.state;
        kept.exit_code = other.exit_code;
        kept.reason = other.reason;
    }
    const auto fill = [](std::string& field, const std::string& from) {
        if (field.empty()) {
            field = from;
        }
    };
    fill(kept.failed_node, other.failed_node);
    fill(kept.node_list, other.node_list);
    fill(kept.name, other.name);
    fill(kept.user, other.user);
    kept.gpus = std::max(kept.gpus, other.gpus);
    kept.nodes = std::max(kept.nodes, other.nodes);
    kept.number = kept.number != 0 ? kept.number : other.number;
    kept.restarts = kept.restarts ? kept.restarts : other.restarts;
}

void complete(NodeEvent& kept, const NodeEvent& other) {
    kept.end_s = kept.end_s ? kept.end_s : other.end_s;
}

void complete(LogLine& /*kept*/, const LogLine& /*other*/) {}

/// How many were taken away.
template <class Record>
std::size_t merge(std::vector<Record>& records) {
    std::unordered_map<std::string, std::size_t> kept;
    kept.reserve(records.size());
    std::size_t size = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto [at, is_new] = kept.emplace(key_of(records[i]), size);
        if (!is_new) {
            complete(records[at->second], records[i]);
            continue;
        }
        if (size != i) {
            records[size] = std::move(records[i]);
        }
        ++size;
    }
    const auto repeated = records.size() - size;
    records.resize(size);
    return repeated;
}

}  // namespace

void merge_repeated(SlurmRecords& records) {
    records.repeated += merge(records.attempts);
    records.repeated += merge(records.events);
    static_cast<void>(merge(records.lines));  // slurmctld says some things twice itself
}

}  // namespace railhead::diagnose
