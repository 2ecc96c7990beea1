// A Node from a file of any kind that tells about one: which kind it is shows in its content.
//
// hwloc reads its settings from the environment and is not trusted in a daemon: there call this
// through probe.hpp, which runs it in a child.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "node/node.hpp"

namespace railhead::node {

enum class SourceKind : std::uint8_t {
    unknown,
    hwloc_xml,   ///< lstopo --of xml
    nccl_xml,    ///< NCCL_TOPO_DUMP_FILE, or a file for NCCL_TOPO_FILE
    nccl_graph,  ///< NCCL_GRAPH_DUMP_FILE: rings and trees, which are no node
    topo_m,      ///< nvidia-smi topo -m
    capture,     ///< railhead node record
    foreign      ///< a table of another tool that looks like topo -m
};

/// What kind of text this is; XML by its first element, all else by its words.
[[nodiscard]] SourceKind find_source_kind(std::string_view text);

/// The Node that `text` tells of; `source` names it in the Node and in errors.  `kind` says what it
/// is meant to be; `unknown`: whatever find_source_kind() says.  UTF-8, with or without a mark.
///
/// Fails as parse_hwloc_xml(), parse_topo_m() and from_wire() do, with `unsupported` for a kind
/// that tells of no node, with `bad_input` for one that is not known; the message says which kinds
/// are.  UTF-16, and more than 4 MiB that are no XML of hwloc, are `bad_input` too.
[[nodiscard]] Result<Node> parse_node(std::string_view text, std::string source,
                                      SourceKind kind = SourceKind::unknown);

}  // namespace railhead::node
