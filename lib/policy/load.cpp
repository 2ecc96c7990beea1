#include "policy/load.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"
#include "fabric/topology_yaml.hpp"
#include "policy/parse.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view default_folder = "/etc/slurm";

std::string environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read at load only
    return value != nullptr ? value : "";
}

std::string beside(const std::string& path, std::string_view name) {
    const auto slash = path.rfind('/');
    return std::string{path.substr(0, slash == std::string::npos ? 0 : slash + 1)}.append(name);
}

/// The FILE of "slurmctld -f FILE", which slurmctld tells its plugins in no other way.
std::string slurm_conf_of_this_daemon() {
    const auto command = read_file("/proc/self/cmdline", std::size_t{64} << 10U);
    if (!command) {
        return {};
    }
    const auto words = split(*command, '\0');
    if (words.front().find("slurmctld") == std::string_view::npos) {
        return {};
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "-f" && i + 1 < words.size()) {
            return std::string{words[i + 1]};
        }
        if (words[i].starts_with("-f")) {
            return std::string{words[i].substr(2)};
        }
    }
    return {};
}

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
        auto site = compile(std::move(policy), std::move(cluster), std::move(fabrics));
        to_.warnings.insert(to_.warnings.end(), site.warnings.begin(), site.warnings.end());
        to_.site = std::make_shared<const Site>(std::move(site));
    }

    Result<std::string> read(const std::string& path, bool trusted) {
        to_.sources.emplace_back(path, stamp_of(path));
        return trusted && owner_ ? read_trusted_file(path, *owner_) : read_file(path);
    }

    std::optional<Policy> read_policy() {
        std::vector<std::string> candidates{places_.policy};
        if (places_.policy.empty()) {
            candidates = {beside(
                places_.slurm_conf_said.empty() ? places_.slurm_conf : places_.slurm_conf_said,
                "railhead.toml")};
            if (const auto fallback = fmt::format("{}/railhead.toml", default_folder);
                fallback != candidates.front()) {
                candidates.push_back(fallback);
            }
        }
        for (const auto& path : candidates) {
            to_.policy_path = path;
            const auto text = read(path, true);
            if (text) {
                return parsed(*text, path);
            }
            if (text.error().code != Errc::not_found) {
                to_.errors.push_back(text.error());
                return std::nullopt;
            }
        }
        to_.absent = places_.policy.empty();  // a file that was named must be there
        if (!to_.absent) {
            to_.errors.push_back({Errc::not_found,
                                  fmt::format("there is no policy \"{}\"", places_.policy), {}});
        }
        return std::nullopt;
    }

    std::optional<Policy> parsed(const std::string& text, const std::string& path) {
        auto policy = parse_policy(text, path);
        if (!policy) {
            to_.errors = std::move(policy.error());
            return std::nullopt;
        }
        return std::move(*policy);
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

    const Places& places_;
    std::optional<uid_t> owner_;
    Loaded& to_;
};

}  // namespace

Places default_places() {
    Places places;
    places.policy = environment("RAILHEAD_POLICY");
    places.slurm_conf = slurm_conf_of_this_daemon();
    if (places.slurm_conf.empty()) {
        places.slurm_conf = environment("SLURM_CONF");
    }
    if (places.slurm_conf.empty()) {
        places.slurm_conf = fmt::format("{}/slurm.conf", default_folder);
    }
    return places;
}

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
