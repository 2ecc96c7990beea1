// The configuration of a planned fabric, for Slurm and for Railhead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "fabric/fabric.hpp"
#include "fabric/plan.hpp"

namespace railhead::fabric {

/// What a plan does not tell.
struct PlanSite {
    std::optional<Kind> kind;  ///< tree or block; default: block of nvl72, else tree
    bool yaml = false;         ///< topology.yaml, not topology.conf
    std::optional<std::uint32_t>
        slurm;  ///< release as Slurm numbers it, 0x160508 is 22.05.8; unset: any
    std::string node_prefix = "gpu";  ///< gpu001, gpu002, ...
    std::string gpu_type;             ///< "": GPUs of no type
    std::string partition = "main";
    std::optional<std::uint32_t> sockets, cores_per_socket, threads_per_core;
    std::optional<std::uint64_t> memory_mb;
};

struct PlannedFile {
    std::string name;
    std::string text;
};

/// topology.conf or topology.yaml, nodes.conf for slurm.conf to include, gres.conf, railhead.toml.
///
/// In a tree a scalable unit is one switch, since the leaves of its rails reach the same nodes; an
/// NVLink domain is one below it.  Of blocks, each is a unit, or an NVLink domain.
///
/// Fails with `unsupported` where the Slurm told does not read such a topology, `bad_input` on a
/// name that Slurm or a file would take for something else.
[[nodiscard]] Result<std::vector<PlannedFile>> plan_files(const Plan& plan, const PlanSite& site);

/// "gpu[001-127]": the nodes of a plan.
[[nodiscard]] std::string planned_nodes(const Plan& plan, const PlanSite& site);

/// A level of a planned tree, or the blocks: the same number of nodes to each, but for the last.
struct PlannedLevel {
    std::string word;         ///< "su", "pod", "spine"
    std::uint64_t nodes = 0;  ///< of a full one
    std::uint32_t count = 0;
    /// Name of number `i`, from 0: "su07"; the word alone where there is one of them at the top.
    [[nodiscard]] std::string name(std::uint32_t i) const;
};

/// The levels of the tree, leaves first; the last one has one switch.
[[nodiscard]] std::vector<PlannedLevel> planned_levels(const Plan& plan);

}  // namespace railhead::fabric
