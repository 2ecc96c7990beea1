#include "in_task.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "affinity/binding.hpp"
#include "affinity/cpu_mask.hpp"
#include "affinity/gpu_map.hpp"
#include "own_mask.hpp"

namespace railhead::spank {

namespace {

/// Names that a step of ours may have left for the steps inside it.
constexpr std::array leftovers{"RAILHEAD_VERSION", "RAILHEAD_CPUS", "RAILHEAD_BINDING",
                               "RAILHEAD_GPU_MAP"};

rails::Lookup lookup_in(const Session& session) {
    return [&session](std::string_view name) { return session.variable(name); };
}

void change(const Session& session, const std::vector<rails::Change>& changes) {
    for (const auto& [name, value] : changes) {
        if (value) {
            session.set(name, *value);
        } else {
            session.unset(name);
        }
    }
}

/// The NICs of these GPUs, each once.
std::vector<std::size_t> nics_of(const Step& step, const std::vector<std::size_t>& gpus) {
    std::vector<std::size_t> nics;
    for (const auto gpu : gpus) {
        const auto& own = step.plan.gpus[gpu].nics;
        nics.insert(nics.end(), own.begin(), own.end());
    }
    std::ranges::sort(nics);
    nics.erase(std::unique(nics.begin(), nics.end()), nics.end());
    return nics;
}

/// What libraries are told; nothing is set where they are told nothing.
void set_environment(const Session& session, const Step& step,
                     const std::vector<std::size_t>& nics) {
    const auto lookup = lookup_in(session);
    const auto plan =
        rails::plan_environment({.node = step.node,
                                 .plan = step.plan,
                                 .nics = nics,
                                 .files = step.files,
                                 .environment = lookup,
                                 .type = step.type ? &*step.type : nullptr,
                                 .declared_by = step.declared_by,
                                 .per_task = step.kind == StepKind::step});
    change(session, plan.changes);
    for (const auto& [name, by] : plan.kept) {
        slurm_verbose("railhead: %s is left to %s", name.c_str(), by.c_str());
    }
}

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
        return "it has all GPUs of the step";
    }
    return {};
}

/// Binds the task, or says in RAILHEAD_BINDING why not.
void bind(const Session& session, const Step& step, const affinity::TaskGpus& task) {
    const auto own = read_own_mask();
    if (!own) {
        return;
    }
    const affinity::Grant grant{step_cpus(session, *own), *own,
                                session.number(S_STEP_CPUS_PER_TASK).value_or(1)};
    if (task.gpus.size() > 1) {
        session.set("RAILHEAD_GPU_MAP",
                    affinity::gpu_map(step.node, step.plan, task.gpus,
                                      affinity::share_cpus(step.node, task.gpus, grant.step)));
    }
    auto reason = exemption(step, task);
    if (reason.empty()) {
        const auto binding = affinity::bind_task(step.node, step.tasks, task, grant);
        reason = binding.reason;
        if (reason.empty()) {
            session.set("RAILHEAD_CPUS", to_string(binding.cpus));
            if (const auto bound = write_own_mask(binding.cpus); !bound) {
                reason = bound.error().message;
            }
        }
    }
    session.set("RAILHEAD_BINDING", reason.empty() ? "gpu" : "none: " + reason);
}

/// One line about this task for `verbose`.
void describe(const Session& session, const Step& step, const affinity::TaskGpus& task) {
    std::string gpus;
    for (const auto gpu : task.gpus) {
        gpus += fmt::format("{}{}", gpus.empty() ? "" : ",", step.node.gpus[gpu].index);
    }
    const auto shown = [&](const char* name) { return session.variable(name).value_or("-"); };
    slurm_spank_log("railhead: node %u, task %u: GPU %s, NIC %s, CPUs %s, binding %s",
                    session.number(S_JOB_NODEID).value_or(0), session.number(S_TASK_ID).value_or(0),
                    gpus.c_str(), shown("RAILHEAD_NIC").c_str(), shown("RAILHEAD_CPUS").c_str(),
                    shown("RAILHEAD_BINDING").c_str());
}

}  // namespace

node::GpuEnvironment gpu_environment(const Session& session) {
    node::GpuEnvironment found;
    found.slurm_gpus = session.variable("SLURM_STEP_GPUS");
    if (!found.slurm_gpus && session.kind() != StepKind::step) {
        found.slurm_gpus = session.variable("SLURM_JOB_GPUS");
    }
    found.cuda_visible = session.variable("CUDA_VISIBLE_DEVICES");
    found.rocr_visible = session.variable("ROCR_VISIBLE_DEVICES");
    return found;
}

void clean(const Session& session) {
    change(session, rails::clean_environment(lookup_in(session)));
    for (const auto* const name : leftovers) {
        session.unset(name);
    }
}

void serve_job(const Session& session, const Step& step) {
    if (step.choice.rail && (step.type || !step.plan.list.empty())) {
        session.set("RAILHEAD_VERSION", RAILHEAD_VERSION);
        set_environment(session, step, {});
    }
}

void serve_task(const Session& session, const Step& step, const std::vector<std::size_t>& visible) {
    const auto task =
        affinity::gpus_of_task(step.tasks, visible, session.number(S_TASK_ID).value_or(0));
    session.set("RAILHEAD_VERSION", RAILHEAD_VERSION);
    if (step.choice.rail) {
        set_environment(session, step, nics_of(step, task.gpus));
    }
    if (step.choice.gpu_affinity) {
        bind(session, step, task);
    }
    if (step.arguments.verbose) {
        describe(session, step, task);
    }
}

}  // namespace railhead::spank
