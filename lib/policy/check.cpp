#include "policy/check.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/check_settings.hpp"
#include "policy/price.hpp"

namespace railhead::policy {

namespace {

class Checker {
   public:
    Checker(const Loaded& loaded, std::optional<std::uint32_t> slurm)
        : loaded_{loaded}, slurm_{slurm} {}

    std::vector<Finding> run() {
        check_policy();
        for (const auto& warning : loaded_.warnings) {
            say("site", Level::warning, to_string(warning));
        }
        if (loaded_.site) {
            check_slurm_conf();
            auto found = check_fabrics(*loaded_.site, loaded_.topology_path, slurm_);
            std::ranges::move(found, std::back_inserter(findings_));
            check_switch_wait();
            check_set_aside();
            check_lemons();
            found = check_node_types(*loaded_.site);
            std::ranges::move(found, std::back_inserter(findings_));
            found = check_checkpoints(loaded_.site->policy);
            std::ranges::move(found, std::back_inserter(findings_));
            found = check_preemption(*loaded_.site);
            std::ranges::move(found, std::back_inserter(findings_));
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
                fmt::format("{}: gang {}, placement {}, checkpoint {}, {}, {}", loaded_.policy_path,
                            to_string(settings.gang.mode), to_string(settings.placement.mode),
                            to_string(settings.checkpoint.mode),
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
        const auto named = std::ranges::count_if(plugins, [](const auto plugin) {
            return trim(plugin) == "railhead" || trim(plugin) == "job_submit/railhead";
        });
        if (named == 0) {
            say("slurm.conf", Level::warning,
                "JobSubmitPlugins does not name railhead: no submission is reviewed");
        } else if (named > 1) {
            say("slurm.conf", Level::warning,
                fmt::format("JobSubmitPlugins={} names railhead {} times, and every job is reviewed "
                            "as often: name it once, the last one",
                            cluster.job_submit_plugins, named));
        }
        const auto settings = check_settings(cluster);
        findings_.insert(findings_.end(), settings.begin(), settings.end());
    }

    void check_switch_wait() {
        const auto& cluster = loaded_.site->cluster;
        const auto is_tree = [](const auto& one) { return one.fabric.kind == fabric::Kind::tree; };
        if (std::ranges::none_of(loaded_.site->fabrics, is_tree)) {
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

    /// The features that any layer of the policy sets aside.
    [[nodiscard]] std::set<std::string> set_aside() const {
        std::set<std::string> features;
        const auto add = [&](const Overlay& overlay) {
            if (overlay.set_aside && !overlay.set_aside->empty()) {
                features.insert(*overlay.set_aside);
            }
        };
        const auto& policy = loaded_.site->policy;
        add(policy.global);
        std::ranges::for_each(policy.partitions, add, &PartitionOverlay::overlay);
        std::ranges::for_each(policy.rules, add, &Rule::overlay);
        return features;
    }

    void check_set_aside() {
        const auto features = set_aside();
        for (const auto& feature : features) {
            check_set_aside(feature);
        }
        const auto& parameters = loaded_.site->cluster.scheduler_parameters;
        if (!features.empty() && !fabric::find_parameter(parameters, "ignore_prefer_validation")) {
            say("set_aside", Level::warning,
                "SchedulerParameters lacks ignore_prefer_validation: without it Slurm refuses a small "
                "job when the nodes set aside are not as slurm.conf says");
        }
    }

    /// Whole leaves are to be set aside, and not all of them.
    void check_set_aside(const std::string& feature) {
        const auto& site = *loaded_.site;
        const auto found = site.by_feature.find(feature);
        if (found == site.by_feature.end()) {
            say("set_aside", Level::warning,
                fmt::format("no node of slurm.conf has the feature \"{}\": no job is steered", feature));
            return;
        }
        for (const auto& fabric : site.fabrics) {
            if (fabric.fabric.is_planned()) {
                check_set_aside(feature, found->second, fabric);
            }
        }
    }

    void check_set_aside(const std::string& feature, const NodeSet& nodes, const FabricSite& site) {
        const auto leaves = site.fabric.leaves();
        std::vector<std::uint32_t> marked(leaves.size());
        nodes.each([&](auto node) {
            if (site.leaf_of[node] != FabricSite::no_leaf) {
                ++marked[site.leaf_of[node]];
            }
        });
        std::size_t whole = 0;
        for (std::size_t leaf = 0; leaf < marked.size(); ++leaf) {
            const auto size = leaves[leaf].size();
            whole += marked[leaf] == size ? 1 : 0;
            if (marked[leaf] > 0 && marked[leaf] < size) {
                say("set_aside", Level::warning,
                    fmt::format("{} of the {} of leaf \"{}\" have the feature \"{}\": mark all or none, "
                                "or small jobs still break the leaf up",
                                marked[leaf], count_of(size, "node"), site.fabric.leaf_name(leaf), feature));
            }
        }
        if (whole > 0 && whole == marked.size()) {
            say("set_aside", Level::warning,
                fmt::format("every leaf has the feature \"{}\": none is left for large jobs", feature));
        } else if (whole > 0) {
            say("set_aside", Level::fine,
                fmt::format("{} of {} leaves for small jobs: \"{}\"", whole, marked.size(), feature));
        }
    }

    void check_lemons() {
        if (loaded_.lemons > 0) {
            say("lemons", Level::fine,
                fmt::format("{}: {}, {}", loaded_.lemons_path, count_of(loaded_.lemons, "line"),
                            count_of(loaded_.site->lemons.size(), "node")));
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
    std::optional<std::uint32_t> slurm_;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_site(const Loaded& loaded, std::optional<std::uint32_t> slurm) {
    return Checker{loaded, slurm}.run();
}

}  // namespace railhead::policy
