#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "job/hostlist.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    auto names = railhead::job::expand_hostlist(text);
    if (!names || names->size() > 10'000) {
        return 0;
    }
    auto again = railhead::job::expand_hostlist(railhead::job::compress_hostlist(*names));
    std::ranges::sort(*names);
    names->erase(std::unique(names->begin(), names->end()), names->end());
    if (!again) {
        std::abort();
    }
    std::ranges::sort(*again);
    if (*again != *names) {
        std::abort();  // what is written compressed reads back as the same names
    }
    return 0;
}
