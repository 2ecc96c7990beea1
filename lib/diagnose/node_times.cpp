#include "diagnose/node_times.hpp"

#include <algorithm>

#include "diagnose/failures.hpp"

namespace railhead::diagnose {

namespace {

using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Sorted, and none touches another.
Spans united(Spans spans) {
    std::ranges::sort(spans);
    Spans out;
    for (const auto& [begin, end] : spans) {
        if (!out.empty() && begin <= out.back().second) {
            out.back().second = std::max(out.back().second, end);
        } else {
            out.emplace_back(begin, end);
        }
    }
    return out;
}

std::int64_t length(const Spans& spans) {
    std::int64_t sum = 0;
    for (const auto& [begin, end] : spans) {
        sum += end - begin;
    }
    return sum;
}

/// What two united sets share.
std::int64_t shared(const Spans& a, const Spans& b) {
    std::int64_t sum = 0;
    std::size_t j = 0;
    for (const auto& [begin, end] : a) {
        while (j < b.size() && b[j].second <= begin) {
            ++j;
        }
        for (auto k = j; k < b.size() && b[k].first < end; ++k) {
            sum += std::min(end, b[k].second) - std::max(begin, b[k].first);
        }
    }
    return sum;
}

}  // namespace

void NodeTimes::add(const std::string& node, std::int64_t begin_s, std::int64_t end_s) {
    if (end_s > begin_s) {
        first_s_ = in_.empty() ? begin_s : std::min(first_s_, begin_s);
        last_s_ = in_.empty() ? end_s : std::max(last_s_, end_s);
        in_[node].emplace_back(begin_s, end_s);
    }
}

void NodeTimes::remove(const std::string& node, std::int64_t begin_s, std::int64_t end_s) {
    if (end_s > begin_s) {
        out_[node].emplace_back(begin_s, end_s);
    }
}

std::vector<NodeCount> NodeTimes::take() {
    std::vector<NodeCount> counts;
    counts.reserve(in_.size());
    for (auto& [node, spans] : in_) {
        const auto in = united(std::move(spans));
        auto sum = length(in);
        if (const auto out = out_.find(node); out != out_.end()) {
            sum -= shared(in, united(std::move(out->second)));
        }
        counts.push_back({node, 0, static_cast<double>(sum)});
    }
    in_.clear();
    out_.clear();
    std::ranges::sort(counts, {}, &NodeCount::node);
    return counts;
}

}  // namespace railhead::diagnose
