// Which NICs of a node are its rails, and which of them each GPU sends through.
//
// On a rail-optimised fabric, NIC i of every node meets the others at leaf switch i.  NCCL must be
// told the same list on every rank, and a GPU that leaves through a far NIC pays a PCIe or socket
// hop on every step.  So both are worked out once a node, from hardware identity and not from
// today's link state: a rail whose cable is out is still a rail.
//
// Everything here is a pure function over plain values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "node/node.hpp"

namespace railhead::rails {

/// A NIC that is not a rail, and why: "200 Gb/s, rails have 400 Gb/s".
struct LeftOut {
    std::size_t nic = 0;  ///< position in Node::nics
    std::string reason;
};

/// The rails of one GPU, as positions in Node::nics, ascending.
struct GpuRails {
    std::vector<std::size_t> near;      ///< all at the nearest path and the highest rate there
    std::vector<std::size_t> nics;      ///< those of `near` that this GPU sends through
    node::Path path = node::Path::sys;  ///< to each of them
};

struct RailPlan {
    std::vector<std::size_t> rails;  ///< positions in Node::nics, ascending: PCI order
    std::vector<LeftOut> left_out;   ///< every other NIC, ascending
    std::vector<GpuRails> gpus;      ///< one for each of Node::gpus; without rails: empty
    /// What NCCL is told: "mlx5_0:1,mlx5_3:1".  Rails in PCI order, or the site's own list as is.
    /// Empty where there are none, or where Node::incomplete says why it cannot be made.
    std::string list;
    std::vector<std::string> missing;  ///< rails that the site's list has and this node has not
};

/// The rails: what these rules leave, one after the other.
///
///  - Left out are interfaces without RDMA, data-direct functions ("mlx5_0_dma") beside their
///    device, SR-IOV functions beside their card, and members of bonds beside others.  A virtual
///    machine's NICs are SR-IOV functions whose card it does not see: they stay.
///  - Near is PIX or PXB where any NIC is that near to a GPU, else the nearest class that occurs.
///    PHB and NODE are near too where the NICs there are of a faster class, and faster in sum.
///  - The fastest class are the NICs with the highest port rate; those of unknown rate belong to
///    it when they are the same PCI device, or none is known.  Where only PCIe links are known,
///    those that are another device than most, or with less than half of the fastest link, are
///    left out.
///  - Mixed link layers: the one that most have, InfiniBand when even.
///  - Second ports of several cards, all of them down beside one that is up, were never cabled.
///
/// `declared` is the site's own list for this type of node ("mlx5_0" or "mlx5_0:1"); it decides
/// alone when not empty, and is told to NCCL even where a NIC of it is missing: unset on one node
/// beside set on another would be a mismatch of its own.
///
/// Which rails each GPU gets: pairing.hpp.  Two looks at one type of node always agree.
[[nodiscard]] RailPlan plan_rails(const node::Node& node,
                                  const std::vector<std::string>& declared = {});

/// "mlx5_0:1": a NIC with its port, as NCCL and UCX write it.
[[nodiscard]] std::string device_port(const node::Nic& nic);

/// The NICs at these positions: "mlx5_0:1,mlx5_3:1".
[[nodiscard]] std::string device_list(const node::Node& node, const std::vector<std::size_t>& nics);

}  // namespace railhead::rails
