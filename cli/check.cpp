// railhead check: the policy, the topology, and whether the installed plugins fit the installed
// Slurm.  Reads files; asks a running slurmctld only when it read its own.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "check_controller.hpp"
#include "check_plugins.hpp"
#include "command.hpp"
#include "places.hpp"
#include "policy/check.hpp"
#include "policy/load.hpp"
#include "rails/node_type.hpp"
#include "report/table.hpp"

namespace railhead::cli {

namespace {

using policy::Finding;
using policy::Level;
using Findings = std::vector<Finding>;

struct Options {
    policy::Places places;
    std::string plugin_dir;
    std::string plugstack;
    bool json = false;
};

uid_t slurm_user(const policy::Loaded& loaded) {
    const std::string name = loaded.site ? loaded.site->cluster.slurm_user : "root";
    const auto* entry = ::getpwnam(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    return entry != nullptr ? entry->pw_uid : 0;
}

/// slurmctld refuses a policy that others can write; say so here first.
void check_owner(const policy::Loaded& loaded, Findings& findings) {
    if (!loaded.site) {
        return;
    }
    if (const auto text = read_trusted_file(loaded.policy_path, slurm_user(loaded)); !text) {
        findings.push_back({"policy", Level::error, text.error().message});
    }
}

std::vector<std::string> folders(const std::string& list) {
    std::vector<std::string> out;
    for (const auto part : split(list, ':')) {
        if (!trim(part).empty()) {
            out.emplace_back(trim(part));
        }
    }
    return out;
}

/// NCCL_TOPO_FILE of a type of node; the file is on the nodes, and often here as well.
void check_topo_files(const policy::Loaded& loaded, Findings& findings) {
    if (!loaded.site) {
        return;
    }
    for (const auto& type : loaded.site->policy.node_types) {
        std::error_code unreadable;
        if (!type.topo_file.empty() && !std::filesystem::exists(type.topo_file, unreadable)) {
            findings.push_back({"node_type", Level::advice,
                                printable(fmt::format("{}: topo_file \"{}\" is not on this machine: "
                                                      "NCCL goes without it where it is missing",
                                                      rails::called(type), type.topo_file))});
        }
    }
}

std::string_view word(Level level) {
    switch (level) {
        case Level::fine: return "ok";
        case Level::advice: return "advice";
        case Level::warning: return "warning";
        case Level::error: return "error";
    }
    return "?";
}

std::string as_json(const Findings& findings) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& finding : findings) {
        list.push_back({{"subject", finding.subject},
                        {"level", word(finding.level)},
                        {"text", finding.text}});
    }
    const nlohmann::ordered_json out{{"schema", "railhead.check/1"}, {"findings", std::move(list)}};
    return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string as_text(const Findings& findings) {
    report::Table table;
    for (const auto& finding : findings) {
        table.add({finding.subject, std::string{word(finding.level)}, finding.text});
    }
    return table.text();
}

void run(const Options& options, Console& console) {
    const auto loaded = policy::load(options.places, std::nullopt);
    const auto* cluster = loaded.site ? &loaded.site->cluster : nullptr;
    auto plugin_dir = options.plugin_dir;
    if (plugin_dir.empty() && cluster != nullptr) {
        plugin_dir = cluster->plugin_dir;
    }
    const auto plugin_dirs = folders(plugin_dir.empty() ? RAILHEAD_DEFAULT_PLUGIN_DIR : plugin_dir);
    const auto slurm = slurm_version(plugin_dirs);
    auto findings = policy::check_site(loaded, slurm);
    check_owner(loaded, findings);
    check_topo_files(loaded, findings);
    if (slurm) {
        check_job_submit(plugin_dirs, *slurm, findings);
        auto plugstack = options.plugstack;
        if (plugstack.empty() && cluster != nullptr) {
            plugstack = cluster->plug_stack_config;
        }
        if (!plugstack.empty()) {
            check_plugstack(plugstack, plugin_dirs, *slurm, findings);
            check_recorded_node(plugstack, loaded.slurm_conf_path, findings);
            check_helper(plugstack, loaded.slurm_conf_path, findings);
        }
    } else {
        findings.push_back({"plugin", Level::warning,
                            "no Slurm plugin is in PluginDir: which Slurm is installed is unknown"});
    }
    check_controller(loaded, findings);
    check_drained(loaded, findings);
    console.out << (options.json ? as_json(findings) : as_text(findings));
    if (std::ranges::any_of(findings, [](const auto& f) { return f.level >= Level::warning; })) {
        console.leave(Exit::findings);
    }
}

}  // namespace

void add_check(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    options->places = policy::default_places();
    auto* command = app.add_subcommand(
        "check", "Whether the policy, the topology and the installed plugins are in order");
    add_places(*command, options->places);
    command->add_option("--plugin-dir", options->plugin_dir, "Slurm's PluginDir (default: as slurm.conf says)");
    command->add_option("--plugstack", options->plugstack, "plugstack.conf (default: beside slurm.conf)");
    command->add_flag("--json", options->json, "Write JSON, schema railhead.check/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
