#include "in_step.hpp"

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "affinity/cpu_bind.hpp"
#include "base/text.hpp"
#include "checkpoint.hpp"
#include "companions.hpp"
#include "health.hpp"
#include "in_task.hpp"
#include "node/facts.hpp"
#include "node/probe.hpp"
#include "node_name.hpp"
#include "node_policy.hpp"
#include "policy/load_policy.hpp"
#include "rails/nccl_conf.hpp"
#include "step.hpp"

namespace railhead::spank {

namespace {

/// The arguments of plugstack.conf, unless they are wrong, and the step once prepare() has made it.
/// slurmstepd serves one step, and only its main thread comes here.
std::optional<rails::PluginArguments> site;
std::optional<Result<node::Node>> found;  ///< by look_ahead()
std::unique_ptr<Step> current;
std::optional<CheckpointStep> checkpoints;

/// Whether a variable gives a GPU.  Slurm leaves "" or "NoDevFiles" to a step without any.
bool names_gpus(const node::GpuEnvironment& environment) {
    const auto gives = [](const std::optional<std::string>& list) {
        return list && node::gives_gpu(*list);
    };
    return gives(environment.slurm_gpus) || gives(environment.cuda_visible) ||
           gives(environment.rocr_visible);
}

/// Whether the user bound the tasks.  srun has noted it where the job gets its environment; else
/// Slurm's own variables tell, which are still srun's before the tasks are forked.
bool user_binds(const Session& session) {
    return session.variable("RAILHEAD_CPU_BIND") ||
           affinity::variables_bind_tasks(session.variable("SLURM_CPU_BIND_TYPE").value_or(""),
                                          session.variable("SLURM_CPU_BIND_LIST").value_or(""));
}

/// The same of --mem-bind.
bool user_binds_memory(const Session& session) {
    return session.variable("RAILHEAD_MEM_BIND") ||
           affinity::variables_bind_memory(session.variable("SLURM_MEM_BIND_TYPE").value_or(""));
}

/// Variables of the user's file, as srun or sbatch saw it, and of /etc/nccl.conf here.
std::vector<rails::FileSetting> file_settings(const std::string& site_file,
                                              const Session& session) {
    std::vector<rails::FileSetting> files;
    if (const auto own = session.variable("RAILHEAD_NCCL_CONF")) {
        for (const auto name : split(*own, ',')) {
            files.push_back(
                {std::string{name}, std::nullopt, rails::Rung::user_file, "the user's NCCL file"});
        }
    }
    if (auto settings = rails::read_nccl_conf(site_file)) {
        for (auto& [name, value] : *settings) {
            files.push_back({std::move(name), std::move(value), rails::Rung::site_file, site_file});
        }
    }
    return files;
}

/// What the site's policy says about the node `name`; a broken one is logged and left out.
void consult_policy(Step& step, SitePolicy& policy, std::string name) {
    step.type = type_of_node(policy, name);
    if (!policy.trouble().empty()) {
        slurm_info("railhead: %s", policy.trouble().c_str());
    }
    step.node_name = std::move(name);
}

/// The rails that the site declared, else those that are found.
void plan(Step& step) {
    auto declared = rails::declared_rails(step.type ? &*step.type : nullptr, step.arguments.nics);
    step.plan = rails::plan_rails(step.node, declared.rails);
    step.declared_by = std::move(declared.by);
}

node::CacheOptions cache_options(const rails::PluginArguments& arguments) {
    return {.folder = arguments.cache,
            .topology = arguments.topology,
            .version = RAILHEAD_VERSION,
            .root = arguments.root,
            .owner = ::geteuid()};  // of slurmd: whoever may write the cache
}

/// Looks at the node; the text says what is in the way.  The plan is made in any case: the site's
/// own list holds on a node that cannot be read, too.
std::string look(Step& step) {
    auto node =
        found ? *std::exchange(found, std::nullopt)
              : node::probe({.file = step.arguments.topology,
                             .root = step.arguments.root,
                             .owner = policy::trusted_owner(policy::default_places().slurm_conf)});
    if (node) {
        step.node = std::move(*node);
    }
    plan(step);
    return node ? std::string{} : to_string(node.error());
}

/// Fills `step`; the text says what is in the way of serving its tasks.
std::string gather(Step& step, const Session& session, const node::GpuEnvironment& gpus,
                   SitePolicy& policy) {
    const auto choice = choice_of(step.arguments, session);
    if (!choice) {
        return to_string(choice.error());
    }
    step.choice = *choice;
    if (!choice->rail && !choice->gpu_affinity) {
        return {};
    }
    consult_policy(step, policy, node_name(session));
    step.files = file_settings(step.arguments.nccl_conf, session);
    step.memory =
        step.type ? step.type->memory.value_or(step.arguments.memory) : step.arguments.memory;
    step.omp_cores = step.type ? step.type->omp_num_threads.value_or(step.arguments.omp_cores)
                               : step.arguments.omp_cores;
    step.user_binds = user_binds(session);
    step.user_binds_memory = user_binds_memory(session);
    if (auto trouble = look(step); !trouble.empty()) {
        return trouble;
    }
    // What cannot be told here may be in a task, whose device cgroup hides the others' GPUs.
    if (auto positions = node::identify_gpus(step.node, gpus)) {
        step.tasks.gpus = std::move(*positions);
    }
    step.claims = std::make_unique<const Claims>(step.node.gpus.size());
    return {};
}

/// Where prepare() could not tell the node (a heterogeneous step, whose list is of all components,
/// on nodes that are not named as their hosts), the task is told by Slurm.
/// What prepare() set for the other node is then taken away.
void put_node_right(Step& step, const Session& session) {
    if (auto name = session.variable("SLURMD_NODENAME"); name && *name != step.node_name) {
        clean(session);
        SitePolicy policy{step.arguments};
        consult_policy(step, policy, std::move(*name));
        plan(step);
        look_at_health(step);
    }
}

/// Tells the user once: the first task of the job's first node speaks; where the step is to fail,
/// the first task of each node.
void tell(const Session& session, const std::string& text, bool strict) {
    const bool first_task = session.number(S_TASK_ID).value_or(0) == 0;
    const bool first_node = session.number(S_JOB_NODEID).value_or(0) == 0;
    if (first_task && (first_node || strict)) {
        slurm_error("railhead: %s%s", text.c_str(),
                    strict ? "" : ": tasks get no NICs and CPUs of their own");
    }
}

/// What is in the way of serving a task, in words for the user; empty: nothing.
std::string trouble_of(const Step& step, const Result<std::vector<std::size_t>>& visible) {
    if (!step.trouble.empty()) {
        return step.trouble;
    }
    if (!visible) {
        return to_string(visible.error());
    }
    if (step.arguments.strict && !step.plan.missing.empty()) {
        return fmt::format("this node lacks the rail {}", step.plan.missing.front());
    }
    return {};
}

/// Tells a step of checkpoints; a figure that leads nowhere is logged, and nothing told.
void tell(const Session& session) {
    if (const auto told = tell_checkpoints(session, *checkpoints); !told) {
        slurm_info("railhead: no checkpoint interval: %s", to_string(told.error()).c_str());
        checkpoints.reset();
    }
}

void prepare_checkpoints(const Session& session, SitePolicy& policy, bool has_gpus) {
    checkpoints = plan_checkpoints(session, *site, policy, has_gpus);
    if (checkpoints && session.kind() != StepKind::batch) {
        tell(session);
    }
    prepare_companions(session, checkpoints, site->helper);
}

void begin_checkpoints(const Session& session) {
    if (checkpoints && session.kind() == StepKind::batch) {
        tell(session);
    }
    if (checkpoints) {
        start_companions(session, *checkpoints);
    }
}

}  // namespace

void take_arguments(const std::vector<std::string>& words) {
    site.reset();
    auto parsed = rails::parse_plugin_arguments(words);
    if (parsed) {
        site = std::move(*parsed);
    } else {
        slurm_error("railhead: plugstack.conf: %s: going on without Railhead",
                    parsed.error().message.c_str());
    }
}

void keep_facts() {
    if (!site || site->cache.empty()) {
        return;
    }
    const auto facts = node::gather_facts(cache_options(*site));
    const auto trouble = facts ? facts->unkept : to_string(facts.error());
    if (!trouble.empty()) {
        slurm_info("railhead: each step will look at the hardware: %s", printable(trouble).c_str());
    }
}

void look_ahead(const Session& session) {
    found.reset();
    if (!site || site->cache.empty() || !names_gpus(gpu_environment(session))) {
        return;
    }
    const auto choice = choice_of(*site, session);
    if (!choice || !(choice->rail || choice->gpu_affinity)) {
        return;
    }
    auto facts = node::find_facts(cache_options(*site));
    if (facts) {
        if (!facts->unkept.empty()) {
            slurm_verbose("railhead: facts not kept: %s", printable(facts->unkept).c_str());
        }
        found = std::move(facts->node);
    } else if (facts.error().code == Errc::unavailable) {
        found = propagate(facts);  // it took the time there is: prepare() shall not try again
    }
}

void prepare(const Session& session) {
    current.reset();
    checkpoints.reset();
    prepare_companions(session, std::nullopt, {});
    clean(session);
    if (!site) {
        return;
    }
    const auto gpus = gpu_environment(session);
    const bool has_gpus = names_gpus(gpus);
    SitePolicy policy{*site};
    prepare_checkpoints(session, policy, has_gpus);
    if (!has_gpus) {
        return;  // a step without GPUs pays nothing
    }
    auto step = std::make_unique<Step>();
    step->arguments = *site;
    step->kind = session.kind();
    step->tasks.tasks = session.number(S_JOB_LOCAL_TASK_COUNT).value_or(1);
    step->trouble = gather(*step, session, gpus, policy);
    if (!step->trouble.empty()) {
        slurm_info("railhead: %s", step->trouble.c_str());  // the daemon's log only
    }
    look_at_health(*step);
    if (!step->unhealthy.empty()) {
        slurm_info("railhead: %s", step->unhealthy.c_str());
    }
    // Slurm takes four microseconds to set a variable, so that is done once for all tasks.
    serve_job(session, *step);
    current = std::move(step);
}

bool apply(const Session& session) {
    begin_checkpoints(session);
    if (!current || !(current->choice.rail || current->choice.gpu_affinity)) {
        return true;
    }
    put_node_right(*current, session);
    if (!pass_health(session, *current)) {
        return false;
    }
    const bool strict = current->arguments.strict;
    auto gpus = gpu_environment(session);
    gpus.openable = node::find_openable(current->node);
    const auto visible = current->trouble.empty() ? node::identify_gpus(current->node, gpus)
                                                  : std::vector<std::size_t>{};
    if (const auto trouble = trouble_of(*current, visible); !trouble.empty()) {
        tell(session, trouble, strict);
        serve_job(session, *current);
        return !strict;
    }
    if (visible->empty()) {
        clean(session);  // a task without GPUs, beside others that have some
        return true;
    }
    serve_task(session, *current, {*visible, node::visible_words(current->node, gpus)});
    return true;
}

}  // namespace railhead::spank
