#include "policy/check_settings.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "job/hostlist.hpp"

namespace railhead::policy {

namespace {

using fabric::Cluster;
using fabric::GpuCores;
using fabric::NodeFacts;

/// From here on a controller without max_rpc_cnt is a risk: our judgement, no figure of Slurm's.
constexpr std::size_t many_nodes = 500;
/// More sockets than any machine with GPUs has.
constexpr std::uint32_t many_sockets = 8;

bool is_gpu_node(const NodeFacts& node) {
    return node.gpu_total() > 0;
}

/// Whether a list such as "task/affinity,task/cgroup" has a word of its own: with or without the
/// plugin's kind in front, in any case.
bool has_word(std::string_view list, std::string_view kind, std::string_view word) {
    for (auto part : split(list, ',')) {
        part = trim(part);
        if (part.starts_with(kind)) {
            part.remove_prefix(kind.size());
        }
        if (equals_ignoring_case(part, word)) {
            return true;
        }
    }
    return false;
}

/// "n[01-04]" of the nodes that `holds` is true for; empty when there is none.
template <class Holds>
std::string nodes_that(const Cluster& cluster, Holds&& holds) {
    std::vector<std::string> names;
    for (const auto& node : cluster.nodes) {
        if (is_gpu_node(node) && holds(node)) {
            names.push_back(node.name);
        }
    }
    return job::compress_hostlist(names);
}

class SettingsChecker {
 public:
    explicit SettingsChecker(const Cluster& cluster) : cluster_{cluster} {}

    std::vector<Finding> run() {
        check_task_plugin();
        check_threads();
        check_shapes();
        for (const auto& line : cluster_.gpu_cores) {
            check_cores(line);
        }
        check_kill_on_bad_exit();
        check_load();
        return std::move(findings_);
    }

 private:
    void say(std::string_view subject, Level level, std::string text) {
        findings_.push_back({std::string{subject}, level, printable(text)});
    }

    void check_task_plugin() {
        const auto& plugin = cluster_.task_plugin;
        if (plugin.empty() || has_word(plugin, "task/", "none")) {
            say("slurm.conf", Level::warning,
                fmt::format(
                    "TaskPlugin={}: --cpu-bind has no effect, all tasks of a node may run on "
                    "one CPU: TaskPlugin=task/affinity,task/cgroup",
                    plugin.empty() ? "task/none (its default)" : plugin));
        }
    }

    void check_threads() {
        const auto& parameters = cluster_.select_parameters;
        const bool by_thread =
            has_word(parameters, "", "CR_CPU") || has_word(parameters, "", "CR_CPU_Memory");
        const auto nodes =
            nodes_that(cluster_, [](const auto& n) { return n.threads_per_core > 1; });
        if (by_thread && !nodes.empty()) {
            say("slurm.conf", Level::warning,
                fmt::format(
                    "SelectTypeParameters={}: a CPU of {} is a thread, so two jobs can share "
                    "a core: SelectTypeParameters=CR_Core_Memory",
                    parameters, nodes));
        }
    }

    /// A node line with nothing but CPUs=.
    void check_shapes() {
        const auto nodes = nodes_that(cluster_, [](const auto& n) {
            return n.cores_per_socket == 1 && n.threads_per_core == 1 && n.sockets > many_sockets;
        });
        if (!nodes.empty()) {
            say("slurm.conf", Level::warning,
                fmt::format("{}: Slurm takes every CPU for a socket, threads for cores too: write "
                            "Sockets=, CoresPerSocket= and ThreadsPerCore= as `slurmd -C` prints "
                            "them on the node",
                            nodes));
        }
    }

    void check_cores(const GpuCores& line) {
        const auto at = fmt::format("{}:{}", line.where.file, line.where.line);
        if (!line.auto_detect.empty()) {
            say("gres.conf", Level::warning,
                fmt::format("{}: Cores={} beside AutoDetect={}: where the two differ the node "
                            "drains: leave out Cores=, or write AutoDetect=off on the line",
                            at, line.cores, line.auto_detect));
            return;
        }
        const auto cores = parse_cpu_list(line.cores);
        if (!cores) {
            say("gres.conf", Level::warning,
                fmt::format("{}: Cores={} is no list such as 0-31", at, line.cores));
            return;
        }
        for (const auto index : line.nodes) {
            if (auto text = complaint(cluster_.nodes[index], *cores, line.cores)) {
                say("gres.conf", Level::warning, fmt::format("{}: {}", at, *text));
                return;  // one node of a line stands for all
            }
        }
    }

    /// What is wrong with these cores on a node: gres.conf(5) wants whole sockets.
    static std::optional<std::string> complaint(const NodeFacts& node, const CpuSet& cores,
                                                std::string_view written) {
        const auto all = node.sockets * node.cores_per_socket;
        std::vector<std::uint32_t> of_socket(node.sockets);
        for (const auto core : cores.cpus()) {
            if (core >= all) {
                return fmt::format(
                    "Cores={}: {} has cores 0-{}{}", written, node.name, all - 1,
                    node.threads_per_core > 1 ? ": Cores= counts cores, not threads" : "");
            }
            ++of_socket[core / node.cores_per_socket];
        }
        for (std::uint32_t socket = 0; socket < node.sockets; ++socket) {
            if (of_socket[socket] > 0 && of_socket[socket] < node.cores_per_socket) {
                return fmt::format(
                    "Cores={} has a part of socket {} of {} (cores {}-{}): Slurm binds GPUs to "
                    "whole sockets, and may drain the node: name them whole, or make sockets of "
                    "their parts by SlurmdParameters=numa_node_as_socket (l3cache_as_socket)",
                    written, socket, node.name, socket * node.cores_per_socket,
                    (socket + 1) * node.cores_per_socket - 1);
            }
        }
        return std::nullopt;
    }

    void check_kill_on_bad_exit() {
        if (const auto& value = cluster_.kill_on_bad_exit; value.empty() || value == "0") {
            say("slurm.conf", Level::advice,
                "KillOnBadExit=0: when one rank dies the others wait for it until the time limit: "
                "KillOnBadExit=1 (srun --kill-on-bad-exit=0 for who wants otherwise)");
        }
    }

    void check_load() {
        const auto limit = fabric::find_parameter(cluster_.scheduler_parameters, "max_rpc_cnt");
        if (cluster_.nodes.size() >= many_nodes && limit.value_or("0") == "0") {
            say("slurm.conf", Level::advice,
                "SchedulerParameters has no max_rpc_cnt: in a burst of submissions the scheduler "
                "keeps sbatch waiting until it times out: add max_rpc_cnt=150");
        }
    }

    const Cluster& cluster_;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_settings(const Cluster& cluster) {
    return std::ranges::any_of(cluster.nodes, is_gpu_node) ? SettingsChecker{cluster}.run()
                                                           : std::vector<Finding>{};
}

}  // namespace railhead::policy
