#include "node/from_nccl_xml.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/text.hpp"
#include "node/limits.hpp"
#include "node/nccl_distances.hpp"
#include "node/nccl_values.hpp"

namespace railhead::node {

namespace {

constexpr std::size_t most_levels = 32;

constexpr unsigned class_bridge = 0x0604;
constexpr unsigned class_ethernet = 0x0200;
constexpr unsigned class_infiniband = 0x0207;

std::optional<std::uint32_t> hex_attribute(pugi::xml_node element, const char* name) {
    return parse_nccl_hex(attribute(element, name));
}

/// "15b3:1021", or "" where the file does not tell.
std::string kind_of(pugi::xml_node pci) {
    const auto vendor = hex_attribute(pci, "vendor");
    const auto device = hex_attribute(pci, "device");
    return vendor && device ? fmt::format("{:04x}:{:04x}", *vendor, *device) : std::string{};
}

/// Walks through the elements; the first thing that is wrong ends it.
class Reader {
 public:
    Reader(Node& node, const TextPlaces& places) : node_{node}, places_{places} {}

    Result<void> read(pugi::xml_node system) {
        for (const auto cpu : system.children("cpu")) {
            if (auto done = read_cpu(cpu); !done) {
                return done;
            }
        }
        return {};
    }

    Result<void> finish();

 private:
    Result<void> read_cpu(pugi::xml_node cpu);
    Result<void> read_children(pugi::xml_node parent, const Place& place);
    Result<void> read_pci(pugi::xml_node pci, const Place& place);
    Result<void> add_gpu(pugi::xml_node pci, const Place& place);
    Result<void> add_nets(pugi::xml_node parent, pugi::xml_node pci, const Place& place);
    Result<void> add_nic(Nic nic, const Place& place, pugi::xml_node element);
    Result<PciAddress> address_of(pugi::xml_node pci) const;
    Nic nic_on(pugi::xml_node pci) const;
    void add_paths();

    tl::unexpected<Error> bad(pugi::xml_node element, std::string message,
                              Errc code = Errc::bad_input) const {
        return fail(code, std::move(message), places_.at(element.offset_debug()));
    }

    Node& node_;
    const TextPlaces& places_;
    std::optional<unsigned> numa_;  ///< of the cpu element that is read
    std::vector<NcclDevice<Gpu>> gpus_;
    std::vector<NcclDevice<Nic>> nics_;
    pugi::xml_node unknown_;  ///< the first PCI function without class
};

Result<PciAddress> Reader::address_of(pugi::xml_node pci) const {
    auto address = parse_pci_address(attribute(pci, "busid"));
    if (!address) {
        return bad(pci, "busid: " + address.error().message);
    }
    return address;
}

Result<void> Reader::read_cpu(pugi::xml_node cpu) {
    const auto index = parse_number<int>(attribute(cpu, "numaid"));
    if (!index) {
        return bad(cpu,
                   fmt::format("numaid '{}' is no number", printable(attribute(cpu, "numaid"))));
    }
    numa_ = *index < 0 ? std::nullopt : std::optional{static_cast<unsigned>(*index)};
    const auto mask = attribute(cpu, "affinity");
    const auto cpus = mask.empty() ? CpuSet{} : parse_nccl_mask(mask);
    if (!cpus) {
        return bad(cpu, fmt::format("affinity '{}' is no CPU mask like 00000000,0000ffff",
                                    printable(mask)));
    }
    if (numa_ && node_.find_numa(*numa_) != nullptr) {
        return bad(cpu, fmt::format("numaid {} is listed twice", *numa_));
    }
    node_.allowed |= *cpus;
    if (node_.numa.size() == most_numa || node_.allowed.size() > most_cores) {
        return bad(cpu, fmt::format("more than {} NUMA nodes or {} CPUs", most_numa, most_cores));
    }
    if (numa_) {
        node_.numa.push_back({*numa_, std::nullopt, *cpus, 0});
    }
    return read_children(cpu, {cpu});
}

Result<void> Reader::read_children(pugi::xml_node parent, const Place& place) {
    if (place.size() > most_levels) {
        return bad(parent, fmt::format("more than {} elements in each other", most_levels));
    }
    for (const auto pci : parent.children("pci")) {
        if (auto done = read_pci(pci, place); !done) {
            return done;
        }
    }
    const bool is_pci = std::string_view{parent.name()} == "pci";  // else nets hang on the CPUs
    return add_nets(parent, is_pci ? parent : pugi::xml_node{}, place);
}

Result<void> Reader::read_pci(pugi::xml_node pci, const Place& place) {
    const auto function = hex_attribute(pci, "class");
    const auto kind = function.value_or(0) >> 8U;
    if (pci.child("gpu")) {
        return add_gpu(pci, place);
    }
    if (pci.child("pci") || kind == class_bridge) {
        auto below = place;
        below.push_back(pci);
        return read_children(pci, below);
    }
    if (pci.child("nic") || pci.child("net")) {
        return add_nets(pci, pci, place);
    }
    const auto base = kind >> 8U;
    if (function &&
        (base == 0x03 || base == 0x12)) {  // display, 3D; processing accelerator (MI300)
        return add_gpu(pci, place);
    }
    if (kind == class_ethernet || kind == class_infiniband) {
        auto address = address_of(pci);
        if (!address) {
            return propagate(address);
        }
        auto nic = nic_on(pci);
        nic.pci = *address;
        return add_nic(std::move(nic), place, pci);
    }
    if (!function && !unknown_) {
        unknown_ = pci;
    }
    return {};
}

Result<void> Reader::add_gpu(pugi::xml_node pci, const Place& place) {
    auto address = address_of(pci);
    if (!address) {
        return propagate(address);
    }
    if (std::ranges::any_of(gpus_, [&](const auto& gpu) { return gpu.device.pci == *address; })) {
        return bad(pci, fmt::format("GPU {} is listed twice", to_string(*address)));
    }
    if (gpus_.size() == most_gpus) {
        return bad(pci, fmt::format("more than {} GPUs", most_gpus));
    }
    Gpu gpu;
    gpu.pci = *address;
    gpu.numa = numa_;
    if (const auto* const numa = numa_ ? node_.find_numa(*numa_) : nullptr) {
        gpu.cpus = numa->cpus;
    }
    const auto kind = kind_of(pci);
    gpu.model = kind.empty() ? "GPU" : kind;
    // NCCL runs on NVIDIA's GPUs alone; AMD's RCCL writes gcn, and the PCI vendor.
    const bool amd = kind.starts_with("1002:") || pci.child("gpu").attribute("gcn");
    gpu.vendor = amd ? "amd" : "nvidia";
    for (const auto element : pci.children("gpu")) {
        if (const auto dev = parse_number<unsigned>(attribute(element, "dev")); amd && dev) {
            gpu.rocm_indices.push_back(*dev);
        }
    }
    gpus_.push_back({std::move(gpu), place, pci});
    return {};
}

/// A NIC with what its PCI function tells; `pci` may be no element.
Nic Reader::nic_on(pugi::xml_node pci) const {
    Nic nic;
    nic.kind = kind_of(pci);
    nic.pcie_gbyte_per_s =
        pcie_gbyte_per_s(attribute(pci, "link_speed"), attribute(pci, "link_width"));
    nic.numa = numa_;
    const auto kind = hex_attribute(pci, "class").value_or(0) >> 8U;
    nic.link_layer = kind == class_infiniband ? LinkLayer::infiniband
                     : kind == class_ethernet ? LinkLayer::ethernet
                                              : LinkLayer::unknown;
    return nic;
}

Result<void> Reader::add_nets(pugi::xml_node parent, pugi::xml_node pci, const Place& place) {
    constexpr double most_believed_mbit_per_s = 10e6;
    constexpr double mbit = 1000;
    std::vector<pugi::xml_node> nets;
    std::ranges::copy(parent.children("net"), std::back_inserter(nets));
    for (const auto nic : parent.children("nic")) {
        std::ranges::copy(nic.children("net"), std::back_inserter(nets));
    }
    for (const auto net : nets) {
        auto nic = nic_on(pci);
        nic.name = attribute(net, "name");
        if (nic.name.empty()) {
            return bad(net, "a net without name");
        }
        if (!is_device_name(nic.name)) {
            return bad(net, fmt::format("'{}' is no name of a NIC: up to 64 letters, digits, '_', "
                                        "'.' and '-'",
                                        printable(nic.name)));
        }
        if (pci) {
            auto address = address_of(pci);
            if (!address) {
                return propagate(address);
            }
            nic.pci = *address;
        }
        const auto port = parse_number<unsigned>(attribute(net, "port")).value_or(1);
        nic.rdma = port != 0;
        nic.port = nic.name.starts_with("mlx4") ? port : 1;
        const double speed = net.attribute("speed").as_double();
        if (speed > 0 && speed <= most_believed_mbit_per_s) {
            nic.gbit_per_s = speed / mbit;
        }
        if (auto done = add_nic(std::move(nic), place, net); !done) {
            return done;
        }
    }
    return {};
}

Result<void> Reader::add_nic(Nic nic, const Place& place, pugi::xml_node element) {
    if (nics_.size() == most_nics) {
        return bad(element, fmt::format("more than {} NICs", most_nics));
    }
    nics_.push_back({std::move(nic), place, element});
    return {};
}

void Reader::add_paths() {
    for (const auto& gpu : gpus_) {
        auto& row = node_.paths.emplace_back();
        for (const auto& nic : nics_) {
            row.push_back(path_between(gpu.place, nic.place));
        }
    }
}

Result<void> Reader::finish() {
    if (unknown_ && (gpus_.empty() || nics_.empty())) {
        return bad(unknown_,
                   fmt::format("PCI function '{}' has no class: which functions are GPUs and which "
                               "NICs, only the machine itself can tell; write the file there with "
                               "NCCL_TOPO_DUMP_FILE",
                               printable(attribute(unknown_, "busid"))),
                   Errc::unsupported);
    }
    std::ranges::sort(gpus_, {}, [](const auto& gpu) { return gpu.device.pci; });
    std::ranges::stable_sort(nics_, {}, [](const auto& nic) { return nic.device.pci; });
    std::ranges::sort(node_.numa, {}, &NumaNode::index);
    for (const auto cpu : node_.allowed.cpus()) {  // NCCL knows no cores
        node_.cores.emplace_back().add(cpu);
    }
    add_paths();
    add_links(node_, gpus_);
    for (auto& gpu : gpus_) {
        gpu.device.index = static_cast<unsigned>(node_.gpus.size());
        node_.gpus.push_back(std::move(gpu.device));
    }
    for (auto& nic : nics_) {
        if (nic.device.name.empty()) {
            nic.device.name = unnamed_nic(node_.nics.size());
            node_.incomplete = nics_unnamed;
        }
        node_.nics.push_back(std::move(nic.device));
    }
    return {};
}

}  // namespace

std::string unnamed_nic(std::size_t position) {
    return fmt::format("net{}", position);
}

Result<Node> parse_nccl_xml(std::string_view xml, std::string source) {
    const TextPlaces places{xml, source};
    if (xml.size() > most_text) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is larger than {} MiB", source, most_text >> 20U));
    }
    pugi::xml_document document;
    const auto parsed =
        document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) {
        return fail(Errc::bad_input, fmt::format("no XML: {}", parsed.description()),
                    places.at(parsed.offset));
    }
    const auto root = document.document_element();
    if (std::string_view{root.name()} == "graphs") {
        return fail(Errc::unsupported,
                    "a graph of NCCL (for NCCL_GRAPH_FILE), which tells no distances; a topology "
                    "is what NCCL writes with NCCL_TOPO_DUMP_FILE",
                    places.at(root.offset_debug()));
    }
    if (std::string_view{root.name()} != "system" || !root.child("cpu")) {
        return fail(Errc::bad_input,
                    fmt::format("'{}' is no topology of NCCL: a system with a cpu is expected",
                                printable(root.name())),
                    places.at(root.offset_debug()));
    }
    Node node;
    node.source = std::move(source);
    Reader reader{node, places};
    if (auto done = reader.read(root); !done) {
        return propagate(done);
    }
    if (auto done = reader.finish(); !done) {
        return propagate(done);
    }
    return node;
}

}  // namespace railhead::node
