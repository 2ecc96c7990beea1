#include "node/topo_m_affinity.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::node {

namespace {

/// A GPU and the row that speaks of it.
struct Read {
    Gpu& gpu;
    const TopoRow& row;
};

void warn(Node& node, unsigned line, unsigned column, std::string message) {
    node.warnings.push_back({Errc::bad_input, std::move(message), {node.source, line, column}});
}

bool says_nothing(const std::string& cell) {
    return cell.empty() || cell == "N/A";
}

void read_cpus(Node& node, const Read& read) {
    const auto& [text, column] = read.row.cpu;
    if (says_nothing(text)) {
        return;
    }
    if (auto cpus = parse_cpu_list(text)) {
        read.gpu.cpus = std::move(*cpus);
    } else {
        warn(node, read.row.line, column,
             fmt::format("CPU affinity \"{}\" of {} is damaged: not used", printable(text),
                         read.row.name));
    }
}

void read_numa(Node& node, const Read& read) {
    const auto& [text, column] = read.row.numa;
    if (says_nothing(text)) {
        return;
    }
    const auto nodes = parse_cpu_list(text);
    if (!nodes) {
        warn(node, read.row.line, column,
             fmt::format("NUMA affinity \"{}\" of {} is damaged: not used", printable(text),
                         read.row.name));
    } else if (nodes->size() == 1 || parse_number<unsigned>(read.row.gpu_numa.text)) {
        read.gpu.numa = nodes->cpus().front();
    }
}

/// An empty cell among full ones: the GPU's CPUs are not among those that this job may use.
void warn_of_empty(Node& node, const std::vector<Read>& all) {
    const bool some =
        std::ranges::any_of(all, [](const Read& read) { return !read.row.cpu.text.empty(); });
    for (const auto& read : all) {
        if (some && read.row.readable && read.row.cpu.text.empty()) {
            warn(node, read.row.line, 1,
                 fmt::format("CPU affinity of {} is empty: no CPU near it was granted where this "
                             "was written",
                             read.row.name));
        } else if (!read.row.readable) {
            warn(node, read.row.line, 1,
                 fmt::format("nothing tells which column the words at the end of row \"{}\" are "
                             "in: not used",
                             read.row.name));
        }
    }
}

/// Within a NUMA node the GPUs have equal CPUs; what only a minority has lost characters.
void drop_odd_cpus(Node& node, const std::vector<Read>& all) {
    for (const auto& read : all) {
        if (!read.gpu.numa || read.gpu.cpus.empty()) {
            continue;
        }
        const auto beside = [&](const Read& other) {
            return other.row.numa.text == read.row.numa.text && !other.row.cpu.text.empty();
        };
        const auto total = std::ranges::count_if(all, beside);
        const auto equal = std::ranges::count_if(all, [&](const Read& other) {
            return beside(other) && other.row.cpu.text == read.row.cpu.text;
        });
        if (2 * equal > total) {
            continue;
        }
        warn(node, read.row.line, read.row.cpu.column,
             fmt::format("CPU affinity \"{}\" of {} is not that of the other GPUs of NUMA node {}: "
                         "not used",
                         printable(read.row.cpu.text), read.row.name, *read.gpu.numa));
        read.gpu.cpus = {};
    }
}

/// Whether SYS lies between two GPUs, or a NIC is near one and beyond SYS for another.
bool spans_numa_nodes(const Node& node) {
    for (const auto& row : node.links) {
        if (std::ranges::any_of(row, [](const GpuLink& link) {
                return link.direct == 0 && link.path == Path::sys;
            })) {
            return true;
        }
    }
    for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
        const auto far = std::ranges::count(
            node.paths, Path::sys, [nic](const std::vector<Path>& row) { return row[nic]; });
        if (far > 0 && far < static_cast<std::ptrdiff_t>(node.paths.size())) {
            return true;
        }
    }
    return false;
}

void drop_cpus_of_a_job(Node& node, const std::vector<Read>& all) {
    const auto same = [&](const Read& read) {
        return !read.gpu.cpus.empty() && read.gpu.cpus == all[0].gpu.cpus &&
               read.row.numa.text == all[0].row.numa.text;
    };
    if (all.size() < 2 || !std::ranges::all_of(all, same) || !spans_numa_nodes(node)) {
        return;
    }
    warn(node, all[0].row.line, all[0].row.cpu.column,
         fmt::format("all GPUs have the CPU affinity \"{}\", though SYS lies between some: those "
                     "are the CPUs of the job this was written in; not used",
                     printable(all[0].row.cpu.text)));
    for (const auto& read : all) {
        read.gpu.cpus = {};
        read.gpu.numa.reset();
    }
}

}  // namespace

void add_topo_affinity(Node& node, const TopoTable& table) {
    std::vector<Read> all;
    for (auto& gpu : node.gpus) {
        if (const auto* row = table.find_row(table.devices[gpu.index])) {
            all.push_back({gpu, *row});
            read_cpus(node, all.back());
            read_numa(node, all.back());
        }
    }
    warn_of_empty(node, all);
    drop_odd_cpus(node, all);
    drop_cpus_of_a_job(node, all);

    std::map<unsigned, CpuSet> nodes;
    for (const auto& gpu : node.gpus) {
        if (gpu.numa) {
            nodes[*gpu.numa] |= gpu.cpus;
        }
    }
    for (auto& [index, cpus] : nodes) {
        node.numa.push_back({index, std::nullopt, std::move(cpus), 0});
    }
}

}  // namespace railhead::node
