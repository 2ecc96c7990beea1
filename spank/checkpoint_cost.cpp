#include "checkpoint_cost.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "checkpoint/state_folder.hpp"
#include "checkpoint/variables.hpp"
#include "job/job_name.hpp"

namespace railhead::spank {

// srun, sbatch and salloc call us before they start threads.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace {

namespace variable = checkpoint::variable;

/// Of this process's job, by its own command line.
std::string own_job_name() {
    const auto line = read_file("/proc/self/cmdline");
    std::vector<std::string> words;
    for (const auto word : split(line ? std::string_view{*line} : std::string_view{}, '\0')) {
        words.emplace_back(word);
    }
    if (!words.empty()) {
        words.pop_back();  // behind the last NUL
    }
    job::NameSources sources;
    const auto is_called = [&](std::string_view name) {
        return !words.empty() && (words[0] == name || words[0].ends_with("/" + std::string{name}));
    };
    sources.command = spank_context() == S_CTX_LOCAL ? job::Command::srun
                      : is_called("salloc")          ? job::Command::salloc
                                                     : job::Command::sbatch;
    sources.arguments = std::span{words}.subspan(words.empty() ? 0 : 1);
    sources.environment = &own_variable;
    sources.script = [](const std::string& path) -> std::optional<std::string> {
        constexpr std::size_t most = std::size_t{4} << 20U;  // Slurm's own limit
        auto text = read_file(path, most);
        return text ? std::optional{std::move(*text)} : std::nullopt;
    };
    return job::find_job_name(sources);
}

void send(const Session& session, const char* name, const std::string& value) {
    constexpr int overwrite = 1;
    ::setenv(name, value.c_str(), overwrite);
    spank_job_control_setenv(session.handle(), name, value.c_str(), overwrite);
}

}  // namespace

void send_checkpoint_cost(const Session& session) {
    const bool is_step = spank_context() == S_CTX_LOCAL && own_variable("SLURM_JOB_ID");
    if (is_step || own_variable(variable::cost)) {
        return;  // the job's nodes share the value that it began with; a user's own counts
    }
    const auto cost_s = checkpoint::cost_of(own_job_name(), &own_variable);
    if (!cost_s) {
        slurm_verbose("railhead: %s", cost_s.error().message.c_str());
    } else if (*cost_s) {
        send(session, variable::cost, fmt::format("{:.3f}", **cost_s));
        if (!own_variable(variable::interval)) {  // an interval of the user's stays one
            send(session, variable::source, std::string{checkpoint::from::history});
        }
    }
}

// NOLINTEND(concurrency-mt-unsafe)

}  // namespace railhead::spank
