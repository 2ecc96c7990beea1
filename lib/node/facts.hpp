// The facts about a node for the steps on it: looked up once a boot, by whoever comes first.
//
// That is slurmd at its start, else the first step, while it is still root.  A step that is its
// user's already cannot keep anything and is to call probe().
#pragma once

#include <string>

#include "node/cache.hpp"
#include "node/node.hpp"
#include "node/probe.hpp"

namespace railhead::node {

struct Facts {
    Node node;            ///< without `allowed`
    bool cached = false;  ///< taken from the file
    std::string unkept;   ///< why the next step has to look again; empty: it has not
};

/// Looks at the node, by probe() as nobody, and keeps what it finds.
///
/// Fails as probe(), and as read_trusted_file() of a file that is to tell of the node: what others
/// can write is not kept for everybody.
[[nodiscard]] Result<Facts> gather_facts(const CacheOptions& options);

/// The facts that were kept, else as gather_facts().
[[nodiscard]] Result<Facts> find_facts(const CacheOptions& options);

}  // namespace railhead::node
