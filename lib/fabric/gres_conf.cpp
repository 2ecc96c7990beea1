#include "fabric/gres_conf.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/cluster.hpp"
#include "job/gpu_request.hpp"
#include "job/hostlist.hpp"

namespace railhead::fabric {

namespace {

std::string_view find_value(const std::vector<ConfItem>& items, std::string_view key) {
    for (const auto& item : items) {
        if (equals_ignoring_case(item.key, key)) {
            return item.value;
        }
    }
    return {};
}

/// Count=, else the number of devices of File=.  MultipleFiles= are several files of one GPU.
Result<std::uint64_t> count_of_line(const std::vector<ConfItem>& items) {
    const auto count = find_value(items, "Count");
    if (!count.empty()) {
        const auto number = job::parse_count(count);
        if (!number) {
            return fail(Errc::bad_input, fmt::format("Count={} is no number", printable(count)));
        }
        return *number;
    }
    const auto files = find_value(items, "File");
    if (files.empty()) {
        return find_value(items, "AutoDetect").empty() ? 1 : 0;
    }
    auto names = job::expand_hostlist(files);
    if (!names) {
        return propagate(names);
    }
    return names->size();
}

Result<GresLine> read_line(const std::vector<ConfItem>& items) {
    GresLine line;
    auto count = count_of_line(items);
    if (!count) {
        return propagate(count);
    }
    line.count = *count;
    line.type = find_value(items, "Type");
    const auto cores = find_value(items, "Cores");
    line.cores = cores.empty() ? find_value(items, "CPUs") : cores;
    line.auto_detect = find_value(items, "AutoDetect");
    auto nodes = job::expand_hostlist(find_value(items, "NodeName"));
    if (!nodes) {
        return propagate(nodes);
    }
    line.nodes = std::move(*nodes);
    return line;
}

}  // namespace

void add_gres_line(const ConfReader& reader, const std::vector<ConfItem>& items, GresConf& conf,
                   std::vector<Error>& warnings) {
    const auto where = reader.where(items.front());
    for (const auto& item : items) {
        if (item.key.empty()) {
            warnings.push_back({Errc::bad_input,
                                fmt::format("\"{}\" is not Key=Value, the line is left out",
                                            printable(item.value.substr(0, 60))),
                                reader.where(item)});
            return;
        }
    }
    const auto detect = find_value(items, "AutoDetect");
    if (!detect.empty() && find_value(items, "NodeName").empty()) {
        conf.auto_detect = detect;
    }
    if (find_value(items, "Name") != "gpu") {
        return;
    }
    auto line = read_line(items);
    if (!line) {
        warnings.push_back({Errc::bad_input, line.error().message, where});
        return;
    }
    line->where = where;
    conf.lines.push_back(std::move(*line));
}

namespace {

/// The GPUs that gres.conf lists for one node.
struct Listed {
    std::map<std::string, std::uint64_t> by_type;
    bool by_name = false;  ///< some line names the node
    [[nodiscard]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const auto& [type, count] : by_type) {
            sum += count;
        }
        return sum;
    }
};

std::vector<Listed> list_by_node(const GresConf& conf, const Cluster& cluster) {
    std::vector<Listed> listed(cluster.nodes.size());
    for (const auto& line : conf.lines) {
        for (std::size_t i = 0; i < listed.size() && line.nodes.empty(); ++i) {
            listed[i].by_type[line.type] += line.count;
        }
        for (const auto& name : line.nodes) {
            if (const auto index = cluster.find_node(name)) {
                listed[*index].by_type[line.type] += line.count;
                listed[*index].by_name = true;
            }
        }
    }
    return listed;
}

/// Turns untyped GPUs into typed ones, as far as gres.conf lists them.
void add_types(NodeFacts& node, const Listed& listed) {
    const auto untyped = node.gpus.find("");
    if (untyped == node.gpus.end()) {
        return;
    }
    auto left = untyped->second;
    node.gpus.erase(untyped);
    for (const auto& [type, count] : listed.by_type) {
        const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, left));
        if (!type.empty() && taken > 0) {
            node.gpus[type] += taken;
            left -= taken;
        }
    }
    if (left > 0) {
        node.gpus[""] = left;
    }
}

/// What is wrong with a node's two counts; empty when nothing is.  A line that names no node
/// stands for those that slurm.conf gives GPUs.
std::string disagreement(const NodeFacts& node, const Listed& listed) {
    const auto sum = listed.total();
    if (sum > 0 && node.gpus.empty() && listed.by_name) {
        return "gres.conf lists GPUs, slurm.conf has no Gres=gpu: Slurm offers none";
    }
    if (sum > 0 && sum < node.gpu_total()) {
        return fmt::format("slurm.conf says {}, gres.conf lists {}: the node drains",
                           count_of(node.gpu_total(), "GPU"), sum);
    }
    return {};
}

/// The Cores= of a line and the nodes that it is for: without NodeName=, those that have GPUs.
GpuCores cores_of(const GresLine& line, const GresConf& conf, const Cluster& cluster) {
    const auto& detect = line.auto_detect.empty() ? conf.auto_detect : line.auto_detect;
    GpuCores cores{{}, line.cores, equals_ignoring_case(detect, "off") ? "" : detect, line.where};
    for (std::uint32_t i = 0; i < cluster.nodes.size() && line.nodes.empty(); ++i) {
        if (!cluster.nodes[i].gpus.empty()) {
            cores.nodes.push_back(i);
        }
    }
    for (const auto& name : line.nodes) {
        if (const auto index = cluster.find_node(name)) {
            cores.nodes.push_back(*index);
        }
    }
    return cores;
}

}  // namespace

void apply(const GresConf& conf, Cluster& cluster) {
    for (const auto& line : conf.lines) {
        if (!line.cores.empty()) {
            cluster.gpu_cores.push_back(cores_of(line, conf, cluster));
        }
    }
    const auto listed = list_by_node(conf, cluster);
    std::map<std::string, std::vector<std::string>> complaints;
    for (std::size_t i = 0; i < listed.size(); ++i) {
        auto& node = cluster.nodes[i];
        if (auto message = disagreement(node, listed[i]); !message.empty()) {
            complaints[std::move(message)].push_back(node.name);
        }
        add_types(node, listed[i]);
    }
    for (const auto& [message, nodes] : complaints) {
        constexpr std::size_t shown = 100;
        const auto list = job::compress_hostlist(nodes);
        cluster.warnings.push_back({Errc::bad_input,
                                    fmt::format("{}{}: {}", printable(list.substr(0, shown)),
                                                list.size() > shown ? "…" : "", message),
                                    {}});
    }
}

}  // namespace railhead::fabric
