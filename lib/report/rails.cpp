#include "report/rails.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "affinity/binding.hpp"
#include "base/text.hpp"
#include "rails/fingerprint.hpp"
#include "rails/warnings.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;
using node::LinkLayer;
using node::Nic;
using node::Node;

constexpr std::size_t width = 80;

/// The CPUs of each GPU when all are used.
std::vector<affinity::Share> all_shares(const Node& node) {
    std::vector<std::size_t> all;
    for (const auto& gpu : node.gpus) {
        all.push_back(gpu.index);
    }
    return affinity::share_cpus(node, all, node.allowed);
}

// ---- text ---------------------------------------------------------------------------------

/// "8 x 400 Gb/s InfiniBand": equal texts counted, in order of first sight.
std::string counted(const std::vector<std::string>& texts) {
    std::vector<std::pair<std::string, unsigned>> counts;
    for (const auto& text : texts) {
        auto found = std::ranges::find(counts, text, &std::pair<std::string, unsigned>::first);
        if (found == counts.end()) {
            found = counts.insert(counts.end(), {text, 0});
        }
        ++found->second;
    }
    std::string out;
    for (const auto& [text, count] : counts) {
        out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", count, text);
    }
    return out.empty() ? "none" : out;
}

std::string nic_text(const Nic& nic) {
    const auto rate = nic.gbit_per_s ? fmt::format("{:g} Gb/s ", *nic.gbit_per_s) : "";
    const auto layer = std::string{to_string(nic.link_layer)};
    const auto what = layer.empty() ? nic.kind : layer;
    return rate + (what.empty() ? "NIC" : what);
}

std::string gpu_text(const node::Gpu& gpu) {
    const auto model = gpu.model.empty() ? gpu.vendor + " GPU" : printable(gpu.model);
    const auto parts = gpu.rocm_indices.size();
    return parts < 2 ? model : fmt::format("{} ({} ROCm devices each)", model, parts);
}

std::string cpus_text(const Node& node) {
    if (node.cores.empty()) {
        return "not known, but for those near a GPU";
    }
    const auto with_cpus = static_cast<std::uint64_t>(
        std::ranges::count_if(node.numa, [](const auto& numa) { return !numa.cpus.empty(); }));
    return fmt::format("{} on {}; allowed here: {}", count_of(node.cores.size(), "core"),
                       count_of(with_cpus, "NUMA node"), to_string(node.allowed));
}

std::string summary(const NodeReport& report) {
    const auto& node = report.node;
    std::vector<std::string> gpus;
    for (const auto& gpu : node.gpus) {
        gpus.push_back(gpu_text(gpu));
    }
    std::vector<std::string> rails;
    for (const auto nic : report.plan.rails) {
        rails.push_back(nic_text(node.nics[nic]));
    }
    Table table;
    table.add({"Node", printable(node.source)});
    table.add({"GPUs", counted(gpus)});
    table.add({"Rails", counted(rails)});
    table.add({"CPUs", cpus_text(node)});
    return table.text(0, width);
}

std::string gpu_table(const NodeReport& report) {
    if (report.node.gpus.empty()) {
        return {};
    }
    const auto shares = all_shares(report.node);
    Table table{{"GPU", "PCI", "NUMA", "CPUs", "path", "NICs"}};
    for (const auto& gpu : report.node.gpus) {
        const auto& rails = report.plan.gpus[gpu.index];
        std::vector<std::string> nics;
        for (const auto nic : rails.nics) {
            nics.push_back(rails::device_port(report.node.nics[nic]));
        }
        const auto cpus =
            to_string(report.node.cores.empty() ? gpu.cpus : shares[gpu.index].cpus);
        table.add({fmt::format("{}", gpu.index), gpu.pci ? to_string(*gpu.pci) : "-",
                   gpu.numa ? fmt::format("{}", *gpu.numa) : "-", cpus.empty() ? "-" : cpus,
                   nics.empty() ? "-" : std::string{to_string(rails.path)},
                   nics.empty() ? "-" : fmt::format("{}", fmt::join(nics, " "))});
    }
    return "\n" + table.text(0, width);
}

std::string left_out_table(const NodeReport& report) {
    Table table;
    for (const auto& [nic, reason] : report.plan.left_out) {
        table.add({rails::device_port(report.node.nics[nic]), reason});
    }
    for (const auto& name : report.plan.missing) {
        table.add({name, "in the site's list of rails, but not on this node"});
    }
    return table.empty() ? std::string{} : "\nNICs left out\n" + table.text(2, width);
}

/// What the source left in doubt, then what is odd about the node.
std::vector<std::string> warnings_of(const NodeReport& report) {
    std::vector<std::string> warnings;
    for (const auto& warning : report.node.warnings) {
        warnings.push_back(printable(to_string(warning)));
    }
    for (auto& warning : rails::find_warnings(report.node, report.plan)) {
        warnings.push_back(std::move(warning));
    }
    return warnings;
}

std::string warnings_text(const NodeReport& report) {
    Table table;
    for (const auto& warning : warnings_of(report)) {
        table.add({"-", warning});
    }
    return table.empty() ? std::string{} : "\nWarnings\n" + table.text(2, width);
}

/// Variables whose value differs from task to task.
bool is_per_task(std::string_view name) {
    return name == "UCX_NET_DEVICES" || name == "RAILHEAD_NIC";
}

std::string environment_table(const NodeReport& report) {
    Table table;
    for (const auto& [name, value] : report.environment.changes) {
        if (!value || name.starts_with("RAILHEAD_")) {
            continue;  // ours repeat what NCCL and UCX are told
        }
        table.add({name, is_per_task(name) ? "for each task: the NICs of its GPUs, as above"
                         : value->size() + name.size() + 4 <= width ? *value
                                                                    : breakable_list(*value, width - 20)});
    }
    for (const auto& [name, by] : report.environment.kept) {
        table.add({name, "left to " + printable(by)});
    }
    if (!report.environment.silence.empty()) {
        table.add({"(none)", report.environment.silence});
    }
    return "\nEnvironment of a job here\n" + table.text(2, width);
}

// ---- JSON ---------------------------------------------------------------------------------

template <class T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

json address_json(const std::optional<node::PciAddress>& address) {
    return address ? json(to_string(*address)) : json(nullptr);
}

json names(const Node& node, const std::vector<std::size_t>& nics) {
    auto list = json::array();
    for (const auto nic : nics) {
        list.push_back(rails::device_port(node.nics[nic]));
    }
    return list;
}

json gpus_json(const NodeReport& report) {
    const auto shares = all_shares(report.node);
    auto list = json::array();
    for (const auto& gpu : report.node.gpus) {
        const auto& rails = report.plan.gpus[gpu.index];
        list.push_back({{"index", gpu.index},
                        {"pci", address_json(gpu.pci)},
                        {"vendor", gpu.vendor},
                        {"model", gpu.model},
                        {"numa", or_null(gpu.numa)},
                        {"local_cpus", to_string(gpu.cpus)},
                        {"cpus", to_string(shares[gpu.index].cpus)},
                        {"path", rails.nics.empty() ? json(nullptr) : json(to_string(rails.path))},
                        {"nics", names(report.node, rails.nics)},
                        {"near", names(report.node, rails.near)}});
    }
    return list;
}

json nics_json(const NodeReport& report) {
    std::map<std::size_t, std::string> reasons;
    for (const auto& [nic, reason] : report.plan.left_out) {
        reasons.emplace(nic, reason);
    }
    auto list = json::array();
    for (std::size_t i = 0; i < report.node.nics.size(); ++i) {
        const auto& nic = report.node.nics[i];
        const auto reason = reasons.find(i);
        list.push_back(
            {{"name", nic.name},
             {"port", nic.port},
             {"pci", address_json(nic.pci)},
             {"device", nic.kind},
             {"interfaces", nic.netdevs},
             {"gbit_per_s", or_null(nic.gbit_per_s)},
             {"link_layer", to_string(nic.link_layer)},
             {"numa", or_null(nic.numa)},
             {"active", nic.active},
             {"rail", reason == reasons.end()},
             {"left_out", reason == reasons.end() ? json(nullptr) : json(reason->second)}});
    }
    return list;
}

json environment_json(const rails::EnvironmentPlan& environment) {
    auto set = json::object();
    auto per_task = json::array();
    for (const auto& [name, value] : environment.changes) {
        if (name == rails::own_marks) {
            continue;  // for the steps inside alone
        }
        if (value && is_per_task(name)) {
            per_task.push_back(name);
        } else if (value) {
            set[name] = *value;
        }
    }
    auto kept = json::object();
    for (const auto& [name, by] : environment.kept) {
        kept[name] = by;
    }
    return {{"set", set}, {"per_task", per_task}, {"left_to", kept}};
}

}  // namespace

std::string rails_text(const NodeReport& report) {
    return summary(report) + gpu_table(report) + left_out_table(report) + warnings_text(report) +
           environment_table(report);
}

std::string rails_json(const NodeReport& report) {
    const auto identity = rails::identify_rails(report.node, report.plan, report.name);
    const json document{{"schema", "railhead.rails/1"},
                        {"source", report.node.source},
                        {"cores", report.node.cores.size()},
                        {"allowed_cpus", to_string(report.node.allowed)},
                        {"gpus", gpus_json(report)},
                        {"nics", nics_json(report)},
                        {"rails", report.plan.list},
                        {"missing", report.plan.missing},
                        {"incomplete", report.node.incomplete.empty()
                                           ? json(nullptr)
                                           : json(report.node.incomplete)},
                        {"warnings", warnings_of(report)},
                        {"fingerprint", identity.fingerprint},
                        {"shape", identity.shape},
                        {"node", identity.node},
                        {"environment", environment_json(report.environment)}};
    constexpr int indent = 2;
    return document.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
