#include "fabric/partition_conf.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/gpu_request.hpp"
#include "job/hostlist.hpp"
#include "job/units.hpp"

namespace railhead::fabric {

namespace {

using Indices = std::vector<std::uint32_t>;
using NodeSets = std::map<std::string, Indices, std::less<>>;

bool is_yes(std::string_view text) {
    return equals_ignoring_case(text, "YES") || equals_ignoring_case(text, "TRUE") ||
           equals_ignoring_case(text, "UP") || text == "1";
}

void sort_unique(Indices& indices) {
    std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

/// Where a partition's values come from: its own line, the DEFAULT lines before it, the cluster.
class Source {
 public:
    Source(const Settings& own, const Settings& defaults, std::vector<Error>& warnings)
        : own_{own}, defaults_{defaults}, warnings_{warnings} {}

    [[nodiscard]] std::string_view find(std::string_view key) const {
        const auto value = own_.find(key);
        return value.empty() ? defaults_.find(key) : value;
    }

    /// Unset where nothing, UNLIMITED or no number is written; the last with a warning.
    template <class T>
    std::optional<T> number(std::string_view key) const {
        const auto text = find(key);
        if (text.empty() || equals_ignoring_case(text, "UNLIMITED") ||
            equals_ignoring_case(text, "INFINITE")) {
            return std::nullopt;
        }
        const auto value = job::parse_count(text);
        if (!value || *value > std::numeric_limits<T>::max()) {
            warn(fmt::format("{}={} is no number", key, printable(text.substr(0, 60))));
            return std::nullopt;
        }
        return static_cast<T>(*value);
    }

    [[nodiscard]] std::optional<std::uint32_t> minutes(std::string_view key) const {
        const auto text = find(key);
        const auto value = text.empty() ? std::nullopt : job::parse_minutes(text);
        if (!text.empty() && !value && !equals_ignoring_case(text, "NONE")) {
            warn(fmt::format("{}={} is no time", key, printable(text.substr(0, 60))));
        }
        return value;
    }

    void warn(std::string message) const {
        warnings_.push_back({Errc::bad_input, std::move(message), own_.where()});
    }

 private:
    const Settings& own_;
    const Settings& defaults_;
    std::vector<Error>& warnings_;
};

/// Memory and CPU defaults and limits.  Per node goes before per CPU, as in Slurm; zero is unset.
void set_amounts(Partition& partition, const Source& source) {
    const auto megabytes = [&](std::string_view key) {
        const auto value = source.number<std::uint64_t>(key);
        return value && *value > 0 ? value : std::nullopt;
    };
    if (!partition.def_mem_per_node_mb && !partition.def_mem_per_cpu_mb) {
        partition.def_mem_per_node_mb = megabytes("DefMemPerNode");
        if (!partition.def_mem_per_node_mb) {
            partition.def_mem_per_cpu_mb = megabytes("DefMemPerCPU");
        }
    }
    if (!partition.max_mem_per_node_mb && !partition.max_mem_per_cpu_mb) {
        partition.max_mem_per_node_mb = megabytes("MaxMemPerNode");
        if (!partition.max_mem_per_node_mb) {
            partition.max_mem_per_cpu_mb = megabytes("MaxMemPerCPU");
        }
    }
    const auto defaults = source.find("JobDefaults");
    const auto per_gpu = [&](std::string_view key) {
        const auto listed = find_parameter(defaults, key);
        return listed ? job::parse_count(*listed) : megabytes(key);
    };
    if (!partition.def_mem_per_gpu_mb) {
        partition.def_mem_per_gpu_mb = per_gpu("DefMemPerGPU");
    }
    if (const auto cpus = per_gpu("DefCPUPerGPU"); cpus && !partition.def_cpus_per_gpu) {
        partition.def_cpus_per_gpu =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(*cpus, 65535));
    }
}

std::string sharing_of(const Source& source) {
    if (const auto exclusive = source.find("Exclusive");
        equals_ignoring_case(exclusive, "NODE") || equals_ignoring_case(exclusive, "TOPO")) {
        return "EXCLUSIVE";
    }
    const auto written = source.find("OverSubscribe");
    std::string text{written.empty() ? source.find("Shared") : written};
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

Partition partition_of(std::string_view name, const Source& source) {
    Partition partition;
    partition.name = name;
    partition.is_default = is_yes(source.find("Default"));
    partition.default_time_min = source.minutes("DefaultTime");
    partition.max_time_min = source.minutes("MaxTime");
    partition.min_nodes = source.number<std::uint32_t>("MinNodes").value_or(0);
    partition.max_nodes = source.number<std::uint32_t>("MaxNodes");
    partition.max_cpus_per_node = source.number<std::uint32_t>("MaxCPUsPerNode");
    partition.over_subscribe = sharing_of(source);
    partition.topology = source.find("Topology");
    partition.preempt_mode = source.find("PreemptMode");
    partition.grace_time_s = source.number<std::uint32_t>("GraceTime").value_or(0);
    partition.lln = is_yes(source.find("LLN"));
    set_amounts(partition, source);
    return partition;
}

/// The nodes of a list that may name node sets; names that are neither go to `unknown`.
Result<Indices> find_nodes(std::string_view list, const Position& where, const Cluster& cluster,
                           const NodeSets& sets, std::vector<std::string>& unknown) {
    Indices indices;
    if (equals_ignoring_case(list, "ALL")) {
        indices = cluster.by_name;
    } else {
        auto names = job::expand_hostlist(list);
        if (!names) {
            return fail(Errc::bad_input, fmt::format("Nodes: {}", names.error().message), where);
        }
        for (auto& name : *names) {
            if (const auto set = sets.find(name); set != sets.end()) {
                indices.insert(indices.end(), set->second.begin(), set->second.end());
            } else if (const auto index = cluster.find_node(name)) {
                indices.push_back(*index);
            } else {
                unknown.push_back(std::move(name));
            }
        }
    }
    sort_unique(indices);
    return indices;
}

void warn_about_unknown(std::string_view what, const std::vector<std::string>& unknown,
                        const Position& where, Cluster& cluster) {
    if (!unknown.empty()) {
        constexpr std::size_t shown = 100;
        const auto list = job::compress_hostlist(unknown);
        cluster.warnings.push_back(
            {Errc::bad_input,
             fmt::format("{} names {} that no NodeName= defines: {}{}", printable(what),
                         count_of(unknown.size(), "node"), printable(list.substr(0, shown)),
                         list.size() > shown ? "…" : ""),
             where});
    }
}

Result<> add_node_set(const Settings& line, Cluster& cluster, NodeSets& sets) {
    const std::string name{line.find("NodeSet")};
    std::vector<std::string> unknown;
    auto indices = find_nodes(line.find("Nodes"), line.where(), cluster, sets, unknown);
    if (!indices) {
        return propagate(indices);
    }
    if (const auto feature = line.find("Feature"); !feature.empty()) {
        for (std::uint32_t i = 0; i < cluster.nodes.size(); ++i) {
            if (std::ranges::count(cluster.nodes[i].features, feature) > 0) {
                indices->push_back(i);
            }
        }
    }
    sort_unique(*indices);
    warn_about_unknown("NodeSet " + name, unknown, line.where(), cluster);
    sets[name] = std::move(*indices);
    return {};
}

}  // namespace

void PartitionLines::add(const ConfReader& reader, const std::vector<ConfItem>& items,
                         std::vector<Error>& warnings) {
    Settings own;
    own.add(reader, items, warnings);
    if (equals_ignoring_case(items.front().key, "NodeSet")) {
        node_sets_.push_back(std::move(own));
    } else if (equals_ignoring_case(items.front().value, "DEFAULT")) {
        defaults_.add(reader, items, warnings);
    } else {
        partitions_.emplace_back(std::move(own), defaults_);
    }
}

Result<> PartitionLines::make(const Settings& globals, Cluster& cluster) const {
    NodeSets sets;
    for (const auto& line : node_sets_) {
        if (auto added = add_node_set(line, cluster, sets); !added) {
            return added;
        }
    }
    for (const auto& [own, defaults] : partitions_) {
        const Source source{own, defaults, cluster.warnings};
        auto partition = partition_of(own.find("PartitionName"), source);
        set_amounts(partition, {globals, globals, cluster.warnings});
        std::vector<std::string> unknown;
        auto nodes = find_nodes(source.find("Nodes"), own.where(), cluster, sets, unknown);
        if (!nodes) {
            return propagate(nodes);
        }
        partition.nodes = std::move(*nodes);
        warn_about_unknown("partition " + partition.name, unknown, own.where(), cluster);
        cluster.partitions.push_back(std::move(partition));
    }
    return {};
}

}  // namespace railhead::fabric
