// NCCL's topology XML: whatever it holds, a Node is whole, and its rails can be told.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "node/from_nccl_xml.hpp"
#include "node/wire.hpp"
#include "rails/fingerprint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace railhead;
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto node = node::parse_nccl_xml(text, "topo.xml");
    if (!node) {
        return 0;
    }
    if (node->paths.size() != node->gpus.size() || node->links.size() != node->gpus.size()) {
        std::abort();
    }
    const auto plan = rails::plan_rails(*node);
    if (plan.rails.size() + plan.left_out.size() != node->nics.size()) {
        std::abort();  // each NIC is a rail, or has a reason
    }
    for (const auto& gpu : plan.gpus) {
        if (gpu.nics.empty() != plan.rails.empty()) {
            std::abort();  // where there are rails, each GPU has one
        }
    }
    const auto wire = node::to_wire(*node);
    const auto again = node::from_wire(wire);
    if (!again || node::to_wire(*again) != wire) {
        std::abort();
    }
    const auto identity = rails::identify_rails(*node, plan, "n1");
    const auto line = rails::parse_identity(rails::to_line(identity));
    if (!line || line->fingerprint != identity.fingerprint) {
        std::abort();
    }
    return 0;
}
