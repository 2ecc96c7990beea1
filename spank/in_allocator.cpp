#include "in_allocator.hpp"

#include <cstdlib>
#include <string>

#include "affinity/cpu_bind.hpp"
#include "base/file.hpp"
#include "checkpoint/launch.hpp"
#include "checkpoint/variables.hpp"
#include "options.hpp"
#include "rails/nccl_conf.hpp"
#include "rails/plugin_arguments.hpp"

namespace railhead::spank {

// srun, sbatch and salloc call us before they start threads.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace {

std::optional<std::string> own_variable(std::string_view name) {
    const char* value = std::getenv(std::string{name}.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

[[noreturn]] void refuse(const std::string& message) {
    slurm_error("railhead: %s", message.c_str());
    std::exit(1);  // srun, sbatch or salloc: the user's own process, before anything is submitted
}

/// A job that is submitted from within a job is told nothing of the outer one's checkpoints.
void forget_outer_job() {
    namespace variable = checkpoint::variable;
    if (spank_context() == S_CTX_LOCAL && own_variable("SLURM_JOB_ID")) {
        return;  // a step of that job
    }
    if (tells_interval(&own_variable)) {
        ::unsetenv(variable::interval);
    }
    if (own_variable(variable::source) == checkpoint::from::history) {
        ::unsetenv(variable::cost);
    }
    for (const auto& [name, value] : checkpoint::no_launch_variables()) {
        ::unsetenv(name.c_str());
    }
}

void copy_variables(const Session& session) {
    std::vector<const char*> names{variables.begin(), variables.end()};
    names.push_back(checkpoint::variable::cost);
    names.push_back(checkpoint::variable::step);
    for (const auto* const name : names) {
        const bool told = name == std::string_view{checkpoint::variable::interval} &&
                          tells_interval(&own_variable);
        if (const auto value = told ? std::nullopt : own_variable(name)) {
            constexpr int overwrite = 1;
            spank_job_control_setenv(session.handle(), name, value->c_str(), overwrite);
        }
    }
}

/// The file that NCCL reads for this user: $NCCL_CONF_FILE, else ~/.nccl.conf.
std::string own_nccl_conf() {
    if (const auto file = own_variable("NCCL_CONF_FILE")) {
        return *file;
    }
    const auto home = own_variable("HOME");
    return home ? *home + "/.nccl.conf" : std::string{};
}

/// NCCL reads this file on every rank, so what it sets is the user's word.  The names alone go to
/// the nodes: every step inherits them.
void note_own_nccl_conf() {
    ::unsetenv("RAILHEAD_NCCL_CONF");  // of a step around this one
    const auto settings = rails::read_nccl_conf(own_nccl_conf());
    if (!settings) {
        return;  // NCCL cannot read it either
    }
    std::string names;
    for (const auto& [name, value] : *settings) {
        if (name.find(',') == std::string::npos) {
            names += (names.empty() ? "" : ",") + name;
        }
    }
    if (!names.empty()) {
        ::setenv("RAILHEAD_NCCL_CONF", names.c_str(), 1);
    }
}

void note(const char* name, bool by_user) {
    if (by_user) {
        ::setenv(name, "user", 1);
    } else {
        ::unsetenv(name);
    }
}

/// What reaches the nodes does not tell --cpu-bind=threads from what follows of --hint; only here
/// they are still apart.
void note_bindings() {
    const auto line = read_file("/proc/self/cmdline");
    note("RAILHEAD_CPU_BIND",
         (line && affinity::command_binds_tasks(*line)) ||
             affinity::binds_tasks(own_variable("SLURM_CPU_BIND").value_or("")));
    note("RAILHEAD_MEM_BIND",
         (line && affinity::command_binds_memory(*line)) ||
             affinity::binds_memory(own_variable("SLURM_MEM_BIND").value_or("")));
}

}  // namespace

// NOLINTEND(concurrency-mt-unsafe)

void check_arguments(const std::vector<std::string>& arguments) {
    const auto parsed = rails::parse_plugin_arguments(arguments);
    if (!parsed) {
        refuse("plugstack.conf: " + parsed.error().message);
    }
}

void send_choice(const Session& session) {
    if (const auto choice = choose({}, &own_variable); !choice) {
        refuse(choice.error().message);
    }
    forget_outer_job();
    copy_variables(session);
    note_own_nccl_conf();
    note_bindings();
}

}  // namespace railhead::spank
