#include "job_end.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "checkpoint/job_end.hpp"
#include "checkpoint/launch.hpp"
#include "checkpoint/variables.hpp"
#include "options.hpp"

namespace railhead::spank {

namespace {

namespace variable = checkpoint::variable;

/// slurmctld answers in milliseconds; while it does not, a step starts without knowing its end.
constexpr std::chrono::seconds answer_limit{2};

/// Our variable names the job whose end it is.
std::optional<std::int64_t> noted_end(std::uint32_t job, const Lookup& lookup) {
    return checkpoint::read_job_end(lookup(variable::job_end).value_or(""), job);
}

/// What two variables say: ours, and Slurm's (23.02 on).  Of that an srun within another job hands
/// on the other's until slurmstepd sets its own behind user_init, so the number of the job has to
/// fit.
std::optional<std::int64_t> told_end(std::uint32_t job, const Lookup& lookup) {
    if (const auto end = noted_end(job, lookup)) {
        return end;
    }
    if (parse_number<std::uint32_t>(lookup("SLURM_JOB_ID").value_or("")) != job) {
        return std::nullopt;
    }
    return parse_number<std::int64_t>(lookup("SLURM_JOB_END_TIME").value_or(""));
}

}  // namespace

std::string own_scontrol() {
    std::error_code error;
    return checkpoint::find_scontrol(
        std::filesystem::read_symlink("/proc/self/exe", error).string());
}

void note_job_end(const Session& session) {
    const auto choice = choose({}, &own_variable);  // srun's environment, which the step gets
    const auto job = session.number(S_JOB_ID).value_or(0);
    if (!choice || job == 0 || !speaks_of_checkpoints(*choice, &own_variable) ||
        noted_end(job, &own_variable)) {  // Slurm's may be that of a job around this one
        return;
    }
    // NOLINTBEGIN(concurrency-mt-unsafe): one thread
    ::unsetenv(variable::job_end);  // another job's
    if (const auto end = checkpoint::ask_job_end(own_scontrol(), job, answer_limit)) {
        ::setenv(variable::job_end, checkpoint::write_job_end(job, *end).c_str(), 1);
    }
    // NOLINTEND(concurrency-mt-unsafe)
}

std::optional<std::int64_t> find_job_end(const Session& session) {
    const auto job = session.number(S_JOB_ID).value_or(0);
    const auto told = told_end(job, [&](std::string_view name) { return session.variable(name); });
    if (told || session.kind() != StepKind::batch) {
        return told;
    }
    const auto end = checkpoint::ask_job_end(own_scontrol(), job, answer_limit);
    if (!end) {
        slurm_info("railhead: when job %u ends is unknown: %s", job,
                   printable(to_string(end.error())).c_str());
        return std::nullopt;
    }
    return end->value_or(0);
}

}  // namespace railhead::spank
