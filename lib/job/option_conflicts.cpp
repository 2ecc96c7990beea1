#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "job/request_builder.hpp"

namespace railhead::job {

namespace {

class Conflicts {
 public:
    Conflicts(std::vector<ScriptOption>& options, std::vector<Error>& warnings)
        : options_{options}, warnings_{warnings} {}

    Result<> settle();

 private:
    /// Said in the script or on the command line: sbatch makes no difference between the two.
    [[nodiscard]] bool said(std::string_view name) const {
        const auto* option = find(name);
        return option != nullptr && option->source != ScriptOption::Source::environment;
    }
    [[nodiscard]] bool from_environment(std::string_view name) const {
        const auto* option = find(name);
        return option != nullptr && option->source == ScriptOption::Source::environment;
    }
    [[nodiscard]] const ScriptOption* find(std::string_view name) const {
        const auto at = std::ranges::find(options_, name, &ScriptOption::name);
        return at == options_.end() ? nullptr : &*at;
    }
    void drop(std::string_view name) {
        std::erase_if(options_, [name](const ScriptOption& o) { return o.name == name; });
    }
    void warn(std::string_view name, std::string message) {
        warnings_.push_back({Errc::bad_input, std::move(message), find(name)->where});
    }
    Result<> settle_memory();
    Result<> check_tasks_per_gpu();
    Result<> check_specialized();
    void settle_cpus();
    void settle_hint();
    void check_sharing();
    void check_gpus_per_node();

    std::vector<ScriptOption>& options_;
    std::vector<Error>& warnings_;
};

/// One way to ask for memory; what is said goes before what the environment has.
Result<> Conflicts::settle_memory() {
    constexpr std::array<std::string_view, 3> names{"mem", "mem-per-cpu", "mem-per-gpu"};
    const auto count = [&](auto has) { return std::ranges::count_if(names, has); };
    const auto is_said = [this](std::string_view name) { return said(name); };
    const auto is_set = [this](std::string_view name) { return from_environment(name); };
    const auto total = count(is_said);
    if (total > 1 || (total == 0 && count(is_set) > 1)) {
        return fail(Errc::bad_input, "--mem, --mem-per-cpu and --mem-per-gpu exclude one another",
                    options_.empty() ? Position{} : options_.back().where);
    }
    for (const auto name : names) {
        if (total == 1 && from_environment(name)) {
            drop(name);
        }
    }
    return {};
}

Result<> Conflicts::check_tasks_per_gpu() {
    if (find("ntasks-per-gpu") == nullptr && find("ntasks-per-tres") == nullptr) {
        return {};
    }
    for (const std::string_view name : {"gpus-per-task", "gpus-per-socket", "ntasks-per-node"}) {
        if (const auto* option = find(name)) {
            return fail(Errc::bad_input,
                        fmt::format("--{} and --ntasks-per-gpu exclude one another", name),
                        option->where);
        }
    }
    return {};
}

/// Cores or threads set aside, not both.
Result<> Conflicts::check_specialized() {
    if (said("core-spec") && said("thread-spec")) {
        return fail(Errc::bad_input, "--core-spec and --thread-spec exclude one another",
                    find("thread-spec")->where);
    }
    return {};
}

/// What is said goes before what the environment has; both said is refused later.
void Conflicts::settle_cpus() {
    if (said("cpus-per-task") && from_environment("cpus-per-gpu")) {
        drop("cpus-per-gpu");
    } else if (said("cpus-per-gpu") && from_environment("cpus-per-task")) {
        drop("cpus-per-task");
    }
}

/// --hint stands for thread and core counts: it cancels those of the environment, and is itself
/// cancelled by those that are said.
void Conflicts::settle_hint() {
    constexpr std::array<std::string_view, 3> names{"ntasks-per-core", "threads-per-core",
                                                    "extra-node-info"};
    const bool any_said = std::ranges::any_of(names, [this](auto name) { return said(name); });
    const bool any_set =
        std::ranges::any_of(names, [this](auto name) { return from_environment(name); });
    if (any_said || (from_environment("hint") && any_set)) {
        drop("hint");
    } else if (said("hint")) {
        std::ranges::for_each(names, [this](auto name) { drop(name); });
    }
}

void Conflicts::check_sharing() {
    if (said("exclusive") && said("oversubscribe")) {
        warn("oversubscribe", "sbatch from 23.02 on refuses --oversubscribe beside --exclusive");
    }
}

void Conflicts::check_gpus_per_node() {
    const auto* gres = find("gres");
    if (find("gpus-per-node") != nullptr && gres != nullptr &&
        gres->value.find("gpu") != std::string::npos) {
        warn("gres", "sbatch from 26.05 on refuses --gres=gpu beside --gpus-per-node");
    }
}

Result<> Conflicts::settle() {
    if (auto done = settle_memory(); !done) {
        return done;
    }
    if (auto done = check_tasks_per_gpu(); !done) {
        return done;
    }
    if (auto done = check_specialized(); !done) {
        return done;
    }
    settle_cpus();
    settle_hint();
    check_sharing();
    check_gpus_per_node();
    return {};
}

}  // namespace

Result<> settle_conflicts(std::vector<ScriptOption>& options, std::vector<Error>& warnings) {
    return Conflicts{options, warnings}.settle();
}

}  // namespace railhead::job
