// Lines of "node address": whatever they hold, the order has each node once.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "fabric/order.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    auto places = railhead::fabric::parse_addresses(text, "addresses");
    if (places) {
        const auto count = places->size();
        if (railhead::fabric::rank_order(std::move(*places)).size() != count) {
            std::abort();
        }
    }
    return 0;
}
