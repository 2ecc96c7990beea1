#include "node/from_topo_m.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "node/topo_m_affinity.hpp"
#include "node/topo_m_table.hpp"

namespace railhead::node {

namespace {

/// What Node::incomplete says of a matrix without the rows of its last GPUs.
constexpr std::string_view cut_off_before = "the matrix is cut off before ";

void warn(Node& node, unsigned line, std::string message) {
    node.warnings.push_back({Errc::bad_input, std::move(message), {node.source, line, 1}});
}

/// One more reason why the matrix does not tell the rails.
void add_reason(Node& node, std::string_view reason) {
    node.incomplete += node.incomplete.empty() ? "" : "; ";
    node.incomplete += reason;
}

std::string names_of(const std::vector<std::string>& names) {
    return fmt::format("{}", fmt::join(names, ", "));
}

/// The cell where the row of one device meets the column of another.
const TopoCell* cell_of(const TopoTable& table, std::string_view row, std::string_view column) {
    const auto* const found = table.find_row(row);
    const auto at = std::ranges::find(table.devices, column);
    return found == nullptr || at == table.devices.end()
               ? nullptr
               : &found->cells[static_cast<std::size_t>(at - table.devices.begin())];
}

/// The same from either side: the matrix is symmetric.
const TopoCell* meeting(const TopoTable& table, std::string_view a, std::string_view b) {
    const auto* const cell = cell_of(table, a, b);
    return cell != nullptr ? cell : cell_of(table, b, a);
}

/// The NICs that have a column or, where columns are cut off, a row.
std::vector<std::string> nic_names(const TopoTable& table) {
    std::vector<std::string> names{table.devices.begin() + static_cast<std::ptrdiff_t>(table.gpus),
                                   table.devices.end()};
    for (const auto& row : table.rows) {
        if (std::ranges::find(table.devices, row.name) == table.devices.end()) {
            names.push_back(row.name);
        }
    }
    return names;
}

// ---- GPUs ---------------------------------------------------------------------------------

/// Whether the matrix tells the path of a GPU to every NIC.
bool is_told(const TopoTable& table, const std::string& gpu, const std::vector<std::string>& nics) {
    return std::ranges::all_of(
        nics, [&](const auto& nic) { return meeting(table, gpu, nic) != nullptr; });
}

/// How many GPUs, from the first on, can be read.
Result<std::size_t> count_told(const TopoTable& table, const std::vector<std::string>& nics,
                               const std::string& source) {
    const auto here = [&](const std::string& gpu) { return is_told(table, gpu, nics); };
    const auto end = table.devices.begin() + static_cast<std::ptrdiff_t>(table.gpus);
    const auto cut = std::find_if_not(table.devices.begin(), end, here);
    const auto count = static_cast<std::size_t>(cut - table.devices.begin());
    const bool rows = std::ranges::any_of(
        table.rows, [](const TopoRow& row) { return topo_gpu(row.name).has_value(); });
    if (!rows) {
        return fail(Errc::bad_input,
                    "no row of a GPU below the column names: paste the whole output of nvidia-smi "
                    "topo -m",
                    {source, table.line, 1});
    }
    if (const auto later = std::find_if(cut, end, here); later != end) {
        return fail(Errc::bad_input,
                    fmt::format("no row for {}, though {} is there: paste the whole output of "
                                "nvidia-smi topo -m",
                                *cut, *later),
                    {source, table.line, 1});
    }
    return count;
}

void add_gpus(Node& node, const TopoTable& table, std::size_t count) {
    std::vector<std::string> filled;
    for (std::size_t i = 0; i < count; ++i) {
        auto& gpu = node.gpus.emplace_back();
        gpu.index = static_cast<unsigned>(i);
        gpu.vendor = "nvidia";
        if (table.find_row(table.devices[i]) == nullptr) {
            filled.push_back(table.devices[i]);
        }
    }
    if (!filled.empty()) {
        warn(
            node, table.line,
            fmt::format("no row for {}: read from the other rows, without CPUs", names_of(filled)));
    }
}

// ---- NICs ---------------------------------------------------------------------------------

/// Names the NICs as the legend does; those that it lacks keep their name in the matrix.
void add_nics(Node& node, const TopoTable& table, const std::vector<std::string>& names) {
    std::vector<std::string> nameless;
    for (const auto& name : names) {
        const auto legend = table.legend.find(name);
        if (legend != table.legend.end()) {
            node.nics.emplace_back().name = legend->second;
        } else {
            node.nics.emplace_back().name = name;
            const bool numbered =
                name.starts_with("NIC") && parse_number<unsigned>(name.substr(3)).has_value();
            if (numbered) {
                nameless.push_back(name);
            }
        }
    }
    std::vector<std::string> unseen;
    for (const auto& [name, device] : table.legend) {
        if (std::ranges::find(names, name) == names.end()) {
            unseen.push_back(name);
        }
    }
    if (names.empty()) {
        add_reason(node, "the matrix shows no NIC");
    } else if (!nameless.empty()) {
        add_reason(node, "no NIC legend: the device names are not known");
    } else if (!unseen.empty()) {
        add_reason(
            node, fmt::format("{} of the NIC legend has neither row nor column", names_of(unseen)));
    }
}

/// A NIC with an NVLink means that a row is shifted.
Result<void> check_nics(const TopoTable& table, const std::string& source) {
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            const bool nic = !topo_gpu(row.name) || i >= table.gpus;
            if (nic && row.cells[i].nvlinks > 0) {
                return fail(Errc::bad_input,
                            fmt::format("row \"{}\" has NVLinks in column \"{}\": rows and columns "
                                        "do not match, paste the whole output of nvidia-smi topo "
                                        "-m",
                                        row.name, table.devices[i]),
                            {source, row.line, 1});
            }
        }
    }
    return {};
}

// ---- paths --------------------------------------------------------------------------------

void add_paths(Node& node, const TopoTable& table, const std::vector<std::string>& nics) {
    for (const auto& gpu : node.gpus) {
        auto& row = node.paths.emplace_back();
        for (const auto& nic : nics) {
            row.push_back(meeting(table, table.devices[gpu.index], nic)->path);
        }
    }
}

/// Two GPUs whose rows are both cut off leave their link open, and then no link is kept.
void add_links(Node& node, const TopoTable& table) {
    for (const auto& a : node.gpus) {
        auto& row = node.links.emplace_back();
        for (const auto& b : node.gpus) {
            const auto [first, second] = std::minmax(a.index, b.index);
            const auto* const cell = meeting(table, table.devices[first], table.devices[second]);
            if (cell == nullptr && a.index != b.index) {
                node.links.clear();
                return;
            }
            row.push_back(cell == nullptr || cell->self ? GpuLink{Path::pix, 0}
                                                        : GpuLink{cell->path, cell->nvlinks});
        }
    }
}

/// NV# hides the path: NODE within a NUMA node, else SYS.
void set_hidden_paths(Node& node) {
    for (std::size_t a = 0; a < node.links.size(); ++a) {
        for (std::size_t b = 0; b < node.links.size(); ++b) {
            if (node.links[a][b].direct > 0) {
                const bool together = node.gpus[a].numa && node.gpus[a].numa == node.gpus[b].numa;
                node.links[a][b].path = together ? Path::node : Path::sys;
            }
        }
    }
}

void warn_of_asymmetry(Node& node, const TopoTable& table) {
    for (std::size_t i = 0; i < table.gpus; ++i) {
        for (std::size_t j = i + 1; j < table.devices.size(); ++j) {
            const auto& a = table.devices[i];
            const auto& b = table.devices[j];
            const auto* const cell = cell_of(table, a, b);
            const auto* const other = cell_of(table, b, a);
            if (cell != nullptr && other != nullptr &&
                (cell->path != other->path || cell->nvlinks != other->nvlinks)) {
                warn(node, table.find_row(b)->line,
                     fmt::format("row \"{}\" has another path to {} than row \"{}\" has to {}: the "
                                 "latter is used",
                                 b, a, a, b));
            }
        }
    }
}

void warn_of_cut(Node& node, const TopoTable& table, std::size_t count) {
    if (count < table.gpus) {
        const std::vector<std::string> cut{
            table.devices.begin() + static_cast<std::ptrdiff_t>(count),
            table.devices.begin() + static_cast<std::ptrdiff_t>(table.gpus)};
        add_reason(node, fmt::format("{}{}", cut_off_before, cut[0]));
        warn(node, table.line, fmt::format("no row for {}: paste the whole matrix", names_of(cut)));
    }
    if (table.second > 0) {
        warn(node, table.second, "another matrix begins here: only the first is read");
    }
}

}  // namespace

Result<Node> parse_topo_m(std::string_view text, std::string source) {
    if (const auto tool = find_foreign_table(text)) {
        return fail(
            Errc::unsupported,
            fmt::format("\"{}\" is a table of {}, not of nvidia-smi topo -m: record the node "
                        "with railhead node record, or with lstopo --of xml",
                        source, *tool));
    }
    const auto table = parse_topo_table(text, source);
    if (!table) {
        return tl::unexpected{table.error()};
    }
    const auto nics = nic_names(*table);
    if (auto good = check_nics(*table, source); !good) {
        return propagate(good);
    }
    const auto count = count_told(*table, nics, source);
    if (!count) {
        return tl::unexpected{count.error()};
    }
    Node node;
    node.source = std::move(source);
    add_gpus(node, *table, *count);
    add_nics(node, *table, nics);
    add_paths(node, *table, nics);
    add_links(node, *table);
    add_topo_affinity(node, *table);
    set_hidden_paths(node);
    warn_of_asymmetry(node, *table);
    warn_of_cut(node, *table, *count);
    std::ranges::stable_sort(node.warnings, {},
                             [](const Error& error) { return error.where.line; });
    return node;
}

bool lacks_gpus(const Node& node) {
    return node.incomplete.find(cut_off_before) != std::string::npos;
}

std::optional<std::string_view> find_foreign_table(std::string_view text) {
    struct Tool {
        std::string_view mark, name;
    };
    constexpr std::array<Tool, 7> tools{{{"HCCS", "npu-smi (Ascend)"},
                                         {"NPU0 ", "npu-smi (Ascend)"},
                                         {"NPU0\t", "npu-smi (Ascend)"},
                                         {"ROCm System Management Interface", "rocm-smi"},
                                         {"(Topology) Numa", "rocm-smi"},
                                         {"between two GPUs", "rocm-smi"},
                                         {"ACCESS TABLE:", "amd-smi"}}};
    const auto* const found = std::ranges::find_if(
        tools, [&](const Tool& tool) { return text.find(tool.mark) != std::string_view::npos; });
    return found == tools.end() ? std::nullopt : std::optional{found->name};
}

}  // namespace railhead::node
