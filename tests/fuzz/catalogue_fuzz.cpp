// The catalogue's TOML and config.json: what is read of either can be counted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "training/catalogue.hpp"
#include "training/flops.hpp"
#include "training/hf_config.hpp"
#include "training/parameters.hpp"

namespace training = railhead::training;

namespace {

void count(const training::Shape& shape) {
    if (!(training::count_parameters(shape).total() > 0)) {
        std::abort();
    }
    for (const auto& convention : training::conventions()) {
        const auto flops = training::flops_per_token(shape, convention);
        if (flops && !(flops->total() > 0)) {
            std::abort();
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    training::Catalogue catalogue;
    static_cast<void>(training::add_to_catalogue(catalogue, text, "c.toml"));
    for (const auto& shape : catalogue.models) {
        count(shape);
    }
    if (const auto shape = training::parse_hf_config(text, "config.json")) {
        count(*shape);
    }
    return 0;
}
