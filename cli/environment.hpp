// The environment that a command was started in.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace railhead::cli {

/// The value of the variable `name`; nothing when it is not set.
[[nodiscard]] std::optional<std::string> own_variable(const std::string& name);

/// Every variable.
[[nodiscard]] std::map<std::string, std::string> whole_environment();

}  // namespace railhead::cli
