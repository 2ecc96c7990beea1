// What a fault costs of a step, from the sizes of a run: the arithmetic behind the checklist.
#pragma once

#include <cstdint>

#include "diagnose/checklist.hpp"

namespace railhead::diagnose {

/// A run as the checklist counts with it.
struct RunSizes {
    double mfu = 0, best = 0;
    double lost = 0;         ///< of the step: 1 - mfu / best
    double compute = 0;      ///< of the step, at the best published MFU: mfu / best
    double flops_per_s = 0;  ///< of a GPU at the best published MFU
    double gpus_per_node = 0;
    double nodes = 0;
    double node_bytes_per_s = 0;  ///< of a node's NICs together, as measured; 0: one node
    double nics = 0;
    double scale_up_bytes_per_s = 0;  ///< NVLink or its like; 0: none
    double pcie_bytes_per_s = 0;      ///< 0: not published
    double hidden = 0;
    Range tokens;  ///< a step, of a replica, or of a node where replicas are smaller
    double sent = 1;               ///< of each gradient: (d - 1) / d of d copies
    double behind_backward = 2.0 / 3;  ///< of compute; 0 where gradients wait for its end
};

/// How long the gradients and weights of a step are on the wire at `node_bytes_per_s` beyond what
/// the backward pass hides, as a share of the step at hand.
///
/// Each parameter is sent as 6 bytes (gradients in fp32 reduced and weights in bf16 gathered, or
/// three times bf16 with FSDP) and costs 6 FLOPs a token, so the model's size cancels:
/// wire / compute = sent x GPUs per node x FLOP/s / (tokens x bytes/s).  Two thirds of compute is
/// the backward pass.
[[nodiscard]] double exposed_gradients(const RunSizes& run, double node_bytes_per_s, double tokens);

/// What a network of `bad` instead of the run's own costs of the step: the least of it, with most
/// tokens, to the most.
[[nodiscard]] Range slower_network(const RunSizes& run, Range bad_bytes_per_s);

/// What all-reduces of tensor parallelism over `ways` GPUs take of the step at `bytes_per_s` of
/// each: four a layer of 2 bytes an element, 2 (t - 1) / t of it on the wire, against 72 b s h^2 /
/// t FLOPs: wire / compute = 16 (t - 1) FLOP/s / (72 h bytes/s).
[[nodiscard]] double tensor_traffic(const RunSizes& run, double ways, double bytes_per_s);

/// The pipeline's idle share of the step, (p - 1) / (v m + p - 1) with v chunks of the model a
/// stage (Narayanan and others 2021, arXiv:2104.04473).
[[nodiscard]] double pipeline_bubble(double stages, double microbatches, double chunks);

/// sqrt(w / (2 M)): what checkpoints of w seconds at Young's interval take, with M the MTBF of the
/// gang at the usual failure rate (Young 1974); 0 without a node.
[[nodiscard]] double checkpoint_stall(double write_s, std::uint64_t nodes);

}  // namespace railhead::diagnose
