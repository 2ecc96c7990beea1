// Which variables a site may set for every job on a type of node, and which it may not.
#pragma once

#include <string>
#include <string_view>

namespace railhead::policy {

/// Letters, digits and "_", no digit first.
[[nodiscard]] bool is_variable_name(std::string_view name);

/// Why [[node_type]] may not set the variable `name`, and what to do instead; empty: it may.
///
/// Refused are what is no name at all, what belongs to Slurm, to the user or to Railhead, what says
/// which GPUs a task sees, and what has every program of the job load other code.
[[nodiscard]] std::string refusal_of_variable(std::string_view name);

}  // namespace railhead::policy
