// What a collective takes on a described system, and which algorithm and protocol NCCL would take.
//
// Two things are kept apart.  NCCL chooses by a guess of its own, latency + size / bandwidth with
// constants in its source (nccl_tuning.hpp): that guess is followed to the letter, for it decides
// what runs.  What the chosen algorithm then takes is another matter.  A pipeline of chunks, cut as
// well as can be, takes (sqrt(L) + sqrt(S / B))^2: L the latency of its steps, S the size, B the
// bandwidth of the wire (the optimum over the chunk of (L / c + 1 / B) (S + c B), as for pipelined
// broadcasts in any textbook).  That has no constant to fit, and is nearer to what is measured
// than L + S / B: docs/allreduce.md has the errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "fabric/collective.hpp"
#include "fabric/nccl_tuning.hpp"

namespace railhead::fabric {

struct System {
    std::uint64_t nodes = 1;
    std::uint64_t gpus_per_node = 8;
    Generation generation = Generation::hopper;
    double nvlink_bytes_per_s = 0;  ///< of a GPU, one direction, as it is sold; 0: PCIe alone
    double pcie_bytes_per_s = 0;    ///< of a GPU, one direction; counts where there is no NVLink
    std::uint64_t nics_per_node = 8;
    double nic_bytes_per_s = 0;  ///< of a NIC, one direction
    /// What the network plugin tells NCCL beside its own latencies: 0 for InfiniBand and RoCE.
    double network_latency_us = 0;
    /// What a step between nodes takes in all, and Simple's completion on top of it, where that is
    /// known apart from what NCCL is told; 0: it takes what NCCL reckons with.
    double network_step_us = 0;
    double network_completion_us = 0;
    Cpu cpu = Cpu::intel;
    bool nvls = false;           ///< the NVSwitches can add (NVLink SHARP)
    bool sharp = false;          ///< the network switches can too, and the plugin for it is there
    std::uint64_t channels = 0;  ///< 0: as many as NCCL usually finds

    [[nodiscard]] std::uint64_t ranks() const { return nodes * gpus_per_node; }
    /// Within a node: what of NVLink NCCL reckons with, or of PCIe NVIDIA's slides show.
    [[nodiscard]] double scale_up_bytes_per_s() const;
    /// All NICs of a node: 96 % of their rate, as the same slides show (24 of 25, 48 of 50 GB/s).
    [[nodiscard]] double network_bytes_per_s() const;
    [[nodiscard]] std::uint64_t channel_count() const;
};

/// NCCL's latency: base + steps within the node + steps between nodes (microseconds).
[[nodiscard]] double latency_us(const System& system, Collective collective, Algorithm algorithm,
                                Protocol protocol);
/// The same, with the step between nodes that System::network_step_us knows.
[[nodiscard]] double taken_latency_us(const System& system, Collective collective,
                                      Algorithm algorithm, Protocol protocol);

/// One way to run it.  Bandwidths are sizes over time (algorithm bandwidth).
struct Candidate {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    double latency_us = 0;         ///< what NCCL reckons with
    double taken_us = 0;           ///< what its steps take: taken_latency_us()
    double tuner_bytes_per_s = 0;  ///< what NCCL reckons with, without the correction of trees
    double wire_bytes_per_s = 0;   ///< what the links allow
};

/// NCCL_ALGO and NCCL_PROTO: only these; absent: any.
struct Allowed {
    std::optional<Algorithm> algorithm;
    std::optional<Protocol> protocol;
};

struct Prediction {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    double bytes = 0;
    double time_us = 0;
    double tuner_us = 0;          ///< NCCL's own guess
    double latency_us = 0;        ///< L of the formula above
    double wire_bytes_per_s = 0;  ///< B of it, as size over time
    double algbw_bytes_per_s = 0;
    double busbw_bytes_per_s = 0;
};

/// All ways to run a collective on a system; at least one.
class CollectiveModel {
 public:
    /// Fails with `bad_input` where a rate is missing, there are fewer than two GPUs, or what is
    /// allowed is not there (NVLS without NVSwitches that add); `unsupported` for collectives
    /// that are not modelled: gather, scatter, send_receive.
    [[nodiscard]] static Result<CollectiveModel> make(const System& system, Collective collective,
                                                      const Allowed& allowed = {});

    [[nodiscard]] const System& system() const { return system_; }
    [[nodiscard]] Collective collective() const { return collective_; }
    [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }

    /// `bytes` > 0.
    [[nodiscard]] Prediction predict(double bytes) const;
    /// NCCL's own guess of a candidate: what it compares (microseconds).
    [[nodiscard]] double tuner_us(const Candidate& candidate, double bytes) const;

 private:
    CollectiveModel(const System& system, Collective collective)
        : system_{system}, collective_{collective} {}
    [[nodiscard]] const Candidate& choose(double bytes) const;
    [[nodiscard]] Prediction terms_of(const Candidate& chosen) const;

    System system_;
    Collective collective_;
    std::vector<Candidate> candidates_;
};

/// From this size on the ring is taken before the tree, in NCCL's guess; nothing where the tree
/// always or never is the better one, between 1 kB and 64 GB, or one of them is not there.
[[nodiscard]] std::optional<double> ring_tree_crossover(const CollectiveModel& model);

}  // namespace railhead::fabric
