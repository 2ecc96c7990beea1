#include "check_controller.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "job/hostlist.hpp"
#include "policy/drain_reason.hpp"

namespace railhead::cli {

namespace {

using policy::Level;
using Findings = std::vector<policy::Finding>;

/// The value of KEY in a line of scontrol's "KEY=VALUE KEY=VALUE"; empty when it is not there.
std::string_view value_in(std::string_view line, std::string_view key) {
    for (const auto word : split_words(line)) {
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') {
            return word.substr(key.size() + 1);
        }
    }
    return {};
}

/// Node sets by name, as slurmctld has them: partitions, or leaves.
using NodeSets = std::map<std::string, std::vector<std::string>>;

/// Reads the lines of `scontrol show …` that have both keys; nothing when slurmctld does not answer.
std::optional<NodeSets> ask_controller(const std::vector<std::string>& command,
                                       std::string_view name_key, std::string_view line_part) {
    const auto text = output_of(command, std::chrono::seconds{5});
    if (!text) {
        return std::nullopt;
    }
    NodeSets sets;
    for (const auto line : split(*text, '\n')) {
        const auto name = value_in(line, name_key);
        auto nodes = job::expand_hostlist(value_in(line, "Nodes"));
        if (!name.empty() && nodes && line.find(line_part) != std::string_view::npos) {
            std::ranges::sort(*nodes);
            sets.emplace(name, std::move(*nodes));
        }
    }
    return sets;
}

NodeSets partitions_of(const fabric::Cluster& cluster) {
    NodeSets sets;
    for (const auto& partition : cluster.partitions) {
        auto& names = sets[partition.name];
        for (const auto node : partition.nodes) {
            names.push_back(cluster.nodes[node].name);
        }
        std::ranges::sort(names);
    }
    return sets;
}

NodeSets leaves_of(const fabric::Fabric& fabric, const fabric::Cluster& cluster) {
    NodeSets sets;
    const auto leaves = fabric.leaves();
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        auto& names = sets[std::string{fabric.leaf_name(i)}];
        for (const auto node : leaves[i]) {
            // slurmctld leaves out what it does not know.
            if (cluster.find_node(fabric.nodes[node])) {
                names.push_back(fabric.nodes[node]);
            }
        }
        std::ranges::sort(names);
    }
    return sets;
}

/// The leaves or blocks that slurmctld has; of one topology by name, where the file has names.
std::optional<NodeSets> ask_for_leaves(const fabric::Fabric& fabric) {
    std::vector<std::string> command{"scontrol", "-o", "show", "topology"};
    if (!fabric.name.empty()) {
        command.push_back(fabric.name);
    }
    const bool block = fabric.kind == fabric::Kind::block;
    return ask_controller(command, block ? "BlockName" : "SwitchName", block ? "" : "Level=0");
}

}  // namespace

void check_controller(const policy::Loaded& loaded, Findings& findings) {
    if (!loaded.site) {
        return;
    }
    const auto compare = [&](const std::string& path, const std::optional<NodeSets>& theirs,
                             const NodeSets& ours) {
        if (theirs && *theirs != ours) {
            findings.push_back({"controller", Level::warning,
                                fmt::format("{} is newer than what slurmctld has in force: "
                                            "scontrol reconfigure",
                                            path)});
        }
    };
    const auto partitions =
        ask_controller({"scontrol", "-o", "show", "partition"}, "PartitionName", "");
    compare(loaded.slurm_conf_path, partitions, partitions_of(loaded.site->cluster));
    for (const auto& one : loaded.site->fabrics) {
        if (partitions && one.fabric.is_planned()) {
            compare(loaded.topology_path, ask_for_leaves(one.fabric),
                    leaves_of(one.fabric, loaded.site->cluster));
        }
    }
}

void check_drained(const policy::Loaded& loaded, Findings& findings) {
    if (!loaded.site) {
        return;
    }
    const auto text = output_of({"sinfo", "--noheader", "--list-reasons", "--format=%N|%E"},
                                std::chrono::seconds{5});
    if (!text) {
        return;  // no slurmctld answers
    }
    for (const auto line : split(*text, '\n')) {
        const auto bar = line.find('|');
        const auto reason = trim(line.substr(std::min(bar, line.size() - 1) + 1));
        if (const auto advice = policy::advice_on_drain(reason); advice && bar < line.size()) {
            findings.push_back({"controller", Level::warning,
                                printable(fmt::format("{} is drained: {}: {}",
                                                      trim(line.substr(0, bar)), reason, *advice))});
        }
    }
}

}  // namespace railhead::cli
