#include "policy/review.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

namespace {

std::string_view first_partition(std::string_view list) {
    return trim(list.substr(0, list.find(',')));
}

/// GPUs a node, where every partition named agrees; 0 when they do not, or when none is known.
std::uint32_t agreed_gpus_per_node(const Work& work) {
    if (work.settings.gang.gpus_per_node > 0) {
        return work.settings.gang.gpus_per_node;
    }
    const auto first = work.partition.gpus_per_node;
    auto rest = work.request.partition;
    for (auto comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
        rest.remove_prefix(comma + 1);
        const auto* partition = work.site.find(first_partition(rest));
        if (partition == nullptr || partition->gpus_per_node != first) {
            return 0;
        }
    }
    return first;
}

bool several_partitions(std::string_view list) {
    return list.find(',') != std::string_view::npos;
}

}  // namespace

bool Changes::any() const {
    return min_nodes || max_nodes || exclusive || cpus_per_task || tasks || switches ||
           switch_wait_s || segment || prefer || exclude || !environment.empty() || warning ||
           requeue || append || time_limit_min;
}

namespace {

/// Longer words than Slurm itself takes: it refuses the job, and we need not weigh them.
bool oversized(const job::JobRequest& request) {
    constexpr std::size_t most = 1024;
    constexpr std::size_t most_of_a_list = std::size_t{64} << 10U;
    const auto longer = [](std::string_view text) { return text.size() > most; };
    return request.node_list.size() > most_of_a_list || request.exclude.size() > most_of_a_list ||
           longer(request.partition) || longer(request.constraint) || longer(request.prefer) ||
           longer(request.account) || longer(request.qos) || longer(request.reservation) ||
           longer(request.gpus_per_job) || longer(request.gpus_per_node) ||
           longer(request.gpus_per_socket) || longer(request.gpus_per_task) ||
           longer(request.gpu_bind) || longer(request.checkpoint.interval) ||
           longer(request.checkpoint.signal) || longer(request.checkpoint.cost) ||
           longer(request.checkpoint.step);
}

/// The rules for jobs with GPUs.
void review_gpus(Work& work) {
    work.gpus_per_node = agreed_gpus_per_node(work);
    work.out.seen.gpus = work.demand.total;
    work.out.seen.gpus_per_node = work.gpus_per_node;
    if (several_partitions(work.request.partition) && work.gpus_per_node == 0) {
        work.say("gang", NoteKind::info, "left as it is: the partitions differ in GPUs a node");
    } else {
        apply_gang_rule(work);
    }
    work.out.seen.nodes = work.nodes;
    if (!work.out.refusal) {
        apply_lemons_rule(work);
        apply_placement_rule(work);
        apply_steering_rule(work);
        apply_isolation_rule(work);
        apply_sockets_rule(work);
    }
}

}  // namespace

Review review(const job::JobRequest& request, const Site& site) {
    Review out;
    if (oversized(request)) {
        out.notes.push_back({"site", NoteKind::info, Mode::observe,
                             "passed as it is: an option is longer than Slurm takes"});
        return out;
    }
    if (request.off && site.policy.user_off) {
        out.off = true;
        return out;
    }
    const auto* partition = site.find(first_partition(request.partition));
    if (partition == nullptr) {
        return out;  // stock will say that there is none
    }
    Work work{request, site, *partition, partition->settings, gpu_demand(request), 0, out};
    apply_rules(site.policy.rules,
                {partition->name, request.account, request.qos,
                 std::max(work.demand.total, work.demand.per_node)},
                work.settings);
    out.seen.partition = partition->name;
    if (!work.settings.enabled) {
        out.off = true;
        return out;
    }
    if (request.off) {
        work.say("site", NoteKind::advice, "this site does not let jobs turn Railhead off");
    }
    if (work.demand.any()) {
        review_gpus(work);
    }
    if (!out.refusal) {
        apply_checkpoint_rule(work);
    }
    return out;
}

Review review_update(const job::JobRequest& request, const Site& site) {
    Review out;
    if (!request.min_nodes || request.switches) {
        return out;
    }
    // The job's partition is not in the update unless it changes: every partition must agree.
    std::optional<std::uint32_t> least;
    const PartitionSite* any = nullptr;
    for (const auto& partition : site.partitions) {
        if (!request.partition.empty() && partition.name != first_partition(request.partition)) {
            continue;
        }
        if (partition.gpu_nodes.empty()) {
            continue;  // no gang is there
        }
        const auto* fabric = site.fabric_of(partition);
        if (fabric == nullptr || fabric->fabric.kind != fabric::Kind::tree ||
            partition.settings.placement.mode != Mode::enforce || !partition.settings.enabled ||
            !partition.off_fabric.empty()) {
            return out;
        }
        const auto span = partition.spans.front().least(*request.min_nodes);
        if (span == 0) {
            continue;  // too small for so many nodes: the job is not there
        }
        if (least && *least != span) {
            return out;
        }
        least = span;
        any = &partition;
    }
    // More than one leaf: the count from before may have become impossible, and the job would wait
    // for nothing.  One leaf is left alone: what the job has is no worse.
    if (least && *least > 1) {
        // Only a time limit in the same update is known: the job's own is not, nor is its default.
        const auto& settings = any->settings.placement;
        const auto wait = price_wait(settings, run_time_of(request, nullptr, settings), false,
                                     site.max_switch_wait_s);
        if (wait.wanted_s == 0) {
            return out;  // then none was written at submission
        }
        out.changes.switches = *least;
        out.changes.switch_wait_s = wait.wanted_s;
        out.seen.wait = wait;
        out.seen.nodes = *request.min_nodes;
        out.seen.least_leaves = *least;
        out.seen.fabric = fabric::Kind::tree;
    }
    return out;
}

std::string user_text(const Review& review, const job::JobRequest& request, Notes notes) {
    const std::string_view who = request.component ? "railhead: het component: " : "railhead: ";
    if (review.refusal) {
        return fmt::format("{}refused: {}", who, review.refusal->text);
    }
    std::string text;
    for (const auto& note : review.notes) {
        const bool told = notes == Notes::all ||
                          (notes == Notes::changes && note.kind != NoteKind::info &&
                           note.kind != NoteKind::quiet);
        if (told && !note.repeated && note.mode != Mode::observe) {
            text += fmt::format("{}{}{}", text.empty() ? "" : "\n", who, note.text);
        }
    }
    return text;
}

std::string log_line(const Review& review, std::uint32_t uid) {
    auto line = fmt::format("uid {} partition {}", uid,
                            review.seen.partition.empty() ? "-" : review.seen.partition);
    if (review.off) {
        return line + ": off";
    }
    if (review.seen.gpus > 0) {
        line += fmt::format(" gpus {}", review.seen.gpus);
    }
    if (review.refusal) {
        return fmt::format("{}: {}: refused: {}", line, review.refusal->rule, review.refusal->text);
    }
    for (const auto& note : review.notes) {
        const bool change = note.kind == NoteKind::change || note.kind == NoteKind::quiet;
        line += fmt::format("; {}{}{}: {}", note.rule, change ? " " : "",
                            change ? to_string(note.mode) : std::string_view{}, note.text);
    }
    return review.notes.empty() ? line + ": unchanged" : line;
}

}  // namespace railhead::policy
