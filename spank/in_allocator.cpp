#include "in_allocator.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "affinity/cpu_bind.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "checkpoint_cost.hpp"
#include "checkpoint/launch.hpp"
#include "checkpoint/variables.hpp"
#include "checkpoint/wish.hpp"
#include "options.hpp"
#include "rails/nccl_conf.hpp"
#include "rails/plugin_arguments.hpp"

namespace railhead::spank {

// srun, sbatch and salloc call us before they start threads.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace {

[[noreturn]] void refuse(const std::string& message) {
    slurm_error("railhead: %s", message.c_str());
    std::exit(1);  // srun, sbatch or salloc: the user's own process, before anything is submitted
}

namespace variable = checkpoint::variable;

/// A wish about checkpoints: its variable, and the option that says the same, if any.
struct Wish {
    const char* variable;
    const char* option;
};
constexpr std::array<Wish, 5> wishes{{{variable::interval, "ckpt_interval"},
                                      {variable::signal, "ckpt_signal"},
                                      {variable::folder, "ckpt_dir"},
                                      {variable::cost, ""},
                                      {variable::step, ""}}};

/// Where a job finds what its submission sent along: by which option, and as a copy of a variable.
std::string sent_option(const Wish& wish) {
    return std::string{"SLURM_SPANK__SLURM_SPANK_OPTION_railhead_"} + wish.option;
}
std::string sent_copy(const Wish& wish) {
    return std::string{"SLURM_SPANK_"} + wish.variable;
}

/// Intervals are told in seconds, however they were wished.
bool same_interval(const std::string& told, const std::string& wished) {
    const auto a = checkpoint::parse_interval_wish(told);
    const auto b = checkpoint::parse_interval_wish(wished);
    return a && b && a->seconds && b->seconds &&
           std::llround(*a->seconds) == std::llround(*b->seconds);
}

/// Whether a variable has the outer job's word, and not one that its script has said since.
bool is_outer(const Wish& wish, const std::string& value) {
    const bool is_interval = wish.variable == std::string_view{variable::interval};
    const auto copy = own_variable(sent_copy(wish));
    for (const auto& said : {own_variable(sent_option(wish)), copy}) {
        if (said && (is_interval ? same_interval(value, *said) : value == *said)) {
            return true;
        }
    }
    if (is_interval) {
        return tells_interval(&own_variable);
    }
    // Cost and step may be what the outer job was told at submission, of which no copy is sent.
    const bool has_option = *wish.option != '\0';
    return !has_option && !copy && own_variable(variable::source);
}

void copy_variables(const Session& session) {
    std::vector<const char*> names{variables.begin(), variables.end()};
    names.push_back(variable::cost);
    names.push_back(variable::step);
    for (const auto* const name : names) {
        const bool told =
            name == std::string_view{variable::interval} && tells_interval(&own_variable);
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

/// What a checkpoint and a step take have no option that would look at them.
void check_figures() {
    for (const auto* const name : {variable::cost, variable::step}) {
        const auto value = own_variable(name);
        if (value && !value->empty() && !checkpoint::parse_seconds(*value)) {
            refuse(fmt::format("{}={}: takes a time above 0, up to 365 d: 30, 90s, 1:30:00", name,
                               printable(*value)));
        }
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

void forget_outer_job() {
    if (spank_context() == S_CTX_LOCAL && own_variable("SLURM_JOB_ID")) {
        return;  // a step of that job
    }
    for (const auto& wish : wishes) {
        if (const auto value = own_variable(wish.variable); value && is_outer(wish, *value)) {
            ::unsetenv(wish.variable);
        }
        ::unsetenv(sent_option(wish).c_str());
        ::unsetenv(sent_copy(wish).c_str());
    }
    for (const auto& [name, value] : checkpoint::no_launch_variables()) {
        ::unsetenv(name.c_str());
    }
    ::unsetenv(variable::watched);
}

void send_choice(const Session& session) {
    const auto choice = choose({}, &own_variable);
    if (!choice) {
        refuse(choice.error().message);
    }
    if (choice->railhead) {
        check_figures();
    }
    copy_variables(session);
    note_own_nccl_conf();
    note_bindings();
    if (choice->railhead) {
        send_checkpoint_cost(session);
    }
}

}  // namespace railhead::spank
