// The lines of slurmctld's log that tell of nodes and of the ends of jobs, as the sources of
// Slurm 22.05 to 26.05 have them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "diagnose/slurm_reader.hpp"

namespace railhead::diagnose {

namespace {

/// In `form`, %n is nodes, %j a job as Slurm writes it ("JobId=12_3(14)"), %s any text up to what
/// follows, or the end.
struct Line {
    std::string_view form;
    LineKind kind;
};

/// The first that fits counts.
constexpr std::array lines{
    Line{"Nodes %n not responding, setting DOWN", LineKind::down},
    Line{"Nodes %n not responding", LineKind::silent},
    Line{"Node %n now responding", LineKind::back},
    Line{"node_did_resp: node %n returned to service", LineKind::back},
    Line{"node %n returned to service", LineKind::back},
    Line{"update_node: node %n reason set to: %s", LineKind::set_reason},
    Line{"update_node: node %n state set to %s", LineKind::set_state},
    Line{"drain_nodes: node %n state set to %s", LineKind::set_state},
    Line{"requeue job %j due to failure of node %n", LineKind::node_failed},
    Line{"Killing %j on failed node %n", LineKind::node_failed},
    Line{"Batch %j missing from batch node %n (not found BatchStartTime after startup)%s",
         LineKind::node_failed},
    Line{"preempted %j has been requeued%s", LineKind::preempted},
    Line{"Requeuing %j", LineKind::requeued},
    Line{"_job_requeue_op: requeue %j per user/system request", LineKind::requeued},
    Line{"Time limit exhausted for %j", LineKind::time_limit},
};

struct Found {
    std::string_view nodes, job, what;
};

bool fits(std::string_view form, std::string_view text, Found& found) {
    while (!form.empty()) {
        const auto percent = std::min(form.find('%'), form.size());
        if (!text.starts_with(form.substr(0, percent))) {
            return false;
        }
        text.remove_prefix(percent);
        form.remove_prefix(percent);
        if (form.empty()) {
            break;
        }
        const char what = form[1];
        form.remove_prefix(2);
        const auto next = form.substr(0, form.find('%'));
        const auto end = next.empty() ? text.size() : text.find(next);
        if (end == std::string_view::npos || (what != 's' && end == 0)) {
            return false;
        }
        (what == 'n' ? found.nodes : what == 'j' ? found.job : found.what) = text.substr(0, end);
        text.remove_prefix(end);
    }
    return trim(text).empty();
}

/// "JobId=12_3(14)" is "12_3".
std::string_view id_of(std::string_view job) {
    constexpr std::string_view key = "JobId=";
    if (job.starts_with(key)) {
        job.remove_prefix(key.size());
    }
    return job.substr(0, job.find_first_of("( "));
}

class SlurmctldLog final : public SlurmLines {
 public:
    using SlurmLines::SlurmLines;

    void read(std::string_view line, std::uint64_t number) override {
        const auto close = line.find("] ");
        if (!line.starts_with('[') || close == std::string_view::npos) {
            return;
        }
        auto text = trim(line.substr(close + 2));
        for (const std::string_view level : {"error: ", "info: ", "sched: "}) {
            if (text.starts_with(level)) {
                text.remove_prefix(level.size());
            }
        }
        for (const auto& known : lines) {
            Found found;
            if (fits(known.form, text, found)) {
                add(known.kind, found, line.substr(1, close - 1), number);
                return;
            }
        }
    }

 private:
    void add(LineKind kind, const Found& found, std::string_view time, std::uint64_t number) {
        const auto at_s = time_of(time);
        if (!at_s) {
            note_unread(number);
            return;
        }
        into().lines.push_back({kind, *at_s, printable(found.nodes), printable(id_of(found.job)),
                                printable(found.what), at(number)});
    }
};

}  // namespace

std::unique_ptr<SlurmLines> read_slurmctld_log(SlurmRecords& into, std::uint32_t file) {
    return std::make_unique<SlurmctldLog>(into, file);
}

}  // namespace railhead::diagnose
