#include "in_task.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "affinity/binding_line.hpp"
#include "affinity/own_mask.hpp"
#include "task_binding.hpp"

namespace railhead::spank {

namespace {

rails::Lookup lookup_in(const Session& session) {
    return [&session](std::string_view name) { return session.variable(name); };
}

/// To look takes a tenth of the time that Slurm takes to set it.
void set_if_other(const Session& session, const std::string& name, const std::string& value) {
    if (session.variable(name) != value) {
        session.set(name, value);
    }
}

void change(const Session& session, const std::vector<rails::Change>& changes) {
    for (const auto& [name, value] : changes) {
        if (value) {
            set_if_other(session, name, *value);
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

/// What the user asked to be told: RAILHEAD_VERBOSE, or --cpu-bind=verbose, whose own line says
/// what Slurm did before us.
bool wants_line(const Session& session, const Step& step) {
    return step.arguments.verbose ||
           parse_switch(session.variable("RAILHEAD_VERBOSE").value_or("")).value_or(false) ||
           session.variable("SLURM_CPU_BIND_VERBOSE") == "verbose";
}

/// The path of all these GPUs to their NICs; "" where they differ.
std::string path_of(const Step& step, const std::vector<std::size_t>& gpus) {
    std::string path;
    for (const auto gpu : gpus) {
        const std::string own{to_string(step.plan.gpus[gpu].path)};
        if (!path.empty() && path != own) {
            return {};
        }
        path = own;
    }
    return path;
}

/// Says what the task got, on its standard error.
void describe(const Session& session, const Step& step, const TaskView& task, const Bound& bound) {
    affinity::BindingLine line;
    line.who = fmt::format(
        "node {} task {} rank {}", session.variable("SLURMD_NODENAME").value_or("?"),
        session.number(S_TASK_ID).value_or(0), session.number(S_TASK_GLOBAL_ID).value_or(0));
    for (const auto gpu : task.own.gpus) {
        line.gpus.push_back({step.node.gpus[gpu].index, to_string(step.node.gpus[gpu].pci)});
    }
    line.cpus = bound.cpus;
    line.cpus_kept = bound.cpus_kept;
    line.numa = affinity::numa_of(step.node, bound.cpus);
    if (!bound.memory.nodes.empty()) {
        line.memory = to_string(bound.memory.nodes);
        line.memory.insert(0, bound.memory.policy == affinity::MemoryPolicy::bind ? "bind " : "");
    }
    if (step.choice.rail) {
        line.nics = session.variable("RAILHEAD_NIC").value_or("");
        line.path = path_of(step, task.own.gpus);
    }
    slurm_spank_log("railhead: %s", to_string(line).c_str());
}

/// Warns where Slurm gave two tasks the same GPU although there is one for each.  Parts of a GPU
/// (MIG) have different tasks on purpose.
void warn_of_sharing(const Session& session, const Step& step, const TaskView& task) {
    const auto& gpus = task.own.gpus;
    const bool narrowed = gpus.size() < task.step.gpus.size();
    const bool parts =
        std::ranges::any_of(task.words,
                            [](const std::string& word) { return word.starts_with("MIG-"); }) ||
        std::ranges::any_of(
            gpus, [&](std::size_t gpu) { return step.node.gpus[gpu].rocm_indices.size() > 1; });
    if (!step.claims || !narrowed || parts || task.step.tasks > task.step.gpus.size()) {
        return;
    }
    const auto id = session.number(S_TASK_ID).value_or(0);
    for (const auto gpu : gpus) {
        if (const auto other = step.claims->claim(gpu, id)) {
            slurm_error("railhead: tasks %u and %u of node %s both have GPU %u: see --gpu-bind",
                        std::min(*other, id), std::max(*other, id),
                        session.variable("SLURMD_NODENAME").value_or("?").c_str(),
                        step.node.gpus[gpu].index);
        }
    }
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
    found.hip_visible = session.variable("HIP_VISIBLE_DEVICES");
    found.ordinal = session.variable("GPU_DEVICE_ORDINAL");
    found.cuda_order = session.variable("CUDA_DEVICE_ORDER");
    return found;
}

void clean(const Session& session) {
    change(session, rails::clean_environment(lookup_in(session)));
    session.unset("RAILHEAD_VERSION");
    clean_binding(session);
}

void serve_job(const Session& session, const Step& step) {
    if (step.choice.rail && (step.type || !step.plan.list.empty())) {
        session.set("RAILHEAD_VERSION", RAILHEAD_VERSION);
        set_environment(session, step, {});
    }
}

void serve_task(const Session& session, const Step& step, const VisibleGpus& visible) {
    const auto task = view_task(step, visible, session.number(S_TASK_ID).value_or(0));
    set_if_other(session, "RAILHEAD_VERSION", RAILHEAD_VERSION);
    warn_of_sharing(session, step, task);
    if (step.choice.rail) {
        set_environment(session, step, nics_of(step, task.own.gpus));
    }
    Bound bound;
    if (step.choice.gpu_affinity) {
        bound = bind(session, step, task);
    } else {
        bound.cpus = affinity::read_own_mask().value_or(CpuSet{});
        bound.cpus_kept = "switched off";
    }
    if (wants_line(session, step)) {
        describe(session, step, task, bound);
    }
}

}  // namespace railhead::spank
