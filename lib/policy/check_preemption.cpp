// Whether a preempted job gets the time, and the word, to write its last checkpoint.
//
// Slurm kills what it preempts at once unless the partition, or the QOS, has a GraceTime; and
// within it sends SIGTERM, not the job's own --signal, unless SlurmctldParameters has
// preempt_send_user_signal or, as later manuals have it, PreemptParameters has send_user_signal.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/word_list.hpp"
#include "checkpoint/schedule.hpp"
#include "policy/check.hpp"

namespace railhead::policy {

namespace {

/// Whether jobs of a partition are ended to make room: a suspended one keeps what it has.
bool ends_jobs(const fabric::Cluster& cluster, const fabric::Partition& partition) {
    const auto& mode =
        partition.preempt_mode.empty() ? cluster.preempt_mode : partition.preempt_mode;
    return has_word(mode, "CANCEL") || has_word(mode, "REQUEUE");
}

bool sends_own_signal(const fabric::Cluster& cluster) {
    return has_word(cluster.slurmctld_parameters, "preempt_send_user_signal") ||
           has_word(cluster.preempt_parameters, "send_user_signal");
}

/// By QOS, PreemptMode and GraceTime are the QOS's own, in the database.
enum class By : std::uint8_t { nothing, partition, qos };

By preempted_by(const fabric::Cluster& cluster) {
    std::string_view type = cluster.preempt_type;
    constexpr std::string_view kind = "preempt/";
    if (type.starts_with(kind)) {
        type.remove_prefix(kind.size());
    }
    return equals_ignoring_case(type, "partition_prio") ? By::partition
           : equals_ignoring_case(type, "qos")          ? By::qos
                                                        : By::nothing;
}

class PreemptionChecker {
 public:
    explicit PreemptionChecker(const Site& site) : site_{site} {}

    std::vector<Finding> run() {
        const auto by = preempted_by(site_.cluster);
        bool any = false;
        for (const auto& partition : site_.partitions) {
            if (by != By::nothing && !partition.gpu_nodes.empty() &&
                ends_jobs(site_.cluster, partition.limits)) {
                any = true;
                check_grace(partition, by);
            }
        }
        if (any && !sends_own_signal(site_.cluster)) {
            findings_.push_back({"preemption", Level::warning,
                                 "SlurmctldParameters has no preempt_send_user_signal (later: "
                                 "PreemptParameters=send_user_signal): a preempted job gets "
                                 "SIGTERM, not the --signal at which it saves"});
        }
        return std::move(findings_);
    }

 private:
    /// A partition's own GraceTime counts where partitions preempt.
    void check_grace(const PartitionSite& partition, By by) {
        const auto& settings = partition.settings.checkpoint;
        const auto& usual = checkpoint::usual();
        const auto cost_s = settings.cost_s ? *settings.cost_s : usual.cost_s;
        const auto step_s = settings.step_s ? *settings.step_s : usual.step_s;
        const auto needed_s = static_cast<std::uint32_t>(std::ceil(cost_s + step_s));
        if (by == By::partition && partition.limits.grace_time_s < needed_s) {
            findings_.push_back(
                {"preemption", Level::warning,
                 fmt::format(
                     "partition \"{}\" has GraceTime={}: a preempted job needs {} for a step "
                     "and a checkpoint: GraceTime={}",
                     printable(partition.name), partition.limits.grace_time_s,
                     duration_text(needed_s), needed_s)});
        } else if (by == By::qos && !told_qos_) {
            told_qos_ = true;
            findings_.push_back(
                {"preemption", Level::advice,
                 fmt::format(
                     "jobs are preempted by QOS, whose GraceTime is in the database: `sacctmgr "
                     "show qos format=name,gracetime` should say {} or more",
                     duration_text(needed_s))});
        }
    }

    const Site& site_;
    std::vector<Finding> findings_;
    bool told_qos_ = false;
};

}  // namespace

std::vector<Finding> check_preemption(const Site& site) {
    return PreemptionChecker{site}.run();
}

}  // namespace railhead::policy
