// config/catalogue/storage.toml as it was when the library was built.
#pragma once

#include <string_view>

namespace railhead::plan {

[[nodiscard]] std::string_view built_in_storage();

}  // namespace railhead::plan
