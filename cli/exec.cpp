// railhead exec: binds a launcher's process as RAILHEAD_GPU_MAP says, then becomes its command.
//
// It stands between a user and his job, so it never stops that: whatever is missing is said once
// and the command runs as it would without us.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "affinity/binding_line.hpp"
#include "affinity/own_mask.hpp"
#include "affinity/own_memory.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "environment.hpp"
#include "gpu_map.hpp"
#include "local_rank.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::string local_rank_from;
    bool verbose = false;
    bool dry_run = false;
    std::vector<std::string> command;
};

/// Where this process belongs, and who it is among its like.
struct Found {
    GpuPlace place;
    std::optional<LocalRank> rank;  ///< absent where the visible device told
};

/// What is to be done to this process.
struct Plan {
    CpuSet cpus;              ///< bind to these; empty: not
    affinity::Memory memory;  ///< without nodes: not
    std::vector<std::pair<std::string, std::string>> variables;
    affinity::BindingLine line;
};

std::optional<std::string> lookup(std::string_view name) {
    return own_variable(std::string{name});
}

/// The list that narrows this process; CUDA's where both are set, unless only ROCm's was narrowed.
std::optional<std::string> visible_list(std::size_t gpus) {
    const auto cuda = own_variable("CUDA_VISIBLE_DEVICES");
    const auto rocr = own_variable("ROCR_VISIBLE_DEVICES");
    const auto whole = [&](const std::optional<std::string>& list) {
        return static_cast<std::size_t>(std::ranges::count(*list, ',')) + 1 == gpus;
    };
    return !cuda || (rocr && whole(cuda) && !whole(rocr)) ? rocr : cuda;
}

Result<Found> find(const Options& options) {
    const auto text = own_variable("RAILHEAD_GPU_MAP");
    if (!text) {
        return fail(Errc::not_found, "there is no RAILHEAD_GPU_MAP");
    }
    auto map = parse_gpu_map(*text);
    if (!map) {
        return propagate(map);
    }
    auto rank = find_local_rank(options.local_rank_from, &lookup);
    auto place = find_place(*map, rank ? std::optional{rank->rank} : std::nullopt,
                            visible_list(map->size()));
    if (!place) {
        return rank ? propagate(place) : propagate(rank);
    }
    return Found{std::move(*place), rank ? std::optional{std::move(*rank)} : std::nullopt};
}

std::string who(const Found& found) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const auto node = own_variable("SLURMD_NODENAME").value_or(host.data());
    return found.rank ? fmt::format("node {} local rank {} ({})", node, found.rank->rank,
                                    found.rank->variable)
                      : fmt::format("node {} process {}", node, ::getpid());
}

/// Variables for this rank.  UCX_NET_DEVICES is the plugin's where RAILHEAD_NIC beside it has the
/// same value; any other is the user's, and where there is none the plugin had a reason.
void add_variables(Plan& plan, const GpuPlace& place) {
    const auto ucx = own_variable("UCX_NET_DEVICES");
    const auto ours = own_variable("RAILHEAD_NIC");
    if (!place.nics.empty() && ours) {
        plan.variables.emplace_back("RAILHEAD_NIC", place.nics);
        if (ucx == ours) {
            plan.variables.emplace_back("UCX_NET_DEVICES", place.nics);
        }
    }
    if (!plan.cpus.empty()) {
        plan.variables.emplace_back("RAILHEAD_CPUS", to_string(plan.cpus));
        plan.variables.emplace_back("RAILHEAD_BINDING", "gpu");
    }
    if (!plan.memory.nodes.empty()) {
        plan.variables.emplace_back("RAILHEAD_MEMORY", to_string(plan.memory));
    }
}

Plan make_plan(const Found& found) {
    const auto& place = found.place;
    Plan plan;
    const auto mask = affinity::read_own_mask().value_or(CpuSet{});
    plan.cpus = place.cpus & mask;
    auto& line = plan.line;
    line.who = who(found);
    line.gpus = {{place.index, place.pci}};
    line.cpus = plan.cpus.empty() ? mask : plan.cpus;
    if (plan.cpus.empty()) {
        line.cpus_kept = place.cpus.empty() ? "none near the GPU was granted"
                                            : "those near the GPU are not in this process's mask";
    } else {
        line.numa = place.numa ? fmt::format("{}", *place.numa) : "";
        const auto allowed = affinity::read_allowed_memory().value_or(affinity::MemoryNodes{});
        if ((place.memory.nodes - allowed).empty()) {
            plan.memory = place.memory;
        }
    }
    if (!plan.memory.nodes.empty()) {
        line.memory = to_string(plan.memory.nodes);
        line.memory.insert(0, plan.memory.policy == affinity::MemoryPolicy::bind ? "bind " : "");
    }
    line.nics = place.nics;
    line.path = place.path;
    add_variables(plan, place);
    return plan;
}

/// What the kernel refuses is said; the command runs in any case.
void apply(const Plan& plan, Console& console) {
    if (!plan.cpus.empty()) {
        if (const auto done = affinity::write_own_mask(plan.cpus); !done) {
            console.warn(done.error());
        }
    }
    if (!plan.memory.nodes.empty()) {
        if (const auto done = affinity::write_own_memory(plan.memory); !done) {
            console.warn(done.error());
        }
    }
    for (const auto& [name, value] : plan.variables) {
        ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
    }
}

/// Becomes the command; comes back only with what a shell would answer where it cannot.
int become(const std::vector<std::string>& command, Console& console) {
    constexpr int cannot_run = 126;
    constexpr int not_there = 127;
    std::vector<char*> words;
    for (const auto& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    console.out.flush();
    ::execvp(words[0], words.data());
    const int reason = errno;
    console.err << fmt::format("railhead: exec: cannot run \"{}\": {}\n", printable(command[0]),
                               std::generic_category().message(reason));
    return reason == ENOENT ? not_there : cannot_run;
}

/// Of many processes that all lack something, the first of the node speaks.
bool speaks() {
    const auto rank = find_local_rank("", &lookup);
    return !rank || rank->rank == 0;
}

void run(const Options& options, Console& console) {
    if (options.command.empty() && !options.dry_run) {
        return console.fail({Errc::bad_input, "exec: no command (railhead exec -- COMMAND)", {}});
    }
    const auto found = find(options);
    if (found) {
        const auto plan = make_plan(*found);
        if (options.verbose || options.dry_run) {
            (options.dry_run ? console.out : console.err)
                << "railhead: " << to_string(plan.line) << '\n';
        }
        if (!options.dry_run) {
            apply(plan, console);
        }
    } else if (speaks() || options.verbose || options.dry_run) {
        console.err << fmt::format(
            "railhead: exec: {}: {} is not bound\n", printable(to_string(found.error())),
            options.command.empty() ? "this process" : printable(options.command[0]));
    }
    if (!options.dry_run) {
        console.leave(become(options.command, console));
    }
}

}  // namespace

std::vector<std::string> cut_command(std::vector<std::string>& arguments) {
    if (arguments.empty() || arguments[0] != "exec") {
        return {};
    }
    auto word = arguments.begin() + 1;
    while (word != arguments.end() && word->starts_with('-') && *word != "--") {
        const bool has_value = *word == "--local-rank-from" && word + 1 != arguments.end();
        word += has_value ? 2 : 1;
    }
    const auto first = word != arguments.end() && *word == "--" ? word + 1 : word;
    std::vector<std::string> command{first, arguments.end()};
    arguments.erase(word, arguments.end());
    return command;
}

void add_exec(CLI::App& app, Console& console, std::vector<std::string> words) {
    auto options = std::make_shared<Options>();
    options->command = std::move(words);
    auto* command = app.add_subcommand(
        "exec", "Binds a process of torchrun or mpirun to its GPU's CPUs, memory and NIC");
    command->add_option("--local-rank-from", options->local_rank_from,
                        "The variable that has the local rank");
    command->add_flag("--verbose", options->verbose, "Say what this process is given");
    command->add_flag("--dry-run", options->dry_run, "Say it and do nothing");
    command->footer("railhead exec [OPTIONS] -- COMMAND [ARGUMENT ...]");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
