#include "diagnose/flight_recorder.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::size_t longest = 256;

/// "[0, 1, 2]", as PyTorch writes the ranks of a group.
std::vector<std::uint32_t> ranks_in(std::string_view text) {
    std::vector<std::uint32_t> ranks;
    const auto first = text.find_first_not_of("[ ");
    const auto last = text.find_last_not_of("] ");
    if (first == std::string_view::npos || last < first) {
        return ranks;
    }
    for (const auto part : split(text.substr(first, last + 1 - first), ',')) {
        if (const auto rank = parse_number<std::uint32_t>(trim(part))) {
            ranks.push_back(*rank);
        }
    }
    return ranks;
}

/// What all ranks say of a process group.
struct SeenGroup {
    std::map<std::uint32_t, std::int64_t> enqueued;  ///< by rank
    std::set<std::uint32_t> members;
    std::string name, description;
};

CollectiveGap gap_of(const SeenGroup& seen) {
    CollectiveGap gap;
    gap.group = seen.name;
    gap.description = seen.description;
    const auto last = [](const auto& one) { return one.second; };
    gap.furthest = std::ranges::max_element(seen.enqueued, {}, last)->second;
    for (const auto& [rank, enqueued] : seen.enqueued) {
        if (enqueued < gap.furthest) {
            gap.behind.push_back(rank);
        }
    }
    for (const auto rank : seen.members) {
        if (!seen.enqueued.contains(rank)) {
            gap.untold.push_back(rank);
        }
    }
    return gap;
}

/// The call that the ranks ahead wait in, from the first dump that has it.
void find_call(CollectiveGap& gap, std::span<const FlightRecord> records) {
    for (const auto& record : records) {
        const auto waits = std::ranges::find_if(record.open, [&](const RecordedCall& call) {
            return call.group == gap.group && call.sequence &&
                   std::cmp_equal(*call.sequence, gap.furthest);
        });
        if (waits != record.open.end()) {
            gap.call = waits->name + (waits->sizes.empty() ? "" : " " + waits->sizes);
            gap.file = record.file;
            gap.line = waits->line;
            return;
        }
    }
}

}  // namespace

void FlightRecordReader::begin(bool /*is_object*/) {
    path_.push_back(std::move(key_));
    key_.clear();
    if (path_.size() == 3 && path_[1] == "entries") {
        call_ = {};
        call_.line = json_.line();
    }
    if (path_.size() >= 4 && path_[1] == "entries" && path_[3] == "input_sizes") {
        if (call_.sizes.size() < longest) {
            call_.sizes += call_.sizes.ends_with(']') ? ", [" : "[";
        }
        ++in_sizes_;
    }
}

void FlightRecordReader::end() {
    if (in_sizes_ > 0) {
        call_.sizes += call_.sizes.size() < longest ? "]" : "";
        --in_sizes_;
    }
    if (path_.size() == 3 && path_[1] == "entries") {
        take_call();
    }
    path_.pop_back();
    key_.clear();
}

void FlightRecordReader::value(std::string_view text, bool is_text) {
    const auto depth = path_.size();
    if (depth == 1) {
        if (key_ == "version") {
            record_.version = printable(text.substr(0, longest));
        } else if (key_ == "rank") {
            record_.rank = parse_number<std::uint32_t>(text);
        }
    } else if (depth == 3 && (path_[1] == "pg_config" || path_[1] == "pg_status")) {
        set_group(text);
    } else if (depth == 3 && path_[1] == "entries") {
        if (key_ == "profiling_name") {
            call_.name = printable(text.substr(0, longest));
        } else if (key_ == "state") {
            call_.state = printable(text.substr(0, longest));
        } else if (key_ == "collective_seq_id" && !is_text) {
            call_.sequence = parse_number<std::uint64_t>(text);
        } else if (key_ == "time_created_ns" && !is_text) {
            const auto ns = number_in(text);
            call_.created_s = ns ? std::optional{*ns * 1e-9} : std::nullopt;
        }
    } else if (depth == 4 && path_[1] == "entries" && path_[3] == "process_group") {
        call_.group = call_.group.empty() ? printable(text.substr(0, longest)) : call_.group;
    } else if (in_sizes_ > 0 && call_.sizes.size() < longest) {
        call_.sizes += call_.sizes.ends_with('[') ? "" : ", ";
        call_.sizes += text.substr(0, 32);
    }
}

RecordedGroup* FlightRecordReader::group(const std::string& name) {
    const auto found = record_.groups.find(name);
    if (found != record_.groups.end()) {
        return &found->second;
    }
    if (record_.groups.size() == most_groups) {
        return nullptr;
    }
    auto& made = record_.groups[name];
    made.name = printable(name.substr(0, longest));
    return &made;
}

void FlightRecordReader::set_group(std::string_view text) {
    auto* one = group(path_[2]);
    if (one == nullptr) {
        return;
    }
    if (key_ == "desc") {
        one->description = printable(text.substr(0, longest));
    } else if (key_ == "ranks") {
        one->ranks = ranks_in(text);
    } else if (key_ == "last_enqueued_collective") {
        one->enqueued = parse_number<std::int64_t>(text);
    } else if (key_ == "last_started_collective") {
        one->started = parse_number<std::int64_t>(text);
    } else if (key_ == "last_completed_collective") {
        one->completed = parse_number<std::int64_t>(text);
    }
}

void FlightRecordReader::take_call() {
    ++record_.calls;
    if (call_.state != "completed" && record_.open.size() < most_calls) {
        record_.open.push_back(std::move(call_));
    }
    call_ = {};
}

void FlightRecordReader::finish() {
    json_.finish();
    record_.is_cut = !json_.is_whole();
}

std::optional<std::uint32_t> rank_in_name(std::string_view name) {
    name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
    for (const std::string_view ending : {".gz", ".json", ".txt"}) {
        name.remove_suffix(name.ends_with(ending) ? ending.size() : 0);
    }
    auto start = name.size();
    while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') {
        --start;
    }
    return parse_number<std::uint32_t>(name.substr(start));
}

std::vector<CollectiveGap> find_gaps(std::span<const FlightRecord> records) {
    std::map<std::string, SeenGroup> groups;
    for (const auto& record : records) {
        for (const auto& [name, group] : record.groups) {
            if (!record.rank || !group.enqueued) {
                continue;
            }
            // Names are given again by other ranks: it is the members that make a group.
            auto& seen = groups[fmt::format("{} {}", name, fmt::join(group.ranks, ","))];
            seen.enqueued[*record.rank] = *group.enqueued;
            seen.members.insert(group.ranks.begin(), group.ranks.end());
            seen.name = group.name;
            seen.description = group.description;
        }
    }
    std::vector<CollectiveGap> gaps;
    for (const auto& [key, seen] : groups) {
        auto gap = gap_of(seen);
        find_call(gap, records);
        if (!gap.behind.empty() || (!gap.untold.empty() && !gap.call.empty())) {
            gaps.push_back(std::move(gap));
        }
    }
    return gaps;
}

}  // namespace railhead::diagnose
