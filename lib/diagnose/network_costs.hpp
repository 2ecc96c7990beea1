// What does a fault of the network cost of a step?  The checklist's arithmetic, with the figures of
// the run at hand.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "diagnose/checklist_costs.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/run_setup.hpp"

namespace railhead::diagnose {

/// The sizes of the run, with exact tokens; nothing unless its MFU, its batch, its GPUs, the NICs
/// of a node, several nodes and a published MFU are known.  `behind_backward` is 0 where the
/// settings say that gradients are not overlapped.
[[nodiscard]] std::optional<RunSizes> sizes_of_run(const Facts& facts, const RunSetup& setup);

/// "0.75 of 6 bytes a parameter on the wire, ...": what exposed_gradients() counts with.
[[nodiscard]] std::string wire_text(const RunSizes& run);

/// The network's bandwidth from what the nodes should have down to what NCCL uses: fewer NICs,
/// without GPUDirect, TCP.  Each fault that was found costs what its step of this ladder makes of
/// the gradients' exposed time, so that costs add up.  A cost goes to the finding that the others
/// follow from.
void price_network(const Facts& facts, std::span<Finding> findings);

}  // namespace railhead::diagnose
