// The table of the variables that Railhead may set, and what a site and a node say of each.
//
// Inside of rails/: environment.hpp has the ladder on which these words stand.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rails/environment.hpp"

namespace railhead::rails {

/// A word without its rung: a value, or a reason to leave the variable unset.
struct Said {
    std::optional<std::string> value;
    std::string reason;
    std::string by{};  ///< empty: whoever has the rung
};
using Says = std::optional<Said> (*)(const Launch&);

/// A variable of others that speaks for one of ours where it has such a value.
struct Rival {
    std::string_view name;
    bool (*counts)(std::string_view value);
    std::string_view reason;
};

/// One variable and those who say something of it.
struct Variable {
    std::string_view name;
    bool per_task;  ///< else equal for every task of the job
    Says site, found;
    Rival rival;
};

/// All of them, NCCL_IB_HCA first.
[[nodiscard]] std::span<const Variable> variable_table();

/// The one of that name; nullptr: it is none of ours.
[[nodiscard]] const Variable* find_variable(std::string_view name);

/// Why NCCL and UCX are told no NICs at this launch: "this node has no rails"; empty: they are.
[[nodiscard]] std::string silence_of(const Launch& launch);

}  // namespace railhead::rails
