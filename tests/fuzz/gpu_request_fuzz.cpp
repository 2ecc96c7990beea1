#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "job/gpu_request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto request = railhead::job::parse_gpus(text);
    const auto added = railhead::job::parse_gpus(text, railhead::job::Repeated::add);
    if (request.has_value() != added.has_value() ||
        (request && request->total() > added->total())) {
        std::abort();  // adding up never gives less than the last one
    }
    return 0;
}
