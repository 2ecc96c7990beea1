#include "affinity/binding.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace railhead::affinity {

namespace {

using node::Node;

/// The cores that touch `cpus`, each cut down to it.
std::vector<CpuSet> cores_within(const Node& node, const CpuSet& cpus) {
    std::vector<CpuSet> cores;
    for (const auto& core : node.cores) {
        if (auto part = core & cpus; !part.empty()) {
            cores.push_back(std::move(part));
        }
    }
    return cores;
}

CpuSet joined(const std::vector<CpuSet>& cores, std::size_t first, std::size_t last) {
    CpuSet all;
    for (auto i = first; i < last; ++i) {
        all |= cores[i];
    }
    return all;
}

/// The turn-th of `count` even runs of the cores; all of them where they do not go round.
CpuSet run_of(const std::vector<CpuSet>& cores, std::size_t turn, std::size_t count) {
    const auto size = cores.size();
    return size < count ? joined(cores, 0, size)
                        : joined(cores, size * turn / count, size * (turn + 1) / count);
}

/// CPUs for a task, and how many of them it has for itself when each is divided fairly.
struct Offer {
    CpuSet cpus;
    double fair = 0;
};

/// What the task gets when every GPU of the step has a share.
Offer from_shares(const Node& node, const StepTasks& step, const TaskGpus& task,
                  const std::vector<Share>& shares) {
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

}  // namespace

std::vector<Share> share_cpus(const Node& node, const std::vector<std::size_t>& gpus,
                              const CpuSet& granted) {
    std::vector<Share> shares;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const auto& near = node.gpus[gpus[i]].cpus;
        const auto same = [&](std::size_t gpu) { return node.gpus[gpu].cpus == near; };
        const auto here = gpus.begin() + static_cast<std::ptrdiff_t>(i);
        const auto turn = static_cast<std::size_t>(std::count_if(gpus.begin(), here, same));
        const auto count = static_cast<std::size_t>(std::ranges::count_if(gpus, same));
        const auto cores = cores_within(node, near & granted);
        shares.push_back(
            {run_of(cores, turn, count), cores.size() < count ? static_cast<unsigned>(count) : 1U});
    }
    return shares;
}

Binding bind_task(const Node& node, const StepTasks& step, const TaskGpus& task,
                  const Grant& grant) {
    if (task.gpus.empty()) {
        return {{}, "it has no GPU"};
    }
    if (!task.certain) {
        return {{}, fmt::format("{} tasks share {} GPUs unevenly", step.tasks, step.gpus.size())};
    }
    const auto shares = share_cpus(node, step.gpus, grant.step);
    const bool all_have_one =
        std::ranges::none_of(shares, [](const Share& share) { return share.cpus.empty(); });
    auto offer = all_have_one ? from_shares(node, step, task, shares)
                              : from_own_mask(node, task, grant.task);
    if (offer.cpus.empty()) {
        return {{}, fmt::format("no granted CPU is near GPU {}", node.gpus[task.gpus[0]].index)};
    }
    const auto even = static_cast<double>(grant.step.size()) / std::max(1U, step.tasks);
    if (offer.fair < std::min(even, static_cast<double>(grant.cpus_per_task))) {
        return {{},
                fmt::format("too few granted CPUs are near GPU {}", node.gpus[task.gpus[0]].index)};
    }
    return {std::move(offer.cpus), {}};
}

}  // namespace railhead::affinity
