// What is wrong, or right, with the fabrics of a site and with the partitions on them.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/hostlist.hpp"
#include "policy/check.hpp"

namespace railhead::policy {

namespace {

/// As SLURM_VERSION_NUMBER has it.
constexpr std::uint32_t version(std::uint32_t major, std::uint32_t minor) {
    return major << 16U | minor << 8U;
}

/// Up to a few names of a list.
std::string shown_list(std::span<const std::string> names) {
    constexpr std::size_t most = 100;
    const auto list = job::compress_hostlist(names);
    return list.substr(0, most) + (list.size() > most ? "…" : "");
}

/// "16", "16 to 20": the nodes of the smallest and the largest leaf.
std::string sizes_text(std::span<const std::span<const std::uint32_t>> leaves) {
    const auto [least, most] =
        std::ranges::minmax(leaves, {}, &std::span<const std::uint32_t>::size);
    return least.size() == most.size() ? fmt::format("{}", least.size())
                                       : fmt::format("{} to {}", least.size(), most.size());
}

/// The names of the nodes of slurm.conf that are on a fabric, with the leaf of each, in the order
/// in which Slurm gives ranks without a word on the topology: that of the names.
std::vector<std::uint32_t> leaves_by_name(const FabricSite& fabric,
                                          const fabric::Cluster& cluster) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < cluster.nodes.size(); ++i) {
        if (fabric.leaf_of[i] != FabricSite::no_leaf) {
            names.push_back(cluster.nodes[i].name);
        }
    }
    std::vector<std::uint32_t> leaves;
    const auto ordered = job::expand_hostlist(job::compress_hostlist(names));
    for (const auto& name : ordered ? *ordered : std::vector<std::string>{}) {
        if (const auto index = cluster.find_node(name)) {
            leaves.push_back(fabric.leaf_of[*index]);
        }
    }
    return leaves;
}

/// A leaf that the order of names comes back to after others; nothing when there is none.
std::optional<std::uint32_t> find_torn_leaf(std::span<const std::uint32_t> leaves,
                                            std::size_t count) {
    std::vector<bool> left(count);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (left[leaves[i]]) {
            return leaves[i];
        }
        left[leaves[i]] = i + 1 < leaves.size() && leaves[i + 1] != leaves[i];
    }
    return std::nullopt;
}

class FabricChecker {
 public:
    FabricChecker(const Site& site, const std::string& path, std::optional<std::uint32_t> slurm)
        : site_{site}, path_{path}, slurm_{slurm} {}

    std::vector<Finding> run() {
        check_file();
        for (const auto& fabric : site_.fabrics) {
            check_fabric(fabric);
        }
        for (const auto& partition : site_.partitions) {
            check_partition(partition);
        }
        return std::move(findings_);
    }

 private:
    void say(std::string subject, Level level, std::string text) {
        findings_.push_back({std::move(subject), level, printable(text)});
    }

    [[nodiscard]] bool is_yaml() const {
        return path_.ends_with(".yaml") || path_.ends_with(".yml");
    }

    void check_file() {
        const bool any = std::ranges::any_of(
            site_.fabrics, [](const auto& one) { return one.fabric.kind != fabric::Kind::none; });
        if (!any) {
            say("topology", path_.empty() ? Level::fine : Level::warning,
                "no fabric is known: jobs are not placed");
        }
        // What is now flat was called default until 25.11.
        if (site_.cluster.topology_plugin == "topology/flat" && slurm_ &&
            *slurm_ < version(25, 11)) {
            say("topology", Level::error,
                "TopologyPlugin=topology/flat is of Slurm 25.11: write topology/default");
        }
        if (is_yaml() && slurm_ && *slurm_ < version(25, 5)) {
            say("topology", Level::error,
                fmt::format("{}: Slurm before 25.05 does not read it: write topology.conf, and "
                            "take the file away",
                            path_));
        }
    }

    void check_fabric(const FabricSite& one) {
        const auto& fabric = one.fabric;
        if (fabric.kind == fabric::Kind::none) {
            return;
        }
        const auto name = fabric.name.empty() ? "" : fmt::format(" \"{}\"", fabric.name);
        if (!fabric.is_planned()) {
            say("topology", Level::fine,
                fmt::format("{}:{} {}: its jobs are placed by Slurm alone", path_, name,
                            to_string(fabric.kind)));
            return;
        }
        say("topology", Level::fine, fmt::format("{}:{} {}", path_, name, shape_of(one)));
        check_plugin(fabric);
        check_ranks(one);
    }

    /// "12 leaf switches of 16 to 20 nodes on 3 levels, 240 nodes".
    static std::string shape_of(const FabricSite& one) {
        const auto& fabric = one.fabric;
        const auto leaves = fabric.leaves();
        unsigned top = 0;
        for (const auto& s : fabric.switches) {
            top = std::max(top, s.level);
        }
        return fmt::format(
            "{} {} of {} nodes{}{}, {}", leaves.size(),
            fabric::level_word(fabric.kind, 0, leaves.size()), sizes_text(leaves),
            top > 0 ? fmt::format(" below {} of switches", count_of(top, "level")) : "",
            one.networks.size() > 1
                ? fmt::format(" in {}", count_of(one.networks.size(), "network"))
                : "",
            count_of(fabric.nodes.size(), "node"));
    }

    /// topology.yaml says the kind itself.
    void check_plugin(const fabric::Fabric& fabric) {
        const auto wanted = fmt::format("topology/{}", to_string(fabric.kind));
        const auto& plugin = site_.cluster.topology_plugin;
        if (!is_yaml() && plugin != wanted) {
            say("topology", Level::error,
                fmt::format("the file is for {}, slurm.conf says TopologyPlugin={}", wanted,
                            plugin.empty() ? "(none)" : plugin));
        }
    }

    /// Ranks that jump between leaves cost a ring or a tree of ranks more hops than the nodes do.
    /// SwitchAsNodeRank came with 23.02, BlockAsNodeRank with 25.11; before, ranks follow the names
    /// whatever is set.  26.05 ranks by switch or block without being told (seen with 26.05.5).
    void check_ranks(const FabricSite& one) {
        const bool block = one.fabric.kind == fabric::Kind::block;
        const std::string_view option = block ? "BlockAsNodeRank" : "SwitchAsNodeRank";
        const auto& parameters = site_.cluster.topology_param;
        const auto since = block ? version(25, 11) : version(23, 2);
        if (!slurm_ || *slurm_ < since || *slurm_ >= version(26, 5) ||
            fabric::find_parameter(parameters, option)) {
            return;
        }
        const auto torn =
            find_torn_leaf(leaves_by_name(one, site_.cluster), one.fabric.leaves().size());
        if (torn) {
            say("ranks", Level::warning,
                fmt::format("ranks follow the names of the nodes, and those of {} \"{}\" are not "
                            "neighbours: TopologyParam={}{}{}",
                            fabric::level_word(one.fabric.kind, 0, 1), one.fabric.leaf_name(*torn),
                            parameters, parameters.empty() ? "" : ",", option));
        }
    }

    void check_partition(const PartitionSite& partition) {
        const auto subject = fmt::format("partition {}", partition.name);
        const auto& named = partition.limits.topology;
        if (!named.empty() && site_.fabrics.empty()) {
            say(subject, Level::error,
                fmt::format("Topology={}, and no topology is known: slurmctld does not start",
                            named));
        }
        if (partition.mixed) {
            say(subject, Level::warning,
                "nodes of unequal GPUs: the gang rule leaves its jobs as they are");
        } else if (partition.gpus_per_node > 0) {
            say(subject, Level::fine,
                fmt::format("{} of {} GPUs{}", count_of(partition.gpu_nodes.size(), "node"),
                            partition.gpus_per_node, place_of(partition)));
        }
        if (!partition.off_fabric.empty()) {
            std::vector<std::string> names;
            for (const auto index : partition.off_fabric) {
                names.push_back(site_.cluster.nodes[index].name);
            }
            say(subject, Level::warning,
                fmt::format("has {} with GPUs that the topology does not name: its jobs are placed "
                            "by Slurm alone: {}",
                            count_of(names.size(), "node"), shown_list(names)));
        }
        check_weights(partition, subject);
    }

    /// Seen on 22.05.8: four nodes of one leaf free but heavy, two of another free and light: a job of
    /// four starts on both leaves, and with --switches=1 waits although the first is free.
    void check_weights(const PartitionSite& partition, const std::string& subject) {
        const auto* fabric = site_.fabric_of(partition);
        if (fabric == nullptr || fabric->fabric.kind != fabric::Kind::tree ||
            partition.gpu_nodes.empty()) {
            return;
        }
        const auto [least, most] = std::ranges::minmax(
            partition.gpu_nodes, {}, [&](auto index) { return site_.cluster.nodes[index].weight; });
        const auto& light = site_.cluster.nodes[least];
        const auto& heavy = site_.cluster.nodes[most];
        if (light.weight != heavy.weight) {
            say(subject, Level::warning,
                fmt::format("its GPU nodes differ in Weight ({} has {}, {} has {}): topology/tree "
                            "takes the least weight before it looks at leaves, and a job may wait "
                            "for a leaf although one is free: give them one Weight",
                            light.name, light.weight, heavy.name, heavy.weight));
        }
    }

    /// " on 4 leaves", " on 4 leaves of \"hall_a\"".
    [[nodiscard]] std::string place_of(const PartitionSite& partition) const {
        const auto* fabric = site_.fabric_of(partition);
        if (fabric == nullptr) {
            return " on no fabric";
        }
        const auto used = partition.spans.front().used;
        return fmt::format(
            " on {} {}{}", used, fabric::level_word(fabric->fabric.kind, 0, used),
            fabric->fabric.name.empty() ? "" : fmt::format(" of \"{}\"", fabric->fabric.name));
    }

    const Site& site_;
    const std::string& path_;
    std::optional<std::uint32_t> slurm_;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_fabrics(const Site& site, const std::string& path,
                                   std::optional<std::uint32_t> slurm) {
    return FabricChecker{site, path, slurm}.run();
}

}  // namespace railhead::policy
