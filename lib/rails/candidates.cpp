#include "rails/candidates.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "node/from_topo_m.hpp"

namespace railhead::rails {

namespace {

using node::LinkLayer;
using node::Nic;
using node::Node;
using node::Path;
using Positions = std::vector<std::size_t>;

/// Moves the rails for which `reason` gives a text to those left out.
template <class Reason>
void leave_out(Candidates& found, const Reason& reason) {
    std::erase_if(found.rails, [&](std::size_t nic) {
        auto text = reason(nic);
        if (!text.empty()) {
            found.left_out.push_back({nic, std::move(text)});
            return true;
        }
        return false;
    });
}

// ---- what kind of device ------------------------------------------------------------------

void keep_rdma(const Node& node, Candidates& found) {
    leave_out(found, [&](std::size_t nic) -> std::string {
        return node.nics[nic].rdma ? "" : "a network interface without RDMA";
    });
}

/// GB200 and GB300: NCCL lists a NIC's second way to GPU memory as "<name>_dma".
void keep_devices_of_their_own(const Node& node, Candidates& found) {
    constexpr std::string_view suffix = "_dma";
    leave_out(found, [&](std::size_t nic) -> std::string {
        const auto& name = node.nics[nic].name;
        if (!name.ends_with(suffix)) {
            return {};
        }
        const auto device = name.substr(0, name.size() - suffix.size());
        return std::ranges::find(node.nics, device, &Nic::name) == node.nics.end()
                   ? ""
                   : fmt::format("the data-direct function of {}", device);
    });
}

void keep_physical(const Node& node, Candidates& found) {
    leave_out(found, [&](std::size_t nic) -> std::string {
        return node.nics[nic].virtual_function ? "an SR-IOV function of another NIC of this node"
                                               : "";
    });
}

/// With RoCE LAG one RDMA device stands for all ports of its card, and its interfaces are in a bond
/// too: mlx5 calls it mlx5_bond_0.
bool is_whole_bond(const Nic& nic) {
    return nic.name.find("bond") != std::string::npos;
}

/// Members of bonds carry the host's own network, but where nothing else is there.
void keep_unbonded(const Node& node, Candidates& found) {
    const auto is_member = [&](std::size_t nic) {
        return !node.nics[nic].bond.empty() && !is_whole_bond(node.nics[nic]);
    };
    if (std::ranges::all_of(found.rails, is_member)) {
        return;
    }
    leave_out(found, [&](std::size_t nic) {
        return is_member(nic) ? fmt::format("a member of {}", node.nics[nic].bond) : std::string{};
    });
}

// ---- near ---------------------------------------------------------------------------------

Path nearest_path(const Node& node, std::size_t nic) {
    auto best = Path::sys;
    for (const auto& row : node.paths) {
        best = std::min(best, row[nic]);
    }
    return best;
}

template <class Member>
double highest(const Node& node, const Positions& nics, Member member) {
    double best = 0;
    for (const auto nic : nics) {
        best = std::max(best, (node.nics[nic].*member).value_or(0));
    }
    return best;
}

/// A port that is down shows no rate.  Its class is that of the same device beside it.
bool is_of_class(const Node& node, const Positions& nics, double rate, const Nic& nic) {
    if (nic.gbit_per_s) {
        return *nic.gbit_per_s >= rate;
    }
    return std::ranges::any_of(nics, [&](std::size_t other) {
        return node.nics[other].gbit_per_s == rate && node.nics[other].kind == nic.kind;
    });
}

/// The highest port rate among NICs in Gbit/s, and what those of this class have together.
struct Rates {
    double each = 0;
    double sum = 0;        ///< of all, ports that are down included
    double sum_known = 0;  ///< of those that show it
};

Rates rates_of(const Node& node, const Positions& nics) {
    Rates rates;
    rates.each = highest(node, nics, &Nic::gbit_per_s);
    for (const auto nic : nics) {
        rates.sum += is_of_class(node, nics, rates.each, node.nics[nic]) ? rates.each : 0;
        rates.sum_known += node.nics[nic].gbit_per_s == rates.each ? rates.each : 0;
    }
    return rates;
}

/// The farthest class that is still near.
Path near_limit(const Node& node, const Positions& candidates) {
    const auto within = [&](Path limit) {
        Positions nics;
        std::ranges::copy_if(candidates, std::back_inserter(nics),
                             [&](std::size_t nic) { return nearest_path(node, nic) <= limit; });
        return nics;
    };
    auto limit = Path::sys;
    for (const auto nic : candidates) {
        limit = std::min(limit, nearest_path(node, nic));
    }
    limit = std::max(limit, Path::pxb);  // PIX and PXB are both "below one host bridge"
    const auto near = rates_of(node, within(limit));
    for (const auto wider : {Path::phb, Path::node}) {
        const auto far = rates_of(node, within(wider));
        if (wider > limit && near.each > 0 && far.each > near.each && far.sum_known > near.sum) {
            return wider;
        }
    }
    return limit;
}

void keep_near(const Node& node, Candidates& found) {
    const auto limit = near_limit(node, found.rails);
    // The very GPU that a NIC is near may be cut off.
    const std::string_view gpus =
        node::lacks_gpus(node) ? "the GPUs shown (others are cut off)" : "the nearest GPU";
    leave_out(found, [&](std::size_t nic) {
        const auto path = nearest_path(node, nic);
        return path <= limit ? std::string{}
                             : fmt::format("{} to {}, rails have {} or better", to_string(path),
                                           gpus, to_string(limit));
    });
}

// ---- fast ---------------------------------------------------------------------------------

/// Where no port rate is known: the device that most are, and then the PCIe link.
void keep_fast_links(const Node& node, Candidates& found) {
    std::map<std::string_view, std::size_t> counts;
    for (const auto nic : found.rails) {
        ++counts[node.nics[nic].kind];
    }
    std::size_t most = 0;
    for (const auto& [kind, count] : counts) {
        most = std::max(most, count);
    }
    const auto usual =
        std::ranges::find(counts, most, [](const auto& kind) { return kind.second; });
    if (std::ranges::count(counts, most, [](const auto& kind) { return kind.second; }) == 1) {
        leave_out(found, [&](std::size_t nic) {
            const auto& kind = node.nics[nic].kind;
            return kind == usual->first
                       ? std::string{}
                       : fmt::format("another device ({}) than the rails ({})", kind, usual->first);
        });
    }
    const auto link = highest(node, found.rails, &Nic::pcie_gbyte_per_s);
    leave_out(found, [&](std::size_t position) {
        const auto own = node.nics[position].pcie_gbyte_per_s;
        return !own || 2 * *own >= link
                   ? std::string{}
                   : fmt::format("PCIe link of {:.1f} GB/s, rails have {:.1f} GB/s", *own, link);
    });
}

void keep_fast(const Node& node, Candidates& found) {
    const auto rate = highest(node, found.rails, &Nic::gbit_per_s);
    if (rate <= 0) {
        return keep_fast_links(node, found);
    }
    leave_out(found, [&, all = found.rails](std::size_t position) -> std::string {
        const auto& nic = node.nics[position];
        if (is_of_class(node, all, rate, nic)) {
            return {};
        }
        return nic.gbit_per_s
                   ? fmt::format("{:g} Gb/s, rails have {:g} Gb/s", *nic.gbit_per_s, rate)
                   : fmt::format("unknown rate and another device than the rails ({})", nic.kind);
    });
}

// ---- one link layer -----------------------------------------------------------------------

void keep_one_layer(const Node& node, Candidates& found) {
    const auto count = [&](LinkLayer layer) {
        return std::ranges::count(found.rails, layer,
                                  [&](std::size_t nic) { return node.nics[nic].link_layer; });
    };
    const auto infiniband = count(LinkLayer::infiniband);
    const auto ethernet = count(LinkLayer::ethernet);
    const auto chosen = ethernet > infiniband ? LinkLayer::ethernet : LinkLayer::infiniband;
    if (infiniband + ethernet == 0) {
        return;
    }
    leave_out(found, [&](std::size_t nic) {
        const auto layer = node.nics[nic].link_layer;
        return layer == chosen || layer == LinkLayer::unknown
                   ? std::string{}
                   : fmt::format("{}, rails are {}", to_string(layer), to_string(chosen));
    });
}

// ---- ports that nobody cabled -------------------------------------------------------------

/// Second ports of dual-port cards, when every card has that port down and another one up.  On one
/// card alone it may be a cable that is out, and a rail that is down is still a rail.
void keep_cabled(const Node& node, Candidates& found) {
    struct Port {
        unsigned cards = 0;
        bool idle = true;  ///< down on each of them, where another port is up
    };
    const auto has_active_sibling = [&](const Nic& nic) {
        return std::ranges::any_of(found.rails, [&](std::size_t position) {
            const auto& other = node.nics[position];
            return other.active && other.pci && other.pci->function != nic.pci->function &&
                   std::tie(other.pci->domain, other.pci->bus, other.pci->device) ==
                       std::tie(nic.pci->domain, nic.pci->bus, nic.pci->device);
        });
    };
    std::map<unsigned, Port> ports;  // by PCI function
    for (const auto position : found.rails) {
        const auto& nic = node.nics[position];
        if (nic.pci && nic.pci->function > 0) {
            auto& port = ports[nic.pci->function];
            ++port.cards;
            port.idle = port.idle && !nic.active && has_active_sibling(nic);
        }
    }
    leave_out(found, [&](std::size_t position) -> std::string {
        const auto& nic = node.nics[position];
        const auto port = nic.pci ? ports.find(nic.pci->function) : ports.end();
        return port != ports.end() && port->second.cards > 1 && port->second.idle
                   ? "a port that is down on every card, beside one that is up"
                   : "";
    });
}

}  // namespace

Candidates find_rails(const Node& node) {
    Candidates found;
    for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
        if (node.gpus.empty()) {
            found.left_out.push_back({nic, "no GPU on this node"});
        } else {
            found.rails.push_back(nic);
        }
    }
    for (const auto keep : {keep_rdma, keep_devices_of_their_own, keep_physical, keep_unbonded,
                            keep_near, keep_fast, keep_one_layer, keep_cabled}) {
        if (!found.rails.empty()) {
            keep(node, found);
        }
    }
    std::ranges::sort(found.left_out, {}, &LeftOut::nic);
    return found;
}

}  // namespace railhead::rails
