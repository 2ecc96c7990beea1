#include "task_binding.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "affinity/binding.hpp"
#include "affinity/cores.hpp"
#include "affinity/cpu_mask.hpp"
#include "affinity/gpu_map.hpp"
#include "affinity/own_mask.hpp"
#include "affinity/own_memory.hpp"

namespace railhead::spank {

namespace {

using affinity::MemoryPolicy;

constexpr const char* omp = "OMP_NUM_THREADS";
constexpr const char* omp_marker = "RAILHEAD_OMP_NUM_THREADS";

/// The CPUs of the step on this node, as the masks of all its tasks show them; without
/// task/affinity every task has them all.
CpuSet step_cpus(const Session& session, const CpuSet& own) {
    const auto type = session.variable("SLURM_CPU_BIND_TYPE");
    const auto list = session.variable("SLURM_CPU_BIND_LIST");
    if (type && list && type->find("mask_cpu") != std::string::npos) {
        if (const auto masks = affinity::parse_cpu_masks(*list)) {
            return *masks | own;
        }
    }
    return own;
}

/// Why this task is not to be bound, whatever its CPUs; empty: it is.
std::string exemption(const Step& step, const affinity::TaskGpus& task) {
    if (step.kind != StepKind::step) {
        return step.kind == StepKind::batch ? "batch step" : "interactive step";
    }
    if (step.user_binds) {
        return "--cpu-bind was given";
    }
    if (step.tasks.tasks == 1 && task.gpus.size() > 1) {
        return std::string{affinity::has_all_gpus};
    }
    return {};
}

/// The step as this task sees it: where the two lists of GPUs do not fit together, its own counts.
affinity::StepTasks step_of(const Step& step, const VisibleGpus& visible) {
    auto tasks = step.tasks;
    const bool known = std::ranges::all_of(
        visible.gpus, [&](std::size_t gpu) { return std::ranges::count(tasks.gpus, gpu) > 0; });
    if (!known) {
        const bool all = tasks.tasks <= 1 || visible.gpus.size() == tasks.gpus.size();
        tasks.gpus = all ? visible.gpus : std::vector<std::size_t>{};
    }
    return tasks;
}

/// The site's policy for this task's memory, and what the kernel allows.
affinity::MemoryGrant memory_grant(const Step& step, const CpuSet& cpus) {
    const auto allowed = affinity::read_allowed_memory();
    return {step.memory, allowed ? *allowed : affinity::MemoryNodes{}, cpus};
}

/// The share of each of the task's GPUs, for its own processes.
std::string map_of(const Step& step, const TaskView& task, const affinity::StepShares& dealt) {
    const auto& step_gpus = dealt.step.gpus;
    auto grant = memory_grant(step, {});
    std::vector<affinity::MapEntry> entries;
    for (std::size_t i = 0; i < task.own.gpus.size(); ++i) {
        auto& entry = entries.emplace_back();
        entry.gpu = task.own.gpus[i];
        const auto at = std::ranges::find(step_gpus, entry.gpu) - step_gpus.begin();
        if (static_cast<std::size_t>(at) < dealt.shares.size()) {
            entry.cpus = dealt.shares[static_cast<std::size_t>(at)].cpus;
        }
        if (!step.user_binds_memory) {
            grant.cpus = entry.cpus;
            entry.memory = affinity::place_memory(step.node, {entry.gpu}, grant);
        }
        if (!task.words.empty()) {
            entry.visible = task.words[i];
        }
    }
    return affinity::gpu_map(step.node, step.plan, entries);
}

/// The memory of a task that is bound to `cpus`, or that has them from Slurm.
affinity::Memory bind_memory(const Step& step, const affinity::TaskGpus& task, const Bound& bound) {
    const bool ours = step.kind == StepKind::step && bound.cpus_kept != affinity::has_all_gpus;
    if (!ours || !task.certain || step.user_binds_memory) {
        return {MemoryPolicy::off,
                {},
                step.user_binds_memory ? "--mem-bind was given" : bound.cpus_kept};
    }
    auto memory = affinity::place_memory(step.node, task.gpus, memory_grant(step, bound.cpus));
    if (!memory.nodes.empty()) {
        if (auto done = affinity::write_own_memory(memory); !done) {
            return {MemoryPolicy::off, {}, std::move(done.error().message)};
        }
    }
    return memory;
}

void set_omp(const Session& session, const Step& step, const Bound& bound) {
    if (!step.omp_cores || !bound.cpus_kept.empty() || session.variable(omp)) {
        return;
    }
    const auto count = fmt::format("{}", affinity::cores_within(step.node, bound.cpus).size());
    session.set(omp, count);
    session.set(omp_marker, count);
}

/// Binds the task's CPUs; gives why not, or nothing.
std::string bind_cpus(const Session& session, const affinity::Binding& binding, CpuSet& now) {
    if (!binding.reason.empty()) {
        return binding.reason;
    }
    session.set("RAILHEAD_CPUS", to_string(binding.cpus));
    if (const auto done = affinity::write_own_mask(binding.cpus); !done) {
        return done.error().message;
    }
    now = binding.cpus;
    return {};
}

}  // namespace

TaskView view_task(const Step& step, const VisibleGpus& visible, unsigned local_id) {
    TaskView view;
    view.step = step_of(step, visible);
    view.own = affinity::gpus_of_task(view.step, visible.gpus, local_id);
    for (const auto gpu : view.own.gpus) {
        if (visible.words.size() == visible.gpus.size()) {
            const auto at = std::ranges::find(visible.gpus, gpu) - visible.gpus.begin();
            view.words.push_back(visible.words[static_cast<std::size_t>(at)]);
        }
    }
    return view;
}

Bound bind(const Session& session, const Step& step, const TaskView& task) {
    Bound bound;
    const auto own = affinity::read_own_mask();
    if (!own) {
        bound.cpus_kept = own.error().message;
        return bound;
    }
    bound.cpus = *own;
    const affinity::Grant grant{step_cpus(session, *own), *own,
                                session.number(S_STEP_CPUS_PER_TASK).value_or(1)};
    const auto dealt = affinity::share_step(step.node, task.step, grant);
    if (task.own.gpus.size() > 1) {
        session.set("RAILHEAD_GPU_MAP", map_of(step, task, dealt));
    }
    bound.cpus_kept = exemption(step, task.own);
    if (bound.cpus_kept.empty()) {
        const auto binding = affinity::bind_task(step.node, dealt, task.own, grant);
        bound.cpus_kept = bind_cpus(session, binding, bound.cpus);
    }
    bound.memory = bind_memory(step, task.own, bound);
    set_omp(session, step, bound);
    session.set("RAILHEAD_BINDING", bound.cpus_kept.empty() ? "gpu" : "none: " + bound.cpus_kept);
    session.set("RAILHEAD_MEMORY", to_string(bound.memory));
    return bound;
}

void clean_binding(const Session& session) {
    if (const auto ours = session.variable(omp_marker); ours && session.variable(omp) == ours) {
        session.unset(omp);
    }
    for (const auto* const name :
         {"RAILHEAD_CPUS", "RAILHEAD_BINDING", "RAILHEAD_MEMORY", "RAILHEAD_GPU_MAP", omp_marker}) {
        session.unset(name);
    }
}

}  // namespace railhead::spank
