#include "policy/check.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/check_settings.hpp"

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
            longest = std::max(longest, partition.settings.placement.wait_s);
        }
        for (const auto& rule : loaded_.site->policy.rules) {
            longest = std::max(longest, rule.overlay.wait_s.value_or(0));
        }
        if (longest > most) {
            say("wait", Level::warning,
                fmt::format("the policy waits up to {}, SchedulerParameters=max_switch_wait cuts "
                            "it to {}{}",
                            duration_text(longest), duration_text(most),
                            said ? "" : " (its default): set it"));
        }
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
