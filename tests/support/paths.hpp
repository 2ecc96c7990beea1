// Where the tests' data lies.  The paths are known to one file only, so that the objects of all
// others are the same in every checkout and come from the compiler's cache.
#pragma once

#include <string>
#include <string_view>

namespace railhead::test {

/// The path of tests/data/<name>.
[[nodiscard]] std::string data_file(std::string_view name = "");

/// The path of <name> in the checkout.
[[nodiscard]] std::string checkout(std::string_view name);

}  // namespace railhead::test
