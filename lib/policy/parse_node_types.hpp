// [[node_type]] of railhead.toml.  Inside of the policy's parser.
#pragma once

#include "policy/policy.hpp"
#include "policy/reader.hpp"

namespace railhead::policy {

/// Reads the types of nodes into `policy`, and complains of what is wrong with them.
void read_node_types(const Reader& reader, const toml::node& value, Policy& policy);

}  // namespace railhead::policy
