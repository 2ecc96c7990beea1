#include "policy/check.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/price.hpp"

namespace railhead::policy {

namespace {

class Checker {
   public:
    explicit Checker(const Loaded& loaded) : loaded_{loaded} {}

    std::vector<Finding> run() {
        check_policy();
        for (const auto& warning : loaded_.warnings) {
            say("site", Level::warning, to_string(warning));
        }
        if (loaded_.site) {
            check_slurm_conf();
            check_topology();
            check_partitions();
            check_switch_wait();
        }
        return std::move(findings_);
    }

   private:
    void say(std::string subject, Level level, std::string text) {
        findings_.push_back({std::move(subject), level, printable(text)});
    }

    void check_policy() {
        for (const auto& error : loaded_.errors) {
            say("policy", Level::error, to_string(error));
        }
        if (loaded_.absent) {
            say("policy", Level::warning,
                fmt::format("there is no \"{}\": every job passes unchanged", loaded_.policy_path));
        } else if (loaded_.site) {
            const auto& policy = loaded_.site->policy;
            Settings settings;
            apply(policy.global, settings);
            say("policy", Level::fine,
                fmt::format("{}: gang {}, placement {}, {}, {}", loaded_.policy_path,
                            to_string(settings.gang.mode), to_string(settings.placement.mode),
                            count_of(policy.partitions.size(), "partition section"),
                            count_of(policy.rules.size(), "rule")));
        }
    }

    void check_slurm_conf() {
        const auto& cluster = loaded_.site->cluster;
        if (cluster.nodes.empty()) {
            say("slurm.conf", Level::error,
                fmt::format("{}: no node is known, so no job is changed", loaded_.slurm_conf_path));
            return;
        }
        say("slurm.conf", Level::fine,
            fmt::format("{}: {}, {}", loaded_.slurm_conf_path,
                        count_of(cluster.nodes.size(), "node"),
                        count_of(cluster.partitions.size(), "partition")));
        const auto plugins = split(cluster.job_submit_plugins, ',');
        const bool loads = std::ranges::any_of(plugins, [](const auto plugin) {
            return trim(plugin) == "railhead" || trim(plugin) == "job_submit/railhead";
        });
        if (!loads) {
            say("slurm.conf", Level::warning,
                "JobSubmitPlugins does not name railhead: no submission is reviewed");
        }
    }

    void check_topology() {
        const auto& fabric = loaded_.site->fabric;
        const auto& plugin = loaded_.site->cluster.topology_plugin;
        if (fabric.kind == fabric::Kind::none) {
            say("topology", loaded_.topology_path.empty() ? Level::fine : Level::warning,
                "no fabric is known: jobs are not placed");
            return;
        }
        const bool block = fabric.kind == fabric::Kind::block;
        say("topology", Level::fine,
            fmt::format("{}: {} {}, {}", loaded_.topology_path, fabric.leaves().size(),
                        block ? "blocks" : "leaf switches", count_of(fabric.nodes.size(), "node")));
        const std::string_view wanted = block ? "topology/block" : "topology/tree";
        if (plugin != wanted) {
            say("topology", Level::error,
                fmt::format("the file is for {}, slurm.conf says TopologyPlugin={}", wanted,
                            plugin.empty() ? "(none)" : plugin));
        }
    }

    void check_partitions() {
        for (const auto& partition : loaded_.site->partitions) {
            check_partition(partition);
        }
    }

    void check_partition(const PartitionSite& partition) {
        const auto subject = fmt::format("partition {}", partition.name);
        if (partition.mixed) {
            say(subject, Level::warning,
                "nodes of unequal GPUs: the gang rule leaves its jobs as they are");
        } else if (partition.gpus_per_node > 0) {
            const auto used = std::ranges::count_if(partition.leaf_sizes,
                                                    [](auto size) { return size > 0; });
            say(subject, Level::fine,
                fmt::format("{} of {} GPUs on {} {}", count_of(partition.gpu_nodes.size(), "node"),
                            partition.gpus_per_node, used, used == 1 ? "leaf" : "leaves"));
        }
        if (partition.off_fabric && loaded_.site->fabric.kind != fabric::Kind::none) {
            say(subject, Level::warning,
                "has GPU nodes that the topology does not name: its jobs are placed by Slurm alone");
        }
    }

    void check_switch_wait() {
        const auto& cluster = loaded_.site->cluster;
        if (loaded_.site->fabric.kind != fabric::Kind::tree) {
            return;
        }
        const auto most = loaded_.site->max_switch_wait_s;
        const bool said =
            fabric::find_parameter(cluster.scheduler_parameters, "max_switch_wait").has_value();
        std::uint32_t longest = 0;
        for (const auto& partition : loaded_.site->partitions) {
            longest = std::max(longest, longest_wait_of(partition));
        }
        if (longest > most) {
            say("wait", Level::warning,
                fmt::format("the policy waits up to {}, SchedulerParameters=max_switch_wait cuts "
                            "it to {}{}",
                            duration_text(longest), duration_text(most),
                            said ? "" : " (its default): set it"));
        }
    }

    /// Under the partition's own settings, and under each rule that can be laid over them.
    [[nodiscard]] std::uint32_t longest_wait_of(const PartitionSite& partition) const {
        auto longest = longest_wait_s(partition.settings.placement, partition.limits);
        for (const auto& rule : loaded_.site->policy.rules) {
            const auto fits = [&](const auto& glob) { return glob_matches(glob, partition.name); };
            if (!rule.partitions.empty() && std::ranges::none_of(rule.partitions, fits)) {
                continue;
            }
            auto settings = partition.settings;
            apply(rule.overlay, settings);
            longest = std::max(longest, longest_wait_s(settings.placement, partition.limits));
        }
        return longest;
    }

    const Loaded& loaded_;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_site(const Loaded& loaded) {
    return Checker{loaded}.run();
}

}  // namespace railhead::policy
