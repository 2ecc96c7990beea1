#include "rails/health.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace railhead::rails {

namespace {

using node::LinkLayer;
using node::Nic;
using node::Node;
using node::Path;
using node::Port;
using node::PortState;

// ---- whom to look at ----------------------------------------------------------------------

/// Slingshot's NICs are no RDMA devices to the kernel: no port says how they are.
bool is_told_by_sysfs(const Nic& nic) {
    return nic.rdma && !nic.kind.starts_with("17db:");
}

bool is_nearer_than_rails(const Node& node, const RailPlan& plan, std::size_t nic) {
    return std::ranges::any_of(node.paths, [&](const std::vector<Path>& row) {
        return std::ranges::all_of(plan.rails,
                                   [&](std::size_t rail) { return row[nic] < row[rail]; });
    });
}

bool must_be_a_rail(const Node& node, const RailPlan& plan, std::size_t position) {
    const auto& nic = node.nics[position];
    const bool is_kin = std::ranges::any_of(plan.rails, [&](std::size_t rail) {
        return !nic.kind.empty() && node.nics[rail].kind == nic.kind;
    });
    return is_kin && !nic.virtual_function && nic.bond.empty() &&
           is_nearer_than_rails(node, plan, position);
}

// ---- what its equals do -------------------------------------------------------------------

/// What most rails have, or the best of them.
struct Yardstick {
    double gbit_per_s = 0;
    LinkLayer layer = LinkLayer::unknown;
    std::map<std::string, node::PcieLink> pcie;  ///< by kind of device: the most of each figure
};

bool is_rail(const HealthFacts& facts, std::size_t position) {
    return std::ranges::find(facts.plan.rails, position) != facts.plan.rails.end();
}

LinkLayer layer_of(const Nic& nic, const Port& port) {
    return port.link_layer == LinkLayer::unknown ? nic.link_layer : port.link_layer;
}

Yardstick measure(const HealthFacts& facts) {
    Yardstick best;
    std::map<LinkLayer, unsigned> layers;
    for (std::size_t i = 0; i < facts.watched.size(); ++i) {
        const auto& nic = facts.node.nics[facts.watched[i]];
        const auto& port = facts.ports[i];
        auto& link = best.pcie[nic.kind];
        if (port.pcie) {
            link.gt_per_s = std::max(link.gt_per_s, port.pcie->gt_per_s);
            link.lanes = std::max(link.lanes, port.pcie->lanes);
        }
        if (is_rail(facts, facts.watched[i])) {
            best.gbit_per_s = std::max(
                {best.gbit_per_s, port.gbit_per_s.value_or(0), nic.gbit_per_s.value_or(0)});
            ++layers[layer_of(nic, port)];
        }
    }
    layers.erase(LinkLayer::unknown);
    if (!layers.empty()) {
        best.layer = std::ranges::max_element(layers, {}, [](const auto& layer) {
                         return layer.second;
                     })->first;
    }
    return best;
}

// ---- one NIC ------------------------------------------------------------------------------

/// Adds findings about one NIC.
class Notes {
 public:
    Notes(std::vector<Finding>& out, std::string nic) : out_{out}, nic_{std::move(nic)} {}
    void fault(std::string what, std::string remedy) {
        out_.push_back({Severity::fault, nic_, std::move(what), std::move(remedy)});
    }
    void advice(std::string what, std::string remedy) {
        out_.push_back({Severity::advice, nic_, std::move(what), std::move(remedy)});
    }

 private:
    std::vector<Finding>& out_;
    std::string nic_;
};

std::string interface_of(const Nic& nic) {
    return nic.netdevs.empty() ? "its network interface" : nic.netdevs.front();
}

/// What a port that has no link waits for.
std::string remedy_of_down(const Nic& nic, const Port& port) {
    if (port.link == "Disabled" || port.link == "Sleep") {
        return port.link_layer == LinkLayer::ethernet
                   ? fmt::format("it is off on this side: ip link set {} up", interface_of(nic))
                   : fmt::format("it is off on this side ({}): ibportstate, or the driver",
                                 port.link);
    }
    if (port.link == "Polling") {
        return "no light from the other side: cable, transceiver, or the switch's port is off";
    }
    return fmt::format("the link does not come up{}: cable, transceiver, or the switch's port",
                       port.link.empty() ? "" : fmt::format(" ({})", port.link));
}

/// What a port that has a link waits for.
std::string remedy_of_initializing(const Nic& nic, const Port& port) {
    if (port.link_layer == LinkLayer::ethernet) {
        return fmt::format("it has a link: ip link set {} up", interface_of(nic));
    }
    return port.lid.value_or(0) == 0
               ? "it has no LID: does a subnet manager run, and see this node?"
               : "the subnet manager has begun and not ended: see its log";
}

/// Whether the port carries data.
bool judge_state(Notes& notes, const Nic& nic, const Port& port) {
    switch (port.state) {
        case PortState::down:
            notes.fault(fmt::format("port {} down", nic.port), remedy_of_down(nic, port));
            return false;
        case PortState::initializing:
        case PortState::armed:
            notes.fault(fmt::format("port {} initializing", nic.port),
                        remedy_of_initializing(nic, port));
            return false;
        default:
            return true;
    }
}

void judge_rate(Notes& notes, const Nic& nic, const Port& port, double rate) {
    const auto own = port.gbit_per_s ? port.gbit_per_s : nic.gbit_per_s;
    if (own && *own < rate) {
        notes.fault(fmt::format("{:g} of {:g} Gb/s", *own, rate),
                    "the other rails do more: cable, forward error correction, or a rate that was "
                    "set by hand on either side");
    }
}

void judge_layer(Notes& notes, LinkLayer own, LinkLayer layer) {
    if (own != LinkLayer::unknown && layer != LinkLayer::unknown && own != layer) {
        notes.fault(fmt::format("{} where rails are {}", to_string(own), to_string(layer)),
                    "set the port's type as that of the other rails: mlxconfig, LINK_TYPE_P1");
    }
}

void judge_address(Notes& notes, const Nic& nic, const Port& port) {
    if (port.has_address == false) {
        notes.fault(
            "has no RoCE v2 address",
            fmt::format("give {} an IP address: NCCL takes no link-local one", interface_of(nic)));
    }
}

/// Gb/s of payload that a PCIe link can carry: 8b/10b coding up to 5 GT/s, 128b/130b to 32 GT/s,
/// and none to speak of after that (PCI Express Base Specification 6.0).
double gbit_per_s(const node::PcieLink& link) {
    const auto coding = link.gt_per_s < 8 ? 0.8 : link.gt_per_s < 64 ? 128.0 / 130 : 1.0;
    return link.gt_per_s * link.lanes * coding;
}

void judge_pcie(Notes& notes, const Nic& nic, const Port& port, const Yardstick& best) {
    if (!port.pcie || nic.kind.empty()) {
        return;  // devices of unknown kinds are no measure for each other
    }
    const auto& other = best.pcie.at(nic.kind);
    if (port.pcie->lanes < other.lanes) {
        notes.fault(fmt::format("PCIe x{} of x{}", port.pcie->lanes, other.lanes),
                    "the other rails have more lanes: reseat the card or its riser");
    } else if (port.pcie->gt_per_s < other.gt_per_s) {
        notes.fault(fmt::format("PCIe {:g} of {:g} GT/s", port.pcie->gt_per_s, other.gt_per_s),
                    "the other rails are faster: reseat the card, and see the kernel's log for "
                    "PCIe errors");
    } else if (port.gbit_per_s && gbit_per_s(*port.pcie) < *port.gbit_per_s) {
        notes.advice(fmt::format("{:g} Gb/s behind a PCIe link of {:.0f} Gb/s", *port.gbit_per_s,
                                 gbit_per_s(*port.pcie)),
                     "a slot with more lanes, if the machine has one");
    }
}

void judge_nic(std::vector<Finding>& out, const HealthFacts& facts, std::size_t i,
               const Yardstick& best) {
    const auto& nic = facts.node.nics[facts.watched[i]];
    const auto& port = facts.ports[i];
    Notes notes{out, nic.name};
    if (!port.present) {
        return notes.fault(
            "missing", "the kernel does not have it: does lspci show it, is its driver loaded?");
    }
    const auto unusable = std::ranges::find(facts.unusable, nic.name, &node::UnusableDevice::nic);
    if (unusable != facts.unusable.end()) {
        return notes.fault(unusable->why, "see /dev/infiniband, ibv_devinfo and the kernel's log");
    }
    if (!judge_state(notes, nic, port)) {
        return;
    }
    judge_layer(notes, layer_of(nic, port), best.layer);
    judge_rate(notes, nic, port, best.gbit_per_s);
    judge_address(notes, nic, port);
    judge_pcie(notes, nic, port, best);
}

// ---- the node -----------------------------------------------------------------------------

void judge_node(std::vector<Finding>& out, const HealthFacts& facts) {
    const auto found = facts.node.gpus.size();
    if (facts.gpus && found < *facts.gpus) {
        out.push_back({Severity::fault, "", fmt::format("{} of {} GPUs", found, *facts.gpus),
                       "does lspci show the others?  The kernel's log tells of GPUs that fell off "
                       "the bus"});
    }
    if (facts.plan.rails.empty() && facts.plan.missing.empty() && found > 0) {
        out.push_back({Severity::advice, "", "no rails",
                       "no RDMA device is near a GPU: is the driver of the NICs loaded?"});
    }
    for (const auto& [nic, why] : facts.unusable) {
        if (nic.empty()) {
            out.push_back({Severity::advice, "", why,
                           "install those of the NICs' maker, or ibverbs-providers: no device was "
                           "opened"});
        }
    }
    for (const auto& name : facts.plan.missing) {
        out.push_back({Severity::fault, name.substr(0, name.find(':')), "missing",
                       "the site's list has it: does lspci show it, is its driver loaded?"});
    }
}

}  // namespace

std::vector<std::size_t> watched_nics(const Node& node, const RailPlan& plan, bool declared) {
    std::vector<std::size_t> watched;
    for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
        const bool rail = std::ranges::find(plan.rails, nic) != plan.rails.end();
        if (is_told_by_sysfs(node.nics[nic]) &&
            (rail || (!declared && must_be_a_rail(node, plan, nic)))) {
            watched.push_back(nic);
        }
    }
    return watched;
}

std::vector<Finding> judge_health(const HealthFacts& facts) {
    std::vector<Finding> out;
    judge_node(out, facts);
    const auto best = measure(facts);
    for (std::size_t i = 0; i < facts.watched.size(); ++i) {
        judge_nic(out, facts, i, best);
    }
    return out;
}

}  // namespace railhead::rails
