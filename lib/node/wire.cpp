#include "node/wire.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "node/limits.hpp"
#include "node/wire_line.hpp"

namespace railhead::node {

namespace {

constexpr std::string_view version = "3";
constexpr std::string_view trailer = "end";

// ---- writing ------------------------------------------------------------------------------

template <class T>
std::string field(const std::optional<T>& value) {
    return value ? fmt::format("{}", *value) : std::string{};
}

/// A text without what would end a field or a line.
std::string field(std::string_view text) {
    std::string out = printable(text);
    std::ranges::replace(out, '\t', ' ');
    return out;
}

std::string gpu_line(const Gpu& gpu) {
    return fmt::format("gpu\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", to_string(gpu.pci),
                       field(gpu.vendor), field(gpu.model), field(gpu.uuid), field(gpu.minor),
                       fmt::join(gpu.rocm_indices, ","), field(gpu.numa), to_string(gpu.cpus));
}

std::string nic_line(const Nic& nic) {
    return fmt::format("nic\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", field(nic.name),
                       to_string(nic.pci), field(nic.kind), nic.port, field(nic.gbit_per_s),
                       field(nic.pcie_gbyte_per_s), static_cast<unsigned>(nic.link_layer),
                       field(nic.numa), nic.active ? 1 : 0,
                       field(fmt::format("{}", fmt::join(nic.netdevs, ","))),
                       nic.virtual_function ? 1 : 0, field(nic.bond), nic.rdma ? 1 : 0);
}

/// The distances: a line for each GPU to the NICs, then to the GPUs where that is known.
std::string path_lines(const Node& node) {
    std::string out;
    auto into = std::back_inserter(out);
    for (const auto& row : node.paths) {
        out += "path";
        for (const auto path : row) {
            fmt::format_to(into, "\t{}", to_string(path));
        }
        out += '\n';
    }
    for (const auto& row : node.links) {
        out += "link";
        for (const auto& link : row) {
            fmt::format_to(into, "\t{}", to_string(link.path));
            if (link.direct > 0) {
                fmt::format_to(into, ",{}", link.direct);
            }
        }
        out += '\n';
    }
    return out;
}

std::string warning_line(const Error& warning) {
    return fmt::format("warning\t{}\t{}\t{}\t{}\n", static_cast<unsigned>(warning.code),
                       warning.where.line, warning.where.column, field(warning.message));
}

// ---- reading ------------------------------------------------------------------------------

/// A comma between names or numbers; an empty field has none.
std::vector<std::string_view> listed(std::string_view text) {
    return text.empty() ? std::vector<std::string_view>{} : split(text, ',');
}

Gpu read_gpu(WireLine& line) {
    Gpu gpu;
    gpu.pci = line.pci("address");
    gpu.vendor = line.text("vendor");
    gpu.model = line.text("model");
    gpu.uuid = line.text("UUID");
    gpu.minor = line.optional<unsigned>("minor number");
    for (const auto word : listed(line.text("ROCm's numbers"))) {
        const auto number = parse_number<unsigned>(word);
        if (!number || gpu.rocm_indices.size() == most_interfaces) {
            line.fail("a list of numbers");
            break;
        }
        gpu.rocm_indices.push_back(*number);
    }
    gpu.numa = line.optional<unsigned>("NUMA node");
    gpu.cpus = line.cpus("CPUs");
    return gpu;
}

void read_interfaces(Nic& nic, WireLine& line) {
    for (const auto name : listed(line.text("interfaces"))) {
        if (!is_device_name(name) || nic.netdevs.size() == most_interfaces) {
            return line.fail("a list of interfaces like ib0,ib1");
        }
        nic.netdevs.emplace_back(name);
    }
}

Nic read_nic(WireLine& line) {
    Nic nic;
    nic.name = line.device("name");
    nic.pci = line.pci("address");
    nic.kind = line.text("PCI id");
    nic.port = line.number<unsigned>("port");
    nic.gbit_per_s = line.optional_rate("rate");
    nic.pcie_gbyte_per_s = line.optional_rate("PCIe rate");
    const auto layer = line.number<unsigned>("link layer");
    if (layer > static_cast<unsigned>(LinkLayer::other)) {
        line.fail("a number from 0 to 3");
    } else {
        nic.link_layer = static_cast<LinkLayer>(layer);
    }
    nic.numa = line.optional<unsigned>("NUMA node");
    nic.active = line.flag("state");
    read_interfaces(nic, line);
    nic.virtual_function = line.flag("virtual function");
    nic.bond = line.text("bond");
    if (!nic.bond.empty() && !is_device_name(nic.bond)) {
        line.fail("the name of an interface");
    }
    nic.rdma = line.flag("RDMA");
    return nic;
}

Path read_path(WireLine& line, std::string_view word) {
    constexpr std::array paths{Path::pix, Path::pxb, Path::phb, Path::node, Path::sys};
    const auto* const found =
        std::ranges::find(paths, word, [](Path path) { return to_string(path); });
    if (found == paths.end()) {
        line.fail("PIX, PXB, PHB, NODE or SYS");
        return Path::sys;
    }
    return *found;
}

std::vector<Path> read_paths(WireLine& line, std::size_t count) {
    std::vector<Path> row;
    while (row.size() < count && line.good()) {
        row.push_back(read_path(line, line.text("distance")));
    }
    return row;
}

/// "SYS", or "SYS,18" where there are direct links too.
std::vector<GpuLink> read_links(WireLine& line, std::size_t count) {
    std::vector<GpuLink> row;
    while (row.size() < count && line.good()) {
        const auto word = line.text("distance");
        const auto comma = word.find(',');
        auto& link = row.emplace_back(GpuLink{read_path(line, word.substr(0, comma)), 0});
        if (comma != std::string_view::npos) {
            const auto direct = parse_number<unsigned>(word.substr(comma + 1));
            link.direct = direct.value_or(0);
            if (!direct) {
                line.fail("a distance and a number of links like SYS,18");
            }
        }
    }
    return row;
}

Error read_warning(WireLine& line) {
    Error warning;
    const auto code = line.number<unsigned>("code");
    if (code > static_cast<unsigned>(Errc::internal)) {
        line.fail("a number from 0 to 4");
    } else {
        warning.code = static_cast<Errc>(code);
    }
    warning.where.line = line.number<unsigned>("line");
    warning.where.column = line.number<unsigned>("column");
    warning.message = line.text("text");
    return warning;
}

NumaNode read_numa(WireLine& line) {
    NumaNode numa;
    numa.index = line.number<unsigned>("index");
    numa.socket = line.optional<unsigned>("socket");
    numa.cpus = line.cpus("CPUs");
    numa.memory_bytes = line.number<std::uint64_t>("memory");
    return numa;
}

/// A kind of line: how many fields it has behind its first word, how many such lines there may be,
/// and what takes it in.
struct Kind {
    std::string_view name;
    std::size_t fields;
    std::size_t lines;
    void (*read)(Node& node, WireLine& line);
};

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

constexpr std::array kinds{
    Kind{"source", 1, 1, [](Node& node, WireLine& line) { node.source = line.text("name"); }},
    Kind{"allowed", 1, 1, [](Node& node, WireLine& line) { node.allowed = line.cpus("CPUs"); }},
    Kind{"numa", 4, most_numa,
         [](Node& node, WireLine& line) { node.numa.push_back(read_numa(line)); }},
    Kind{"core", 1, most_cores,
         [](Node& node, WireLine& line) { node.cores.push_back(line.cpus("CPUs")); }},
    Kind{"gpu", 8, most_gpus,
         [](Node& node, WireLine& line) {
             node.gpus.push_back(read_gpu(line));
             node.gpus.back().index = static_cast<unsigned>(node.gpus.size() - 1);
         }},
    Kind{"nic", 13, most_nics,
         [](Node& node, WireLine& line) { node.nics.push_back(read_nic(line)); }},
    Kind{"path", any_number, most_gpus,
         [](Node& node, WireLine& line) {
             line.expect(node.nics.size());
             node.paths.push_back(read_paths(line, node.nics.size()));
         }},
    Kind{"link", any_number, most_gpus,
         [](Node& node, WireLine& line) {
             line.expect(node.gpus.size());
             node.links.push_back(read_links(line, node.gpus.size()));
         }},
    Kind{"warning", 4, any_number,
         [](Node& node, WireLine& line) {
             node.warnings.push_back(read_warning(line));
             node.warnings.back().where.file = node.source;
         }},
    Kind{"incomplete", 1, 1,
         [](Node& node, WireLine& line) { node.incomplete = line.text("text"); }}};

/// Takes in lines until one is bad.
class NodeReader {
 public:
    /// Fails as from_wire() does; `number` is the line's.
    Result<void> read(std::string_view text, unsigned number) {
        WireLine line{text};
        const auto* const kind = std::ranges::find(kinds, line.kind(), &Kind::name);
        if (kind == kinds.end()) {
            line.fail_line(
                fmt::format("'{}' is no line of a recorded node", printable(line.kind())));
        } else {
            read(*kind, line);
        }
        return line.good() ? Result<void>{}
                           : fail(Errc::bad_input, line.trouble(), {"", number, line.column()});
    }

    [[nodiscard]] Node& node() { return node_; }

 private:
    void read(const Kind& kind, WireLine& line) {
        auto& lines = lines_[static_cast<std::size_t>(&kind - kinds.data())];
        if (lines == kind.lines) {
            return line.fail_line(kind.lines == 1
                                      ? fmt::format("a second {}", kind.name)
                                      : fmt::format("more than {} {}s", kind.lines, kind.name));
        }
        ++lines;
        if (kind.fields != any_number) {
            line.expect(kind.fields);
        }
        if (line.good()) {
            kind.read(node_, line);
        }
        if (line.cpus_listed() > most_cpus_listed - cpus_listed_) {
            return line.fail_line(fmt::format("more than {} CPUs in all lists", most_cpus_listed));
        }
        cpus_listed_ += line.cpus_listed();
    }

    Node node_;
    std::array<std::size_t, kinds.size()> lines_{};
    std::size_t cpus_listed_ = 0;
};

/// Fails unless every GPU has its row of distances; each row has its length already.
Result<void> check_whole(const Node& node, unsigned end) {
    const auto check = [&](const char* kind, std::size_t lines) {
        return lines == node.gpus.size()
                   ? Result<void>{}
                   : fail(Errc::bad_input,
                          fmt::format("{} of kind {} for {}", count_of(lines, "line"), kind,
                                      count_of(node.gpus.size(), "GPU")),
                          {"", end, 1});
    };
    auto paths = check("path", node.paths.size());
    return paths && !node.links.empty() ? check("link", node.links.size()) : paths;
}

/// Lines without what an editor of another system may have put at their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
    auto lines = split(text, '\n');
    for (auto& line : lines) {
        line.remove_suffix(line.ends_with('\r') ? 1 : 0);
    }
    return lines;
}

}  // namespace

std::string to_wire(const Node& node) {
    std::string out = fmt::format("{}{}\nsource\t{}\nallowed\t{}\n", wire_mark, version,
                                  field(node.source), to_string(node.allowed));
    auto into = std::back_inserter(out);
    for (const auto& numa : node.numa) {
        fmt::format_to(into, "numa\t{}\t{}\t{}\t{}\n", numa.index, field(numa.socket),
                       to_string(numa.cpus), numa.memory_bytes);
    }
    for (const auto& core : node.cores) {
        fmt::format_to(into, "core\t{}\n", to_string(core));
    }
    for (const auto& gpu : node.gpus) {
        out += gpu_line(gpu);
    }
    for (const auto& nic : node.nics) {
        out += nic_line(nic);
    }
    out += path_lines(node);
    for (const auto& warning : node.warnings) {
        out += warning_line(warning);
    }
    if (!node.incomplete.empty()) {
        fmt::format_to(into, "incomplete\t{}\n", field(node.incomplete));
    }
    return fmt::format("{}{}\n", out, trailer);
}

Result<Node> from_wire(std::string_view text) {
    const auto lines = lines_of(text);
    if (!lines[0].starts_with(wire_mark)) {
        return fail(Errc::bad_input, "not a node that Railhead wrote", {"", 1, 1});
    }
    if (const auto found = lines[0].substr(wire_mark.size());
        found != version && lines.size() > 1) {
        return fail(Errc::unsupported,
                    fmt::format("a node recorded in version \"{}\", where this railhead reads "
                                "version {}: record it again",
                                printable(found), version),
                    {"", 1, 1});
    }
    const auto count = lines.size();
    if (count < 3 || lines[count - 2] != trailer || !lines.back().empty()) {
        return fail(Errc::bad_input,
                    fmt::format("cut off here: the last line of a recorded node is '{}'", trailer),
                    {"", static_cast<unsigned>(count), 1});
    }
    NodeReader reader;
    for (std::size_t i = 1; i + 2 < count; ++i) {
        if (lines[i].starts_with('#')) {
            continue;
        }
        if (auto read = reader.read(lines[i], static_cast<unsigned>(i + 1)); !read) {
            return propagate(read);
        }
    }
    if (auto whole = check_whole(reader.node(), static_cast<unsigned>(count - 1)); !whole) {
        return propagate(whole);
    }
    return std::move(reader.node());
}

}  // namespace railhead::node
