// railhead check: the policy, the topology, and whether the installed plugins fit the installed
// Slurm.  Reads files; asks a running slurmctld only when it read its own.
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "job/hostlist.hpp"
#include "plugin_file.hpp"
#include "places.hpp"
#include "plugstack.hpp"
#include "policy/check.hpp"
#include "policy/drain_reason.hpp"
#include "policy/load.hpp"
#include "rails/plugin_arguments.hpp"
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

/// The Slurm that is installed there: the version of one of its own plugins.
std::optional<std::uint32_t> slurm_version(const std::vector<std::string>& plugin_dirs) {
    for (const auto& folder : plugin_dirs) {
        for (const auto* stock : {"select_cons_tres.so", "auth_munge.so", "task_affinity.so"}) {
            if (const auto version = plugin_version(fmt::format("{}/{}", folder, stock))) {
                return *version;
            }
        }
    }
    return std::nullopt;
}

void check_plugin(const std::string& path, std::uint32_t slurm, std::uint32_t mask,
                  Findings& findings) {
    const auto version = plugin_version(path);
    if (!version) {
        findings.push_back({"plugin", Level::error, to_string(version.error())});
    } else if (((*version ^ slurm) & mask) != 0) {
        findings.push_back({"plugin", Level::error,
                            fmt::format("{} was built for Slurm {}, {} is installed: install the "
                                        "package for {}",
                                        path, version_text(*version), version_text(slurm),
                                        version_text(slurm))});
    } else {
        findings.push_back({"plugin", Level::fine,
                            fmt::format("{} fits Slurm {}", path, version_text(slurm))});
    }
}

constexpr std::uint32_t all_three = 0xffffff;  // slurmctld compares all of major.minor.micro
constexpr std::uint32_t first_two = 0xffff00;  // slurmd, srun and sbatch major.minor

void check_job_submit(const std::vector<std::string>& plugin_dirs, std::uint32_t slurm,
                      Findings& findings) {
    for (const auto& folder : plugin_dirs) {
        const auto path = fmt::format("{}/job_submit_railhead.so", folder);
        if (std::filesystem::exists(path)) {
            return check_plugin(path, slurm, all_three, findings);
        }
    }
    findings.push_back({"plugin", Level::warning,
                        "job_submit_railhead.so is not in PluginDir: needed where slurmctld runs"});
}

/// One line of plugstack.conf that names our plugin.
void check_plugstack_line(const PlugstackLine& line, const std::vector<std::string>& plugin_dirs,
                          std::uint32_t slurm, Findings& findings) {
    const auto at = fmt::format("{}:{}", line.where.file, line.where.line);
    const auto parsed = rails::parse_plugin_arguments(line.arguments);
    if (!parsed) {
        findings.push_back(
            {"plugstack", Level::error, fmt::format("{}: {}", at, parsed.error().message)});
    }
    const bool strict = parsed && parsed->strict;
    if (line.demand != "optional" && !strict) {
        findings.push_back({"plugstack", Level::warning,
                            fmt::format("{}: \"{}\": where the plugin is missing every srun then "
                                        "fails; write \"optional\"",
                                        at, line.demand)});
    } else if (line.demand == "optional" && strict) {
        findings.push_back({"plugstack", Level::warning,
                            fmt::format("{}: strict=true has no effect on an \"optional\" line: Slurm "
                                        "ignores what the plugin returns; write \"required\" once "
                                        "every node has the plugin",
                                        at)});
    }
    auto path = line.plugin;
    if (!path.starts_with('/')) {
        const auto found = std::ranges::find_if(plugin_dirs, [&](const auto& folder) {
            return std::filesystem::exists(fmt::format("{}/{}", folder, line.plugin));
        });
        path = fmt::format("{}/{}", found == plugin_dirs.end() ? "PluginDir" : *found, line.plugin);
    }
    check_plugin(path, slurm, first_two, findings);
}

void check_plugstack(const std::string& file, const std::vector<std::string>& plugin_dirs,
                     std::uint32_t slurm, Findings& findings) {
    const auto plugstack = read_plugstack(file);
    for (const auto& error : plugstack.errors) {
        findings.push_back({"plugstack", Level::warning, to_string(error)});
    }
    for (const auto& line : plugstack.lines) {
        check_plugstack_line(line, plugin_dirs, slurm, findings);
    }
    if (plugstack.lines.empty() && !plugstack.includes && plugstack.errors.empty()) {
        findings.push_back({"plugstack", Level::warning,
                            fmt::format("{} does not name spank_railhead.so", file)});
    }
}

/// Whether the plugin would run the program beside tasks: one that is missing, or that others than
/// root could have written, is not run.
void check_helper(const std::string& plugstack, const std::string& slurm_conf, Findings& findings) {
    for (const auto& line : read_plugstack(plugstack).lines) {
        const auto arguments = rails::parse_plugin_arguments(line.arguments);
        if (!arguments || arguments->helper.empty()) {
            continue;
        }
        struct stat status {};
        if (::stat(arguments->helper.c_str(), &status) != 0) {
            findings.push_back({"helper", Level::advice,
                                fmt::format("{} is not on this machine: nodes need it for --ckpt-signal and "
                                            "--ckpt-dir (helper= of plugstack.conf names another)",
                                            printable(arguments->helper))});
        } else if (const auto trusted = check_trusted(status, arguments->helper,
                                                      policy::trusted_owner(slurm_conf));
                   !trusted) {
            findings.push_back({"helper", Level::error, to_string(trusted.error())});
        }
    }
}

/// Whether the plugin on the nodes would take the recorded node that it is given, where that file
/// is here too.
void check_recorded_node(const std::string& plugstack, const std::string& slurm_conf,
                         Findings& findings) {
    for (const auto& line : read_plugstack(plugstack).lines) {
        const auto arguments = rails::parse_plugin_arguments(line.arguments);
        if (!arguments || arguments->topology.empty()) {
            continue;
        }
        const auto text = read_trusted_file(arguments->topology, policy::trusted_owner(slurm_conf));
        if (!text && text.error().code != Errc::not_found) {
            findings.push_back(
                {"plugstack", Level::error, fmt::format("topology=: {}", to_string(text.error()))});
        }
    }
}

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

/// Railhead reads slurm.conf and the topology by itself, so until a reconfigure it can know a
/// cluster that slurmctld does not know yet.  Slurm tells no time of its last reconfigure: the
/// contents are compared.
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

/// Nodes that slurmctld drained for a reason that has a remedy.
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
