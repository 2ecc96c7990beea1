#include "in_step.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "affinity/binding.hpp"
#include "affinity/cpu_bind.hpp"
#include "affinity/cpu_mask.hpp"
#include "affinity/gpu_map.hpp"
#include "affinity/task_gpus.hpp"
#include "base/text.hpp"
#include "node/gpu_identity.hpp"
#include "node/probe.hpp"
#include "options.hpp"
#include "own_mask.hpp"
#include "rails/environment.hpp"
#include "rails/nccl_conf.hpp"
#include "rails/plugin_arguments.hpp"
#include "rails/rail_plan.hpp"

namespace railhead::spank {

namespace {

/// What prepare() found out for the tasks of this step.
struct Step {
    Choice choice;
    StepKind kind = StepKind::step;
    node::Node node;
    rails::RailPlan plan;
    std::vector<rails::Owner> conf;  ///< variables that files of NCCL set
    affinity::StepTasks tasks;
    bool user_binds = false;  ///< --cpu-bind was given
    std::string trouble;      ///< why nothing is done, to be told by the first task
};

/// The arguments, and the step's plan once prepare() has made it.  slurmstepd serves one step;
/// each task's process has its own copy from the fork.
rails::PluginArguments arguments;
std::unique_ptr<const Step> current;

/// Names that a step of ours may have left for the steps inside it.
constexpr std::array leftovers{"RAILHEAD_VERSION", "RAILHEAD_CPUS", "RAILHEAD_BINDING",
                               "RAILHEAD_GPU_MAP"};

rails::Lookup lookup_in(const Session& session) {
    return [&session](std::string_view name) { return session.variable(name); };
}

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

bool names_gpus(const node::GpuEnvironment& environment) {
    return environment.slurm_gpus || environment.cuda_visible || environment.rocr_visible;
}

// ---- once a step --------------------------------------------------------------------------

/// The user's word for this job.  A variable that the job's environment lacks (--export=NONE) may
/// still be in the copy that sbatch sent along.
Result<Choice> choice_of(const Session& session) {
    return choose(arguments, [&](std::string_view name) {
        auto value = session.variable(name);
        return value ? value : session.variable("SLURM_SPANK_" + std::string{name});
    });
}

/// Whether the user bound the tasks.  srun has noted it where the job gets its environment; else
/// Slurm's own variables tell, which are still srun's before the tasks are forked.
bool user_binds(const Session& session) {
    return session.variable("RAILHEAD_CPU_BIND") ||
           affinity::variables_bind_tasks(session.variable("SLURM_CPU_BIND_TYPE").value_or(""),
                                          session.variable("SLURM_CPU_BIND_LIST").value_or(""));
}

/// Variables of /etc/nccl.conf here, and of the user's file as srun or sbatch saw it.
std::vector<rails::Owner> conf_variables(const Session& session) {
    std::vector<rails::Owner> owners;
    if (const auto own = session.variable("RAILHEAD_NCCL_CONF")) {
        for (const auto name : split(*own, ',')) {
            owners.push_back({std::string{name}, "the user's NCCL file"});
        }
    }
    if (const auto names = rails::read_nccl_conf(arguments.nccl_conf)) {
        for (const auto& name : *names) {
            owners.push_back({name, arguments.nccl_conf});
        }
    }
    return owners;
}

/// Fills `step`; the text says what is in the way.
std::string gather(Step& step, const Session& session, const node::GpuEnvironment& gpus) {
    auto node = node::probe({.hwloc_xml = arguments.topology});
    if (!node) {
        return to_string(node.error());
    }
    step.node = std::move(*node);
    step.plan = rails::plan_rails(step.node, arguments.nics);
    step.conf = conf_variables(session);
    auto positions = node::identify_gpus(step.node, gpus);
    if (!positions) {
        return to_string(positions.error());
    }
    step.tasks.gpus = std::move(*positions);
    return {};
}

// ---- in a task ----------------------------------------------------------------------------

/// Tells the user once: the first task of the job's first node speaks; where the step is to fail,
/// the first task of each node.
void tell(const Session& session, const std::string& text) {
    const bool first_task = session.number(S_TASK_ID).value_or(0) == 0;
    const bool first_node = session.number(S_JOB_NODEID).value_or(0) == 0;
    if (first_task && (first_node || arguments.strict)) {
        slurm_error("railhead: %s%s", text.c_str(),
                    arguments.strict ? "" : ": tasks are left as they are");
    }
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

/// Takes away what an outer step of ours left, so that nobody reads another step's answer.
void clean(const Session& session) {
    change(session, rails::clean_environment(lookup_in(session)));
    for (const auto* const name : leftovers) {
        session.unset(name);
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

void set_rails(const Session& session, const Step& step, const affinity::TaskGpus& task) {
    std::vector<std::size_t> nics;
    for (const auto gpu : task.gpus) {
        const auto& own = step.plan.gpus[gpu].nics;
        nics.insert(nics.end(), own.begin(), own.end());
    }
    std::ranges::sort(nics);
    nics.erase(std::unique(nics.begin(), nics.end()), nics.end());

    const auto plan = rails::plan_environment(step.node, step.plan, nics, step.conf,
                                              lookup_in(session), step.kind == StepKind::step);
    change(session, plan.changes);
    for (const auto& [name, by] : plan.kept) {
        slurm_verbose("railhead: %s is left to %s", name.c_str(), by.c_str());
    }
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

void serve_task(const Session& session, const Step& step, const std::vector<std::size_t>& visible) {
    const auto task =
        affinity::gpus_of_task(step.tasks, visible, session.number(S_TASK_ID).value_or(0));
    session.set("RAILHEAD_VERSION", RAILHEAD_VERSION);
    if (step.choice.rail) {
        set_rails(session, step, task);
    }
    if (step.choice.gpu_affinity) {
        bind(session, step, task);
    }
    if (arguments.verbose) {
        describe(session, step, task);
    }
}

/// What is in the way of serving this task, in words for the user; empty: nothing.
std::string trouble_of(const Step& step, const Result<std::vector<std::size_t>>& visible) {
    if (!step.trouble.empty()) {
        return step.trouble;
    }
    if (!visible) {
        return to_string(visible.error());
    }
    if (arguments.strict && !step.plan.missing.empty()) {
        return fmt::format("this node lacks the rail {}", step.plan.missing.front());
    }
    return {};
}

}  // namespace

void take_arguments(const std::vector<std::string>& words) {
    auto parsed = rails::parse_plugin_arguments(words);
    if (!parsed) {
        slurm_error("railhead: plugstack.conf: %s: going on without Railhead",
                    parsed.error().message.c_str());
        arguments = {};
        arguments.rail = arguments.gpu_affinity = false;
        return;
    }
    arguments = std::move(*parsed);
}

void prepare(const Session& session) {
    current.reset();
    const auto gpus = gpu_environment(session);
    if (!names_gpus(gpus)) {
        return;  // a step without GPUs pays nothing
    }
    auto step = std::make_unique<Step>();
    step->kind = session.kind();
    step->tasks.tasks = session.number(S_JOB_LOCAL_TASK_COUNT).value_or(1);
    step->user_binds = user_binds(session);
    const auto choice = choice_of(session);
    if (!choice) {
        step->trouble = to_string(choice.error());
    } else {
        step->choice = *choice;
        if (choice->rail || choice->gpu_affinity) {
            step->trouble = gather(*step, session, gpus);
        }
    }
    if (!step->trouble.empty()) {
        slurm_info("railhead: %s", step->trouble.c_str());  // the daemon's log only
    }
    current = std::move(step);
}

bool apply(const Session& session) {
    clean(session);
    if (!current || !(current->choice.rail || current->choice.gpu_affinity)) {
        return true;
    }
    const auto visible = current->trouble.empty()
                             ? node::identify_gpus(current->node, gpu_environment(session))
                             : std::vector<std::size_t>{};
    if (const auto trouble = trouble_of(*current, visible); !trouble.empty()) {
        tell(session, trouble);
        return !arguments.strict;
    }
    if (!visible->empty()) {
        serve_task(session, *current, *visible);
    }
    return true;
}

}  // namespace railhead::spank
