#include "diagnose/slurm_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/conf_file.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::string_view config_heading = "Configuration data as of ";

/// Of 22.05 to 26.05: slurm.conf(5).
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> defaults{
    {{"AccountingStorageTRES", "billing,cpu,energy,mem,node,pages,vmem"},
     {"KillOnBadExit", "0"},
     {"PreemptMode", "OFF"},
     {"PrivateData", ""},
     {"SchedulerParameters", ""},
     {"SchedulerType", "sched/backfill"}}};

bool is_config(std::string_view text) {
    return trim(text).starts_with(config_heading);
}

}  // namespace

bool SlurmSettings::is_known(std::string_view head) {
    if (is_config(head)) {
        return true;
    }
    fabric::ConfReader reader{head, {}};
    std::vector<fabric::ConfItem> items;
    while (reader.next(items)) {
        constexpr std::array<std::string_view, 3> needed{"ClusterName", "SlurmctldHost",
                                                         "ControlMachine"};
        const auto is_one = [&](std::string_view key) {
            return equals_ignoring_case(items.front().key, key);
        };
        if (std::ranges::any_of(needed, is_one)) {
            return true;
        }
    }
    return false;
}

SlurmSettings::SlurmSettings(std::string_view text, const std::string& name) : name_{name} {
    if (is_config(text)) {
        read_config(text, name);
    } else {
        read_slurm_conf(text, name);
    }
}

/// "SchedulerType           = sched/backfill".  Of a key that a later section repeats, such as
/// cgroup.conf's, the first counts.
void SlurmSettings::read_config(std::string_view text, const std::string& name) {
    std::uint64_t number = 0;
    for (const auto line : split(text, '\n')) {
        ++number;
        const auto equals = line.find('=');
        const auto key = trim(line.substr(0, equals));
        if (equals == std::string_view::npos || key.empty()) {
            continue;
        }
        const auto value = trim(line.substr(equals + 1));
        settings_.push_back({std::string{key}, value == "(null)" ? "" : printable(value),
                             fmt::format("{}:{}", name, number)});
    }
}

/// Of a key that stands there twice Slurm takes the last.
void SlurmSettings::read_slurm_conf(std::string_view text, const std::string& name) {
    has_defaults_ = true;
    fabric::ConfReader reader{text, name};
    std::vector<fabric::ConfItem> items;
    while (reader.next(items)) {
        const auto& first = items.front();
        if (first.key.empty()) {  // "Include FILE"
            has_defaults_ = has_defaults_ && !equals_ignoring_case(first.value, "include");
            continue;
        }
        settings_.insert(settings_.begin(), {std::string{first.key}, printable(first.value),
                                             fmt::format("{}:{}", name, first.line)});
    }
}

std::optional<SlurmSetting> SlurmSettings::find(std::string_view key) const {
    const auto found = std::ranges::find_if(
        settings_, [&](const auto& one) { return equals_ignoring_case(one.key, key); });
    if (found != settings_.end()) {
        return *found;
    }
    const auto* usual = std::ranges::find_if(
        defaults, [&](const auto& one) { return equals_ignoring_case(one.first, key); });
    if (!has_defaults_ || usual == defaults.end()) {
        return std::nullopt;
    }
    return SlurmSetting{std::string{usual->first}, std::string{usual->second},
                        fmt::format("Slurm's default, {} has none", name_)};
}

}  // namespace railhead::diagnose
