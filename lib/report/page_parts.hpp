// The files of page/ and the chart library as they were when the library was built; all empty
// where it was built without pages.
#pragma once

#include <string_view>

namespace railhead::report {

[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_body();
[[nodiscard]] std::string_view page_script();
[[nodiscard]] std::string_view chart_library();

/// Content-Security-Policy of a page with these parts: nothing else runs, and nothing is fetched.
[[nodiscard]] std::string_view page_security();

}  // namespace railhead::report
