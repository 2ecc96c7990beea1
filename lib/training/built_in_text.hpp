// The files of config/catalogue as they were when the library was built.
#pragma once

#include <string_view>

namespace railhead::training {

[[nodiscard]] std::string_view built_in_accelerators();
[[nodiscard]] std::string_view built_in_nics();
[[nodiscard]] std::string_view built_in_models();

}  // namespace railhead::training
