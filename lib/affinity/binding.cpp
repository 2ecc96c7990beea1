#include "affinity/binding.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "affinity/cores.hpp"

namespace railhead::affinity {

namespace {

using node::Node;

/// CPUs that a task is not to be left below: what it asked for, or an even part of the step.
double asked(const StepTasks& step, const Grant& grant) {
    const auto even = static_cast<double>(grant.step.size()) / std::max(1U, step.tasks);
    return std::min(even, static_cast<double>(grant.cpus_per_task));
}

/// Whether every task gets what it asked for, when the step's GPUs go round evenly.
bool suffice(const StepTasks& step, const Grant& grant, const std::vector<Share>& shares) {
    const auto gpus = std::max<std::size_t>(1, step.gpus.size());
    const auto tasks = std::max(1U, step.tasks);
    const auto sharers = static_cast<double>((tasks + gpus - 1) / gpus);
    const auto run = static_cast<double>(std::max<std::size_t>(1, gpus / tasks));
    return std::ranges::all_of(shares, [&](const Share& share) {
        const auto fair = static_cast<double>(share.cpus.size()) / share.gpus;
        return !share.cpus.empty() && fair * run / sharers >= asked(step, grant);
    });
}

/// CPUs for a task, and how many of them it has for itself when each is divided fairly.
struct Offer {
    CpuSet cpus;
    double fair = 0;
};

/// What the task gets when every GPU of the step has a share.
Offer from_shares(const Node& node, const StepShares& dealt, const TaskGpus& task) {
    const auto& [step, shares] = dealt;
    Offer offer;
    for (std::size_t i = 0; i < step.gpus.size(); ++i) {
        if (std::ranges::count(task.gpus, step.gpus[i]) > 0) {
            offer.cpus |= shares[i].cpus;
            offer.fair += static_cast<double>(shares[i].cpus.size()) / shares[i].gpus;
        }
    }
    offer.fair /= task.sharers;
    if (task.sharers > 1) {
        offer.cpus = run_of(cores_within(node, offer.cpus), task.turn, task.sharers);
    }
    return offer;
}

/// The part of the task's own mask that is near its GPUs.
Offer from_own_mask(const Node& node, const TaskGpus& task, const CpuSet& mask) {
    CpuSet near;
    for (const auto gpu : task.gpus) {
        near |= node.gpus[gpu].cpus;
    }
    near &= mask;
    return {near, static_cast<double>(near.size())};
}

bool is_of_step(const StepTasks& step, const TaskGpus& task) {
    return std::ranges::all_of(
        task.gpus, [&](std::size_t gpu) { return std::ranges::count(step.gpus, gpu) > 0; });
}

}  // namespace

StepShares share_step(const Node& node, const StepTasks& step, const Grant& grant) {
    auto shares = share_cpus(node, step.gpus, grant.step);
    if (!suffice(step, grant, shares)) {
        shares = share_cpus(node, step.gpus, grant.step, Reach::socket);
    }
    return {step, std::move(shares)};
}

Binding bind_task(const Node& node, const StepShares& dealt, const TaskGpus& task,
                  const Grant& grant) {
    const auto& step = dealt.step;
    if (task.gpus.empty()) {
        return {{}, "it has no GPU"};
    }
    if (!task.certain) {
        return {{}, fmt::format("{} tasks share {} {}", step.tasks, task.gpus.size(), unevenly)};
    }
    const bool all_have_one =
        std::ranges::none_of(dealt.shares, [](const Share& share) { return share.cpus.empty(); });
    auto offer = all_have_one && is_of_step(step, task) ? from_shares(node, dealt, task)
                                                        : from_own_mask(node, task, grant.task);
    if (offer.cpus.empty()) {
        return {{}, fmt::format("no granted CPU is near GPU {}", node.gpus[task.gpus[0]].index)};
    }
    if (offer.fair < asked(step, grant)) {
        return {{},
                fmt::format("too few granted CPUs are near GPU {}", node.gpus[task.gpus[0]].index)};
    }
    return {std::move(offer.cpus), {}};
}

}  // namespace railhead::affinity
