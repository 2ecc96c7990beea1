// Which NICs of a node are its rails, when the site does not say: one rule after the other leaves
// NICs out, each with a reason.
#pragma once

#include <cstddef>
#include <vector>

#include "rails/rail_plan.hpp"

namespace railhead::rails {

struct Candidates {
    std::vector<std::size_t> rails;  ///< positions in Node::nics, ascending
    std::vector<LeftOut> left_out;   ///< all others, ascending
};

/// By the rules that plan_rails() names.
[[nodiscard]] Candidates find_rails(const node::Node& node);

}  // namespace railhead::rails
