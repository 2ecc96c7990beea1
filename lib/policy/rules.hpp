// Inside of the review: what its rules share.  Not for other modules.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/request.hpp"
#include "policy/review.hpp"
#include "policy/site.hpp"

namespace railhead::policy {

/// How the job asks for GPUs, as far as can be told before it is placed.
struct GpuDemand {
    std::uint64_t total = 0;                ///< of the job; 0: none, or it depends on the node count
    std::uint64_t per_node = 0;             ///< --gres, --gpus-per-node; 0: not said
    std::uint64_t per_task = 0;             ///< --gpus-per-task; 0: not said
    std::uint64_t tasks = 0;                ///< -n, or what the GPUs imply; 0: not said
    bool by_socket = false;                 ///< --gpus-per-socket: the node count stays Slurm's
    std::string_view type;                  ///< the one type asked for; empty: any
    bool several_types = false;             ///< "h100:8,a100:8"
    bool others = false;                    ///< "gpu:8,nvme:1": not every GPU node may have them
    bool unreadable = false;
    [[nodiscard]] bool any() const { return total > 0 || per_node > 0 || by_socket; }
};

/// What narrows the nodes of a partition for a job.
struct Narrowing {
    std::vector<std::string_view> features;  ///< -C, all of them
    std::vector<std::uint32_t> excluded;     ///< -x and the lemons avoided, ascending
    std::uint64_t gpus = 1;                  ///< a node must have, of the type asked for
};

/// The work of one review: each rule reads and adds.
struct Work {
    const job::JobRequest& request;
    const Site& site;
    const PartitionSite& partition;  ///< the first one named
    Settings settings;               ///< with every matching [[rule]] applied
    GpuDemand demand;
    std::uint32_t gpus_per_node = 0;
    Review& out;

    /// The node count in force: what the gang rule wrote, or what the user said.  0: open.
    std::uint32_t nodes = 0;
    /// How far the node count goes: a count that is only planned is only placed on paper.
    Mode count_mode = Mode::enforce;

    /// Read by narrowing_of() when a rule first needs it; unset also where it cannot be told.
    std::optional<Narrowing> narrowing = std::nullopt;
    bool narrowing_read = false;

    void say(std::string_view rule, NoteKind kind, std::string text, Mode mode = Mode::enforce) {
        out.notes.push_back({rule, kind, mode, std::move(text), false});
    }
};

/// Whether a node can give `count` GPUs of the type that the job asks for.
[[nodiscard]] bool has_gpus(const fabric::NodeFacts& node, const GpuDemand& demand,
                            std::uint64_t count);

[[nodiscard]] GpuDemand gpu_demand(const job::JobRequest& request);

/// gang.cpp: whole nodes, all at once.
void apply_gang_rule(Work& work);
/// avoidance.cpp: gangs are kept off the nodes of the lemons file.
void apply_lemons_rule(Work& work);
/// placement.cpp: the least leaves, and segments for declared model-parallel groups.
void apply_placement_rule(Work& work);
/// steering.cpp: small jobs prefer the leaves that are set aside for them.
void apply_steering_rule(Work& work);
/// isolation.cpp: tells what --gpus-per-task and --gpu-bind cost.
void apply_isolation_rule(Work& work);
/// sockets.cpp: tells when the CPUs of a job can lie on one socket and its GPUs on several.
void apply_sockets_rule(Work& work);

/// checkpoint.cpp: the interval for all gangs; signal, requeue and append mode for jobs that declare.
void apply_checkpoint_rule(Work& work);

/// The segment for `nodes` nodes in groups of `group` that can never take more blocks, or a
/// higher level, than stock would, and is no larger than `most`; 0 when there is none.  Slurm places
/// segments one by one, wherever one finds room.
[[nodiscard]] std::uint32_t safe_segment(std::uint32_t nodes, std::uint32_t group,
                                         const std::vector<std::uint32_t>& block_sizes,
                                         std::uint32_t most = UINT32_MAX);

/// Whether `segments` segments of `segment` nodes find room in blocks that have `usable` nodes each.
[[nodiscard]] bool segments_fit(std::span<const std::uint32_t> usable, std::uint32_t segment,
                                std::uint32_t segments);

}  // namespace railhead::policy
