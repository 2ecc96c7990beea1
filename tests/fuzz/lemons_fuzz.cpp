#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/lemons.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace railhead::policy;
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto lemons = parse_lemons(text, "railhead.lemons");
    const auto written = format_lemons(lemons.entries);
    const auto again = parse_lemons(written, "railhead.lemons");
    // What is written is read again as it was.
    if (!again.errors.empty() || format_lemons(again.entries) != written) {
        std::abort();
    }
    return 0;
}
