#include "node/wire.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <iterator>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

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

using Fields = std::span<const std::string_view>;

/// Reads fields one after the other; the first bad one makes the whole line bad.
class Reader {
 public:
    explicit Reader(Fields fields) : fields_{fields} {}

    std::string_view text() {
        if (next_ >= fields_.size()) {
            good_ = false;
            return {};
        }
        return fields_[next_++];
    }

    template <std::integral T>
    T number() {
        return keep(parse_number<T>(text()));
    }

    template <class T>
    std::optional<T> optional() {
        const auto word = text();
        if (word.empty()) {
            return std::nullopt;
        }
        T value{};
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        good_ = good_ && error == std::errc{} && end == word.data() + word.size();
        if constexpr (std::floating_point<T>) {
            good_ = good_ && std::isfinite(value);
        }
        return value;
    }

    CpuSet cpus() { return keep(parse_cpu_list(text())); }
    std::optional<PciAddress> pci() {
        const auto word = text();
        return word.empty() ? std::nullopt : std::optional{keep(parse_pci_address(word))};
    }
    void fail() { good_ = false; }
    [[nodiscard]] bool good() const { return good_; }

    /// Whether every field was there and good, and none is left.
    [[nodiscard]] bool complete() const { return good_ && next_ == fields_.size(); }

 private:
    template <class Maybe>
    auto keep(Maybe value) -> typename Maybe::value_type {
        good_ = good_ && value.has_value();
        return value ? *value : typename Maybe::value_type{};
    }

    Fields fields_;
    std::size_t next_ = 0;
    bool good_ = true;
};

Gpu read_gpu(Reader& line) {
    Gpu gpu;
    gpu.pci = line.pci();
    gpu.vendor = line.text();
    gpu.model = line.text();
    gpu.uuid = line.text();
    gpu.minor = line.optional<unsigned>();
    for (const auto word : split(line.text(), ',')) {
        if (const auto number = parse_number<unsigned>(word)) {
            gpu.rocm_indices.push_back(*number);
        }
    }
    gpu.numa = line.optional<unsigned>();
    gpu.cpus = line.cpus();
    return gpu;
}

Nic read_nic(Reader& line) {
    Nic nic;
    nic.name = line.text();
    nic.pci = line.pci();
    nic.kind = line.text();
    nic.port = line.number<unsigned>();
    nic.gbit_per_s = line.optional<double>();
    nic.pcie_gbyte_per_s = line.optional<double>();
    const auto layer = line.number<unsigned>();
    if (layer > static_cast<unsigned>(LinkLayer::other)) {
        line.fail();
    } else {
        nic.link_layer = static_cast<LinkLayer>(layer);
    }
    nic.numa = line.optional<unsigned>();
    nic.active = line.number<unsigned>() != 0;
    for (const auto name : split(line.text(), ',')) {
        if (!name.empty()) {
            nic.netdevs.emplace_back(name);
        }
    }
    nic.virtual_function = line.number<unsigned>() != 0;
    nic.bond = line.text();
    nic.rdma = line.number<unsigned>() != 0;
    return nic;
}

Path read_path(Reader& line, std::string_view word) {
    constexpr std::array paths{Path::pix, Path::pxb, Path::phb, Path::node, Path::sys};
    const auto* const found =
        std::ranges::find(paths, word, [](Path path) { return to_string(path); });
    if (found == paths.end()) {
        line.fail();
        return Path::sys;
    }
    return *found;
}

std::vector<Path> read_paths(Reader& line, std::size_t count) {
    std::vector<Path> row;
    while (row.size() < count && line.good()) {
        row.push_back(read_path(line, line.text()));
    }
    return row;
}

/// "SYS", or "SYS,18" where there are direct links too.
std::vector<GpuLink> read_links(Reader& line, std::size_t count) {
    std::vector<GpuLink> row;
    while (row.size() < count && line.good()) {
        const auto word = line.text();
        const auto comma = word.find(',');
        auto& link = row.emplace_back(GpuLink{read_path(line, word.substr(0, comma)), 0});
        if (comma != std::string_view::npos) {
            const auto direct = parse_number<unsigned>(word.substr(comma + 1));
            link.direct = direct.value_or(0);
            if (!direct) {
                line.fail();
            }
        }
    }
    return row;
}

Error read_warning(Reader& line) {
    Error warning;
    const auto code = line.number<unsigned>();
    if (code > static_cast<unsigned>(Errc::internal)) {
        line.fail();
    } else {
        warning.code = static_cast<Errc>(code);
    }
    warning.where.line = line.number<unsigned>();
    warning.where.column = line.number<unsigned>();
    warning.message = line.text();
    return warning;
}

/// Adds what one line says; false when it is not one of ours.
bool read_line(Node& node, const std::vector<std::string_view>& fields) {
    Reader line{Fields{fields}.subspan(1)};
    if (fields[0] == "source") {
        node.source = line.text();
    } else if (fields[0] == "allowed") {
        node.allowed = line.cpus();
    } else if (fields[0] == "numa") {
        auto& numa = node.numa.emplace_back();
        numa.index = line.number<unsigned>();
        numa.socket = line.optional<unsigned>();
        numa.cpus = line.cpus();
        numa.memory_bytes = line.number<std::uint64_t>();
    } else if (fields[0] == "core") {
        node.cores.push_back(line.cpus());
    } else if (fields[0] == "gpu") {
        node.gpus.push_back(read_gpu(line));
        node.gpus.back().index = static_cast<unsigned>(node.gpus.size() - 1);
    } else if (fields[0] == "nic") {
        node.nics.push_back(read_nic(line));
    } else if (fields[0] == "path") {
        node.paths.push_back(read_paths(line, node.nics.size()));
    } else if (fields[0] == "link") {
        node.links.push_back(read_links(line, node.gpus.size()));
    } else if (fields[0] == "warning") {
        node.warnings.push_back(read_warning(line));
        node.warnings.back().where.file = node.source;
    } else if (fields[0] == "incomplete") {
        node.incomplete = line.text();
    } else {
        return false;
    }
    return line.complete();
}

/// Whether every GPU has a path to every NIC, and a link to every GPU where links are known.
bool is_whole(const Node& node) {
    const auto all = [&](const auto& rows, std::size_t columns) {
        return rows.size() == node.gpus.size() &&
               std::ranges::all_of(rows, [&](const auto& row) { return row.size() == columns; });
    };
    return all(node.paths, node.nics.size()) &&
           (node.links.empty() || all(node.links, node.gpus.size()));
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
    const auto lines = split(text, '\n');
    const auto bad = [](std::size_t line) {
        return fail(Errc::bad_input, "not a node that Railhead wrote",
                    {"", static_cast<unsigned>(line + 1), 1});
    };
    if (!text.starts_with(wire_mark)) {
        return bad(0);
    }
    if (const auto found = lines[0].substr(wire_mark.size()); found != version) {
        return fail(Errc::unsupported,
                    fmt::format("a node recorded in version \"{}\", where this railhead reads "
                                "version {}: record it again",
                                printable(found), version),
                    {"", 1, 1});
    }
    const auto count = lines.size();
    if (count < 3 || lines[count - 2] != trailer || !lines.back().empty()) {
        return bad(count - 1);  // cut short
    }
    Node node;
    for (std::size_t i = 1; i + 2 < count; ++i) {
        if (!lines[i].starts_with('#') && !read_line(node, split(lines[i], '\t'))) {
            return bad(i);
        }
    }
    if (!is_whole(node)) {
        return bad(count - 2);
    }
    return node;
}

}  // namespace railhead::node
