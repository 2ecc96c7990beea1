// A pasted matrix: whatever it holds, every GPU has a path to every NIC, and the wire takes it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "node/from_topo_m.hpp"
#include "node/wire.hpp"
#include "rails/warnings.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto node = railhead::node::parse_topo_m(text, "topo");
    if (!node) {
        return 0;
    }
    const auto again = railhead::node::from_wire(railhead::node::to_wire(*node));
    if (!again || again->paths != node->paths || again->warnings.size() != node->warnings.size()) {
        std::abort();
    }
    static_cast<void>(
        railhead::rails::find_warnings(*node, railhead::rails::plan_rails(*node)));
    return 0;
}
