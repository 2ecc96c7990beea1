// Output of nccl-tests: rows have a size, whatever stands around them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fabric/nccl_tests.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto tests = railhead::fabric::parse_nccl_tests(text, "tests");
    if (tests && std::ranges::any_of(tests->rows, [](const auto& row) { return row.bytes <= 0; })) {
        std::abort();
    }
    return 0;
}
