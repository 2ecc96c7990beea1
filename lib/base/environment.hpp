// The environment of this process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace railhead {

/// The value of the variable `name`; nothing when it is not set.  Only where no other thread
/// changes the environment.
[[nodiscard]] std::optional<std::string> own_variable(std::string_view name);

/// Every variable.
[[nodiscard]] std::map<std::string, std::string> whole_environment();

}  // namespace railhead
