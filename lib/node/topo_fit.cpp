#include "node/topo_fit.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::node {

namespace {

template <class Device>
const Device* find_at(const std::vector<Device>& devices, const PciAddress& address) {
    const auto at = std::ranges::find(devices, address, &Device::pci);
    return at == devices.end() ? nullptr : &*at;
}

/// Where the devices of a list are, and where they are looked for.
struct Search {
    std::string_view what, of, in;
};

/// "2 GPUs of the file are not on this machine: 0001:00:00.0 and 1 more"; nothing for none.
template <class Device>
void tell_missing(const std::vector<Device>& from, const std::vector<Device>& in,
                  const Search& search, std::vector<std::string>& found) {
    std::vector<PciAddress> missing;
    for (const auto& device : from) {
        if (device.pci && find_at(in, *device.pci) == nullptr) {
            missing.push_back(*device.pci);
        }
    }
    if (!missing.empty()) {
        const bool one = missing.size() == 1;
        found.push_back(fmt::format("{} of {} {} not {}: {}{}",
                                    count_of(missing.size(), search.what), search.of,
                                    one ? "is" : "are", search.in, to_string(missing.front()),
                                    one ? "" : fmt::format(" and {} more", missing.size() - 1)));
    }
}

}  // namespace

std::vector<std::string> find_misfits(const Node& file, const Node& machine) {
    std::vector<std::string> found;
    tell_missing(file.gpus, machine.gpus, {"GPU", "the file", "on this machine"}, found);
    tell_missing(file.nics, machine.nics, {"NIC", "the file", "on this machine"}, found);
    tell_missing(machine.gpus, file.gpus, {"GPU", "this machine", "in the file"}, found);
    for (const auto& gpu : file.gpus) {
        const auto* here = gpu.pci ? find_at(machine.gpus, *gpu.pci) : nullptr;
        if (here != nullptr && !gpu.cpus.empty() && !here->cpus.empty() &&
            (gpu.cpus & here->cpus).empty()) {
            found.push_back(fmt::format("GPU {} is near CPUs {}, and the file says {}",
                                        to_string(*gpu.pci), to_string(here->cpus),
                                        to_string(gpu.cpus)));
        }
    }
    return found;
}

}  // namespace railhead::node
