// How far devices of NCCL's XML are from each other, for from_nccl_xml.cpp.
#pragma once

#include <string_view>
#include <vector>

#include <pugixml.hpp>

#include "node/node.hpp"

namespace railhead::node {

/// The elements above a device, outermost first: its cpu, then PCI bridges.  Elements and not bus
/// ids, since files exist that give one bus id to several bridges.
using Place = std::vector<pugi::xml_node>;

template <class Device>
struct NcclDevice {
    Device device;
    Place place;
    pugi::xml_node element;
};

/// The attribute without blanks around it; empty where there is none.
[[nodiscard]] std::string_view attribute(pugi::xml_node element, const char* name);

/// By the elements that both are below.
[[nodiscard]] Path path_between(const Place& a, const Place& b);

/// The links between GPUs.
/// NVLinks between two GPUs are counted where they point to each other; where they point to
/// switches, a GPU reaches each other one with all that it has there, as nvidia-smi counts too.
void add_links(Node& node, const std::vector<NcclDevice<Gpu>>& gpus);

}  // namespace railhead::node
