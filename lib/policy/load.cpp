#include "policy/load.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"
#include "fabric/topology_yaml.hpp"
#include "policy/lemons.hpp"

namespace railhead::policy {

namespace {

class Loader {
   public:
    Loader(const Places& places, std::optional<uid_t> owner, Loaded& to)
        : places_{places}, owner_{owner}, to_{to} {}

    void load() {
        auto policy = read_policy();
        if (policy) {
            load_site(std::move(*policy));
        }
    }

    void load_cluster() {
        auto policy = read_policy();
        to_.warnings.insert(to_.warnings.end(), to_.errors.begin(), to_.errors.end());
        to_.errors.clear();
        load_site(std::move(policy).value_or(Policy{}));
    }

   private:
    void load_site(Policy policy) {
        auto cluster = read_cluster(policy);
        auto fabrics = read_fabrics(policy, cluster);
        const auto lemons = read_lemons(policy);
        auto site = compile(std::move(policy), std::move(cluster), std::move(fabrics), lemons);
        to_.warnings.insert(to_.warnings.end(), site.warnings.begin(), site.warnings.end());
        to_.site = std::make_shared<const Site>(std::move(site));
    }

    Result<std::string> read(const std::string& path, bool trusted) {
        to_.sources.emplace_back(path, stamp_of(path));
        return trusted && owner_ ? read_trusted_file(path, *owner_) : read_file(path);
    }

    std::optional<Policy> read_policy() {
        auto found = load_policy(places_, [this](const std::string& path) { return read(path, true); });
        to_.policy_path = std::move(found.path);
        to_.absent = found.absent;
        to_.errors = std::move(found.errors);
        return std::move(found.policy);
    }

    fabric::Cluster read_cluster(const Policy& policy) {
        to_.slurm_conf_path = !places_.slurm_conf_said.empty() ? places_.slurm_conf_said
                              : !policy.slurm_conf.empty()     ? policy.slurm_conf
                                                               : places_.slurm_conf;
        auto cluster = fabric::read_cluster(
            to_.slurm_conf_path, [this](const std::string& path) { return read(path, false); });
        if (!cluster) {
            to_.degraded = true;
            to_.warnings.push_back(std::move(cluster.error()));
            return {};
        }
        to_.warnings.insert(to_.warnings.end(), cluster->warnings.begin(), cluster->warnings.end());
        return std::move(*cluster);
    }

    std::vector<fabric::Fabric> read_fabrics(const Policy& policy,
                                             const fabric::Cluster& cluster) {
        auto path = places_.topology.empty() ? policy.topology : places_.topology;
        if (path.empty()) {
            path = beside(to_.slurm_conf_path, "topology.yaml");
            if (auto text = read(path, false); text || text.error().code != Errc::not_found) {
                return parsed_fabrics(text, path, {});
            }
            const auto& plugin = cluster.topology_plugin;
            if (!plugin.ends_with("tree") && !plugin.ends_with("block")) {
                return {};
            }
            path = beside(to_.slurm_conf_path, "topology.conf");
        }
        return parsed_fabrics(read(path, false), path, cluster.topology_plugin);
    }

    /// topology.yaml or topology.conf, by the name of the file.
    std::vector<fabric::Fabric> parsed_fabrics(const Result<std::string>& text,
                                               const std::string& path,
                                               std::string_view plugin) {
        to_.topology_path = path;
        auto fabrics = text ? parse_topology(*text, path, plugin) : tl::unexpected<Error>{text.error()};
        if (!fabrics) {
            to_.degraded = true;
            to_.warnings.push_back(std::move(fabrics.error()));
            return {};
        }
        return std::move(*fabrics);
    }

    Result<std::vector<fabric::Fabric>> parse_topology(const std::string& text,
                                                       const std::string& path,
                                                       std::string_view plugin) {
        if (path.ends_with(".yaml") || path.ends_with(".yml")) {
            return fabric::parse_topology_yaml(text, path, &to_.warnings);
        }
        auto fabric = fabric::parse_topology_conf(text, path, &to_.warnings);
        if (!fabric) {
            return propagate(fabric);
        }
        if (!fabric->switches.empty() && !fabric->blocks.empty()) {
            fabric::choose_kind(*fabric, plugin);
        }
        std::vector<fabric::Fabric> fabrics;
        fabrics.push_back(std::move(*fabric));
        return fabrics;
    }

    /// None is no fault, unless the policy names it.  What of it is wrong is told in one line, and
    /// the rest of it holds.
    std::vector<Lemon> read_lemons(const Policy& policy) {
        const bool named = !policy.lemons.empty();
        to_.lemons_path = named ? policy.lemons : beside(to_.slurm_conf_path, "railhead.lemons");
        const auto text = read(to_.lemons_path, true);
        if (!text) {
            if (named || text.error().code != Errc::not_found) {
                to_.warnings.push_back(text.error());
            }
            return {};
        }
        auto lemons = parse_lemons(*text, to_.lemons_path);
        if (!lemons.errors.empty()) {
            auto& first = lemons.errors.front();
            if (lemons.errors.size() > 1) {
                first.message += fmt::format(", and {} more", count_of(lemons.errors.size() - 1, "bad line"));
            }
            to_.warnings.push_back(std::move(first));
        }
        to_.lemons = lemons.entries.size();
        return std::move(lemons.entries);
    }

    const Places& places_;
    std::optional<uid_t> owner_;
    Loaded& to_;
};

}  // namespace

bool Loaded::is_stale() const {
    return std::ranges::any_of(
        sources, [](const auto& source) { return stamp_of(source.first) != source.second; });
}

Loaded load(const Places& places, std::optional<uid_t> owner) {
    Loaded loaded;
    Loader{places, owner, loaded}.load();
    return loaded;
}

Loaded load_cluster(const Places& places) {
    Loaded loaded;
    Loader{places, std::nullopt, loaded}.load_cluster();
    return loaded;
}

}  // namespace railhead::policy
