#include "node/nccl_distances.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "base/text.hpp"

namespace railhead::node {

std::string_view attribute(pugi::xml_node element, const char* name) {
    return trim(element.attribute(name).as_string());
}

Path path_between(const Place& a, const Place& b) {
    std::size_t common = 0;
    while (common < std::min(a.size(), b.size()) && a[common] == b[common]) {
        ++common;
    }
    if (common == 0) {
        return Path::sys;  // other CPUs
    }
    if (common == 1) {
        return Path::phb;  // only the CPUs are common: a[0] is a cpu element
    }
    return common == a.size() && common == b.size() ? Path::pix : Path::pxb;
}

void add_links(Node& node, const std::vector<NcclDevice<Gpu>>& gpus) {
    std::map<PciAddress, std::size_t> position;
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
        position.emplace(*gpus[gpu].device.pci, gpu);
    }
    std::vector<unsigned> to_switches(gpus.size());
    std::vector<std::vector<unsigned>> direct(gpus.size(), std::vector<unsigned>(gpus.size()));
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
        const auto element = gpus[gpu].element.child("gpu");
        for (const auto link : element.children()) {
            const std::string_view name{link.name()};
            const auto target = parse_pci_address(attribute(link, "target"));
            if ((name != "nvlink" && name != "xgmi") || !target) {
                continue;
            }
            const auto count = link.attribute("count").as_uint(1);
            if (const auto peer = position.find(*target); peer == position.end()) {
                to_switches[gpu] += name == "nvlink" ? count : 0;
            } else if (peer->second != gpu) {
                direct[gpu][peer->second] += name == "nvlink" ? count : 1;
            }
        }
    }
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        auto& row = node.links.emplace_back();
        for (std::size_t b = 0; b < gpus.size(); ++b) {
            const auto through = std::min(to_switches[a], to_switches[b]);
            row.push_back({a == b ? Path::pix : path_between(gpus[a].place, gpus[b].place),
                           a == b ? 0 : std::max(direct[a][b], through)});
        }
    }
}

}  // namespace railhead::node
