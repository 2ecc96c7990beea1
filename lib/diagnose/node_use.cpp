#include "diagnose/node_use.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "diagnose/intervals.hpp"
#include "job/hostlist.hpp"

namespace railhead::diagnose {

namespace {

/// A job on one node, and its share of the GPUs there.
struct Stay {
    Interval time;
    double gpus = 0;
};

double as_double(std::int64_t seconds) {
    return static_cast<double>(seconds);
}

/// How long `time` is covered by spans, of which there may be many.
double covered(const Spans& spans, const Interval& time) {
    double sum = 0;
    auto span = std::ranges::lower_bound(spans, time.begin, {}, &Interval::end);
    for (; span != spans.end() && span->begin < time.end; ++span) {
        sum += std::min(span->end, time.end) - std::max(span->begin, time.begin);
    }
    return sum;
}

class Counter {
 public:
    Counter(const SlurmRecords& records, const std::map<std::string, std::uint64_t>& gpus,
            std::int64_t begin_s, std::int64_t end_s)
        : records_{records}, gpus_{gpus}, window_{as_double(begin_s), as_double(end_s)} {}

    NodeUse run() {
        use_.begin_s = window_.begin;
        use_.end_s = window_.end;
        use_.nodes = gpus_.size();
        place_jobs();
        for (const auto& event : records_.events) {
            out_[event.node].push_back(
                {as_double(event.begin_s), event.end_s ? as_double(*event.end_s) : window_.end});
        }
        waited_ = united(std::move(waits_));
        for (const auto& [node, gpus] : gpus_) {
            count(node, gpus);
        }
        if (!idle_.empty()) {
            const auto middle = idle_.begin() + static_cast<std::ptrdiff_t>(idle_.size() / 2);
            std::ranges::nth_element(idle_, middle);
            use_.median_idle_s = *middle;
            if (idle_.size() % 2 == 0) {
                use_.median_idle_s = (*middle + *std::max_element(idle_.begin(), middle)) / 2;
            }
        }
        return std::move(use_);
    }

 private:
    void place_jobs() {
        std::set<std::pair<std::string_view, std::int64_t>> seen;  // files may overlap
        for (const auto& attempt : records_.attempts) {
            // Without nodes it never ran: one that was cancelled as it waited has a start.
            if (!attempt.start_s || attempt.node_list.empty() ||
                !seen.emplace(attempt.id, *attempt.start_s).second) {
                continue;
            }
            const auto begin = as_double(*attempt.start_s);
            if (attempt.submit_s && *attempt.submit_s < *attempt.start_s) {
                waits_.push_back({as_double(*attempt.submit_s), begin});
            }
            const auto end = attempt.end_s ? as_double(*attempt.end_s) : window_.end;
            if (begin >= window_.end || end < begin) {
                continue;
            }
            const auto nodes = job::expand_hostlist(attempt.node_list);
            if (!nodes || nodes->empty()) {
                ++use_.left_out;
                continue;
            }
            const auto share =
                static_cast<double>(attempt.gpus) / static_cast<double>(nodes->size());
            for (const auto& node : *nodes) {
                stays_[node].push_back({{begin, end}, share});
            }
        }
    }

    void count(const std::string& node, std::uint64_t gpus) {
        const auto out = united(std::move(out_[node]));
        const auto service = without(Spans{window_}, out);
        auto& stays = stays_[node];
        std::vector<Interval> times;
        times.reserve(stays.size());
        for (const auto& stay : stays) {
            times.push_back(stay.time);
            use_.busy_gpu_s += stay.gpus * covered(service, stay.time);
        }
        const auto in_service_s = length_of(service);
        use_.in_service_s += in_service_s;
        use_.in_service_gpu_s += in_service_s * static_cast<double>(gpus);
        for (const auto& span : united(std::move(times))) {
            use_.busy_s += covered(service, span);
        }
        count_changes(node, stays, out);
    }

    /// The next job is the first that starts when no job is left.  Both its start and the end
    /// before it lie in the window.
    void count_changes(const std::string& node, std::vector<Stay>& stays, const Spans& out) {
        std::ranges::sort(stays, {}, [](const Stay& stay) { return stay.time.begin; });
        double free_s = window_.begin;
        bool had_job = false;
        for (const auto& stay : stays) {
            if (had_job && stay.time.begin >= free_s && free_s >= window_.begin) {
                add_change({node, free_s, stay.time.begin}, out);
            }
            free_s = had_job ? std::max(free_s, stay.time.end) : stay.time.end;
            had_job = true;
        }
    }

    void add_change(IdleTime idle, const Spans& out) {
        const auto spans = without(united({Interval{idle.begin_s, idle.end_s}}), out);
        const auto length = length_of(spans);
        ++use_.changes;
        use_.idle_s += length;
        idle_.push_back(length);
        for (const auto& span : spans) {
            use_.idle_waited_s += covered(waited_, span);
        }
        if (use_.longest.node.empty() || length > longest_s_) {
            longest_s_ = length;
            use_.longest = std::move(idle);
        }
    }

    const SlurmRecords& records_;
    const std::map<std::string, std::uint64_t>& gpus_;
    Interval window_;
    NodeUse use_;
    std::map<std::string, std::vector<Stay>> stays_;
    std::map<std::string, std::vector<Interval>> out_;
    std::vector<Interval> waits_;
    Spans waited_;
    std::vector<double> idle_;
    double longest_s_ = 0;
};

}  // namespace

NodeUse use_of(const SlurmRecords& records, const std::map<std::string, std::uint64_t>& gpus,
               std::int64_t begin_s, std::int64_t end_s) {
    return Counter{records, gpus, begin_s, end_s}.run();
}

}  // namespace railhead::diagnose
