#include "node_site.hpp"

#include <unistd.h>

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "plugstack.hpp"

namespace railhead::cli {

namespace {

/// As slurmd named this node for the job that we are in, else its host's name.
std::string own_node_name() {
    const auto names = own_names();
    return names.empty() ? std::string{} : names.front();
}

const std::string& slurm_conf_of(const policy::Places& places) {
    return places.slurm_conf_said.empty() ? places.slurm_conf : places.slurm_conf_said;
}

/// The plugin's arguments; where there is no plugstack.conf, its defaults.
rails::PluginArguments read_arguments(const NodeSiteOptions& options, Console& console) {
    const auto& slurm_conf = slurm_conf_of(options.places);
    const auto plugstack =
        read_plugstack(options.plugstack.empty() ? policy::beside(slurm_conf, "plugstack.conf")
                                                 : options.plugstack);
    for (const auto& error : plugstack.errors) {
        if (error.code != Errc::not_found || !options.plugstack.empty()) {
            console.warn(error);
        }
    }
    if (plugstack.lines.empty()) {
        return {};
    }
    auto arguments = rails::parse_plugin_arguments(plugstack.lines.front().arguments);
    if (!arguments) {
        arguments.error().where = plugstack.lines.front().where;
        console.warn(arguments.error());
        return {};
    }
    return std::move(*arguments);
}

std::optional<rails::NodeType> read_type(policy::Places places, const std::string& node_name,
                                         Console& console) {
    const auto loaded =
        policy::load_policy(places, [](const std::string& path) { return read_file(path); });
    for (const auto& error : loaded.errors) {
        console.warn(error);
    }
    if (!loaded.policy) {
        return std::nullopt;
    }
    const auto* type = rails::find_node_type(loaded.policy->node_types, node_name);
    return type == nullptr ? std::nullopt : std::optional{*type};
}

}  // namespace

std::vector<std::string> own_names() {
    std::vector<std::string> names;
    if (auto name = own_variable("SLURMD_NODENAME")) {
        names.push_back(std::move(*name));
    }
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0) {
        names.emplace_back(split(host.data(), '.').front());
    }
    return names;
}

void add_node_site(CLI::App& command, NodeSiteOptions& options) {
    options.places = policy::default_places();
    command.add_option("--node", options.node_name,
                       "NodeName, for its type in the policy (default: this machine's)");
    command.add_option("--policy", options.places.policy,
                       "Policy (default: railhead.toml beside slurm.conf)");
    command.add_option("--slurm-conf", options.places.slurm_conf_said, "slurm.conf of the cluster");
    command.add_option("--plugstack", options.plugstack,
                       "plugstack.conf (default: beside slurm.conf)");
}

NodeSite read_node_site(const NodeSiteOptions& options, bool here, Console& console) {
    NodeSite site;
    site.node_name = !options.node_name.empty() ? options.node_name
                     : here                     ? own_node_name()
                                                : std::string{};
    if (site.node_name.empty()) {
        return site;
    }
    site.arguments = read_arguments(options, console);
    site.owner = policy::trusted_owner(slurm_conf_of(options.places));
    auto places = options.places;
    if (places.policy.empty()) {
        places.policy = site.arguments.policy;
    }
    site.type = read_type(std::move(places), site.node_name, console);
    if (!site.type && !options.node_name.empty()) {
        console.warn({Errc::not_found,
                      fmt::format("no node type has the node \"{}\"", printable(site.node_name)),
                      {}});
    }
    site.declared = rails::declared_rails(site.find_type(), site.arguments.nics);
    return site;
}

}  // namespace railhead::cli
