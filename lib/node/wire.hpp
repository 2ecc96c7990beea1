// A Node as lines of text and back: how a fact finder hands it to the process that asked, and how
// `railhead node record` keeps it.  railhead-node(5) documents the lines.
//
// Fields are parted by tabs, absent values are empty.  The first line has a version, which changes
// whenever the meaning of another line does.
#pragma once

#include <string>
#include <string_view>

#include "node/node.hpp"

namespace railhead::node {

/// What the first line of every version begins with.
constexpr std::string_view wire_mark = "railhead-node\t";

[[nodiscard]] std::string to_wire(const Node& node);

/// Lines that begin with "#" are comments, and lines may end as on Windows.  Fails with `bad_input`
/// on anything else that to_wire() does not write and on more than limits.hpp allows, with line,
/// column and reason, and with `unsupported` for another version.
[[nodiscard]] Result<Node> from_wire(std::string_view text);

}  // namespace railhead::node
