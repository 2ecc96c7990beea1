// topology.yaml (Slurm 25.05 on): any number of topologies, of which a partition names one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fabric/fabric.hpp"

namespace railhead::fabric {

/// Reads topology.yaml: a list of topologies, or a single one; each a tree, block, flat, ring or
/// torus3d.  `file` names it in errors and warnings.
///
/// Rings and tori are checked and named, but their nodes are not kept: no job is planned for them.
/// A file without a topology ("[]", comments only) gives none and a warning.  `warnings` (may be
/// null) collects what does not stop the reader, as parse_topology_conf() does: unknown and
/// repeated keys, two defaults, a name given twice (Slurm takes the first), a second document.
/// Fails with `bad_input` and a position on what Slurm refuses: a value of the wrong kind, a
/// topology of no kind or of two, and whatever makes no tree or blocks.
[[nodiscard]] Result<std::vector<Fabric>> parse_topology_yaml(
    std::string_view text, const std::string& file, std::vector<Error>* warnings = nullptr);

}  // namespace railhead::fabric
