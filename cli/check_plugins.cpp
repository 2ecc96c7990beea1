#include "check_plugins.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "plugin_file.hpp"
#include "plugstack.hpp"
#include "policy/load.hpp"
#include "rails/plugin_arguments.hpp"

namespace railhead::cli {

namespace {

using policy::Level;
using Findings = std::vector<policy::Finding>;

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

}  // namespace

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

}  // namespace railhead::cli
