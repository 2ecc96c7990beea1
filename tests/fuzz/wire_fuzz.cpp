// A capture: what is read is whole, and is written as it was read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "node/neutral.hpp"
#include "node/wire.hpp"
#include "rails/warnings.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto node = railhead::node::from_wire(text);
    if (!node) {
        return 0;
    }
    const auto wire = railhead::node::to_wire(*node);
    const auto again = railhead::node::from_wire(wire);
    if (!again || railhead::node::to_wire(*again) != wire) {
        std::abort();
    }
    static_cast<void>(
        railhead::rails::find_warnings(*node, railhead::rails::plan_rails(*node)));
    static_cast<void>(railhead::node::capture_text(railhead::node::make_neutral(*node, {})));
    return 0;
}
