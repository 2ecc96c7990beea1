#include "node/from_hwloc.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <hwloc.h>

#include "node/hwloc_cpus.hpp"
#include "node/hwloc_devices.hpp"

namespace railhead::node {

namespace {

struct TopologyDeleter {
    void operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

// ---- loading ------------------------------------------------------------------------------

/// GPU back-ends start threads and load the vendor's libraries; "x86" binds us to each CPU in turn.
constexpr std::array blacklist{"cuda", "nvml", "opencl", "rsmi", "gl", "levelzero", "x86"};

void configure(hwloc_topology* topology) {
    for (const auto* const component : blacklist) {
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      component);  // fails where there is no such component: fine
    }
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
#if HWLOC_API_VERSION >= 0x00020800
    flags |= HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING | HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
             HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
    hwloc_topology_set_flags(topology, flags);
    hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
}

Result<Topology> new_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) {
        return fail(Errc::internal, "hwloc cannot start");
    }
    Topology topology{raw};
    configure(topology.get());
    return topology;
}

/// The text from the topology on, and without comments: hwloc's own reader takes neither a comment
/// nor a blank line before the document type.
std::string plain(std::string_view xml) {
    std::string text;
    text.reserve(xml.size() + 1);
    for (auto at = xml.find("<!--"); at != std::string_view::npos; at = xml.find("<!--")) {
        text += xml.substr(0, at);
        const auto end = xml.find("-->", at + 4);
        xml.remove_prefix(end == std::string_view::npos ? xml.size() : end + 3);
    }
    text += xml;
    const auto topology = text.find("<topology");
    return topology == std::string::npos ? text : text.substr(topology);
}

bool cut_off(const std::string& xml) {
    return xml.starts_with("<topology") && xml.find("</topology>") == std::string::npos;
}

tl::unexpected<Error> refused(const std::string& xml, const std::string& source) {
    if (xml.find("<topology version=\"3") != std::string::npos) {
        return fail(Errc::unsupported,
                    fmt::format("\"{}\" is XML of hwloc 3, which hwloc {} cannot read: write it "
                                "again with lstopo --export-xml-flags v2",
                                source, HWLOC_VERSION));
    }
    const auto* const cut = cut_off(xml) ? ": cut off or damaged, </topology> is missing" : "";
    return fail(Errc::bad_input,
                fmt::format("\"{}\" is no topology in hwloc's XML{}", source, cut));
}

// ---- the whole ----------------------------------------------------------------------------

Node to_node(hwloc_topology* topology, std::string source) {
    Node node;
    node.source = std::move(source);
    add_numa_and_cores(node, topology);

    const auto found = find_devices(node, topology);
    for (const auto& gpu : found.gpus) {
        node.gpus.push_back(gpu.device);
        node.gpus.back().index = static_cast<unsigned>(node.gpus.size() - 1);
        auto& row = node.paths.emplace_back();
        for (const auto& nic : found.nics) {
            row.push_back(path_between(gpu.pci, nic.pci));
        }
    }
    for (const auto& nic : found.nics) {
        node.nics.push_back(nic.device);
    }
    return node;
}

}  // namespace

const char* const* hwloc_environment() noexcept {
    // The plugin folder of the distribution holds back-ends that link OpenCL, X11 and libxml2, and
    // hwloc opens every one of them before it looks at a blacklist.
    static constexpr std::array<const char*, 5> variables{
        "HWLOC_PLUGINS_PATH=/nonexistent", "HWLOC_LIBXML=0", "HWLOC_HIDE_ERRORS=2",
        "HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES=1", nullptr};
    return variables.data();
}

Result<Node> read_hwloc() {
    auto topology = new_topology();
    if (!topology) {
        return propagate(topology);
    }
    if (hwloc_topology_load(topology->get()) != 0) {
        return fail(Errc::unavailable, fmt::format("hwloc cannot discover this machine: {}",
                                                   std::generic_category().message(errno)));
    }
    return to_node(topology->get(), "live");
}

Result<Node> parse_hwloc_xml(std::string_view xml, std::string source) {
    auto topology = new_topology();
    if (!topology) {
        return propagate(topology);
    }
    const auto text = plain(xml);
    constexpr std::size_t most = std::size_t{64} << 20U;
    // Some releases of hwloc read a topology without its end, and say that all is well.
    if (text.size() >= most || cut_off(text) ||
        hwloc_topology_set_xmlbuffer(topology->get(), text.c_str(),
                                     static_cast<int>(text.size() + 1)) != 0 ||
        hwloc_topology_load(topology->get()) != 0) {
        return refused(text, source);
    }
    return to_node(topology->get(), std::move(source));
}

}  // namespace railhead::node
