// The network between nodes, as Slurm's topology files tell it.
//
// A tree of switches or a set of blocks.  A *leaf* is a switch with nodes; a block plays the
// same part on a block fabric.  How many leaves a job touches is its *span*.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::fabric {

enum class Kind : std::uint8_t {
    none,
    tree,
    block,
    flat,  ///< this one and those below are known and not planned for
    ring,
    torus3d
};
/// "tree", "block", "flat": as topology.yaml has it.
[[nodiscard]] std::string_view to_string(Kind kind);

/// A switch of a tree.  Level 0 is a leaf; any other is one above the highest of its children.
struct Switch {
    std::string name;
    unsigned level = 0;
    std::vector<std::uint32_t> children;  ///< indices into Fabric::switches
    std::vector<std::uint32_t> nodes;     ///< indices into Fabric::nodes: all below it, ascending
};

struct Block {
    std::string name;
    std::vector<std::uint32_t> nodes;  ///< indices into Fabric::nodes, ascending
};

struct Fabric {
    std::string name;         ///< that a partition's Topology= says; "" for topology.conf's
    bool is_default = false;  ///< of the partitions that name none: cluster_default
    Kind kind = Kind::none;
    std::vector<std::string> nodes;  ///< every node named, in the order of the file
    std::vector<Switch> switches;    ///< tree
    std::vector<Block> blocks;       ///< block
    /// BlockSizes, ascending; the first is the base block.  Where the file has none: what Slurm
    /// takes instead, the size of the first block with nodes and 2, 4, 8 and 16 times that.
    std::vector<std::uint32_t> block_sizes;

    /// Whether it is a kind that jobs are planned for.
    [[nodiscard]] bool is_planned() const { return kind == Kind::tree || kind == Kind::block; }

    /// The node sets of the leaves (tree) or blocks, in the order of the file; those without
    /// nodes left out.
    [[nodiscard]] std::vector<std::span<const std::uint32_t>> leaves() const;
    /// Name of leaf `i` of leaves().
    [[nodiscard]] std::string_view leaf_name(std::size_t i) const;
    /// The switches that no other names as its child (indices into `switches`).  Two roots mean
    /// two networks: there is no path, and Slurm never lets a job span them.
    [[nodiscard]] std::vector<std::uint32_t> roots() const;
};

/// Takes the kind that TopologyPlugin (`plugin`) says, of a fabric that has switches and blocks.
void choose_kind(Fabric& fabric, std::string_view plugin);

/// Reads topology.conf: a tree (SwitchName=…) or blocks (BlockName=…, BlockSizes=…), with comments,
/// continued lines and keys in any case.  `file` names it in errors and warnings.
///
/// A file without nodes (empty, comments only, bare switches) is a Fabric of kind `none` and a
/// warning: Slurm has no topology then, if it starts at all.  A file with both kinds is of the
/// kind that comes first, and keeps both: choose_kind().  `warnings` (may be null) collects what does not stop
/// the reader: unknown keys, a node under two leaves, a bare switch, several roots.
/// Fails with `bad_input` and a position on what every Slurm refuses: a switch defined twice or
/// with an unknown child, a circle, nodes and switches in one line, a bad host list, BlockSizes
/// that are no doublings of the first.
[[nodiscard]] Result<Fabric> parse_topology_conf(std::string_view text, const std::string& file,
                                                 std::vector<Error>* warnings = nullptr);

/// "leaf switches", "block", "level-1 switch", "level-1 blocks": what `count` switches of a level are to people.
[[nodiscard]] std::string level_word(Kind kind, unsigned level, std::uint64_t count);

/// The least number of leaves that can hold `nodes` nodes, given how many usable nodes each leaf
/// has (`sizes`, any order); 0 when all of them together cannot.  For many questions about the
/// same leaves: SpanTable.
[[nodiscard]] std::uint32_t minimal_span(std::span<const std::uint32_t> sizes, std::uint32_t nodes);

}  // namespace railhead::fabric
