#include "companions.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "checkpoint/variables.hpp"
#include "companion.hpp"
#include "job_end.hpp"
#include "node_name.hpp"
#include "policy/load_policy.hpp"

namespace railhead::spank {

namespace {

namespace variable = checkpoint::variable;
using checkpoint::Target;

/// They have a last word: the watcher writes its record.
constexpr std::chrono::seconds farewell{1};

/// Of this step; slurmstepd serves one, and only its main thread comes here.
struct Current {
    std::string helper;
    std::optional<Companion> clock, watcher;
    std::uint32_t tasks_left = 0;
};
Current current;

/// A command line in the making.
class Words {
 public:
    Words(const std::string& helper, const char* part) : words_{helper, part} {}
    template <class T>
    void add(const char* name, const T& value) {
        words_.emplace_back(name);
        words_.push_back(fmt::format("{}", value));
    }
    void add(const char* flag) { words_.emplace_back(flag); }
    [[nodiscard]] std::vector<std::string> take() { return std::move(words_); }

 private:
    std::vector<std::string> words_;
};

std::uint32_t job_of(const Session& session) {
    return session.number(S_JOB_ID).value_or(0);
}

/// The job whose checkpoints are watched: of the components of a heterogeneous job the first, whose
/// number all of them have in common.  A variable of an outer job's is told by its size.
std::uint32_t watched_job(const Session& session) {
    const auto number = [&session](const char* name) {
        return parse_number<std::uint32_t>(session.variable(name).value_or(""));
    };
    const auto job = job_of(session);
    const auto first = number("SLURM_HET_JOB_ID");
    const auto size = number("SLURM_HET_SIZE");
    const bool is_component = first && size && job >= *first && job - *first < *size;
    return is_component ? *first : job;
}

bool is_first_node(const Session& session) {
    return session.number(S_JOB_NODEID).value_or(0) == 0;
}

/// Why the program may not be run: as Slurm's own programs it has to be root's, or the site's.
std::optional<std::string> distrust(const std::string& helper) {
    const UniqueFd file{::open(helper.c_str(), O_PATH | O_CLOEXEC)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return helper + " is missing";
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & S_IXOTH) == 0) {
        return helper + " is no program that everybody may run";
    }
    const auto owner = policy::trusted_owner(policy::default_places().slurm_conf);
    const auto trusted = check_trusted(status, helper, owner);
    return trusted ? std::nullopt : std::optional{to_string(trusted.error())};
}

/// What the program, and Slurm's commands that it runs, need; nothing by which a job's environment
/// could turn them astray.
std::vector<std::string> environment_of(const Session& session) {
    const auto scontrol = own_scontrol();
    const auto folder = scontrol.substr(0, scontrol.rfind('/') + 1);
    std::vector<std::string> result{"LC_ALL=C", fmt::format("PATH={}{}/usr/local/bin:/usr/bin:/bin",
                                                            folder, folder.empty() ? "" : ":")};
    constexpr std::array names{"HOME",
                               "XDG_STATE_HOME",
                               "SLURM_CONF",
                               "SLURM_CLUSTER_NAME",
                               "SLURM_JOB_NODELIST",
                               "SLURM_ARRAY_JOB_ID",
                               "SLURM_ARRAY_TASK_ID"};
    for (const auto* const name : names) {
        if (const auto value = session.variable(name)) {
            result.push_back(fmt::format("{}={}", name, *value));
        }
    }
    if (const auto conf = own_variable("SLURM_CONF"); conf && !session.variable("SLURM_CONF")) {
        result.push_back(fmt::format("SLURM_CONF={}", *conf));
    }
    return result;
}

/// Whom a clock on this node signals; nothing: there is none to signal here.
std::optional<std::string_view> target_here(const Session& session, Target target) {
    switch (session.kind()) {
        case StepKind::interactive:
            return std::nullopt;  // what people run in a shell is not to be searched for ranks
        case StepKind::batch:
            return target == Target::batch ? "batch" : "in-batch";
        case StepKind::step:
            break;
    }
    if (target == Target::batch || (target == Target::rank0 && !is_first_node(session))) {
        return std::nullopt;
    }
    return target == Target::rank0 ? "rank0" : "tasks";
}

std::optional<std::string_view> clock_target(const Session& session, const CheckpointStep& step) {
    return step.signal ? target_here(session, step.signal->target) : std::nullopt;
}

std::vector<std::string> clock_words(const Session& session, const CheckpointStep& step,
                                     std::string_view target) {
    Words words{current.helper, "clock"};
    words.add("--job", job_of(session));
    words.add("--signal", step.signal->number);
    words.add("--target", target);
    words.add("--interval", step.launch.interval_s);
    words.add("--lead", step.launch.lead_s);
    if (step.launch.deadline_s) {
        words.add("--deadline", *step.launch.deadline_s);
    } else if (step.is_endless) {
        words.add("--deadline", 0);  // so that it is not asked for at once
    }
    if (session.kind() == StepKind::step && session.number(S_JOB_NNODES).value_or(1) > 1) {
        words.add("--node", node_name(session));
    }
    if (is_first_node(session)) {
        words.add("--speaks");
        words.add("--scontrol", own_scontrol());
    }
    words.add("--pid", ::getpid());
    words.add("--parent", ::getppid());
    return words.take();
}

/// The batch or interactive step has the watcher; else the first node of a step.  Steps below know
/// by a variable that there is one; of those that do not, such as several steps at once, the one
/// that comes first takes the watchers' lock, and the others end.
bool has_watcher(const Session& session, const CheckpointStep& step) {
    const bool has_one =
        session.kind() == StepKind::step &&
        session.variable(variable::watched) == fmt::format("{}", watched_job(session));
    return !step.folder.empty() && is_first_node(session) && !has_one;
}

std::vector<std::string> watch_words(const Session& session, const CheckpointStep& step) {
    Words words{current.helper, "watch"};
    words.add("--job", watched_job(session));
    words.add("--name", session.variable("SLURM_JOB_NAME").value_or(""));
    words.add("--dir", step.folder);
    words.add("--interval", step.launch.interval_s);
    words.add("--cost", step.launch.cost_s);
    words.add("--restarts", step.launch.restarts);
    words.add("--attempts", step.attempts);
    words.add("--nodes", step.facts.nodes);
    if (session.kind() == StepKind::batch) {
        words.add("--hold");
    }
    return words.take();
}

std::optional<Companion> make() {
    auto companion = Companion::make();
    if (!companion) {
        slurm_info("railhead: %s", to_string(companion.error()).c_str());
        return std::nullopt;
    }
    return std::move(*companion);
}

void start(const Companion& companion, const std::vector<std::string>& words,
           const std::vector<std::string>& environment) {
    if (const auto started = companion.start(words, environment); !started) {
        slurm_error("railhead: %s", to_string(started.error()).c_str());
    }
}

}  // namespace

void prepare_companions(const Session& session, const std::optional<CheckpointStep>& step,
                        const std::string& helper) {
    current = {};
    if (!step || helper.empty()) {
        return;
    }
    const bool clock = clock_target(session, *step).has_value();
    const bool watcher = has_watcher(session, *step);
    if (!clock && !watcher) {
        return;
    }
    if (const auto why = distrust(helper)) {
        slurm_info("railhead: no checkpoint clock and no watcher: %s", why->c_str());
        return;
    }
    current.helper = helper;
    current.tasks_left = session.number(S_JOB_LOCAL_TASK_COUNT).value_or(1);
    current.clock = clock ? make() : std::nullopt;
    current.watcher = watcher ? make() : std::nullopt;
    if (current.watcher) {
        session.set(variable::watched, fmt::format("{}", watched_job(session)));
    }
}

void start_companions(const Session& session, const CheckpointStep& step) {
    const bool first_task = session.number(S_TASK_ID).value_or(0) == 0;
    if (!first_task || !(current.clock || current.watcher)) {
        return;
    }
    if (const auto obstacle = Companion::obstacle()) {
        if (is_first_node(session)) {
            slurm_error("railhead: no checkpoint clock and no watcher: %s", obstacle->c_str());
        }
        return;
    }
    const auto environment = environment_of(session);
    if (const auto target = clock_target(session, step); target && current.clock) {
        start(*current.clock, clock_words(session, step, *target), environment);
    }
    if (current.watcher) {
        start(*current.watcher, watch_words(session, step), environment);
    }
}

void finish_companions() {
    if (current.tasks_left == 0 || --current.tasks_left > 0) {
        return;
    }
    // Both are told before either is waited for.
    for (auto* companion : {&current.clock, &current.watcher}) {
        if (*companion) {
            (*companion)->end();
        }
    }
    const auto until = std::chrono::steady_clock::now() + farewell;
    for (auto* companion : {&current.clock, &current.watcher}) {
        if (*companion) {
            (*companion)->wait(until);
        }
    }
    current = {};
}

}  // namespace railhead::spank
