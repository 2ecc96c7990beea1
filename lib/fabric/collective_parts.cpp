#include "fabric/collective_parts.hpp"

#include <array>

namespace railhead::fabric {

namespace {

constexpr double giga = 1e9;

/// Links of a part times what each is sold as.
constexpr GpuPart part(std::string_view name, Generation generation, double gb_per_s, bool nvls) {
    return {name, generation, gb_per_s * giga, nvls};
}

constexpr std::array gpus{
    part("v100", Generation::volta, 150, false),     part("a100", Generation::ampere, 300, false),
    part("a800", Generation::ampere, 200, false),    part("h100", Generation::hopper, 450, true),
    part("h800", Generation::hopper, 200, true),     part("h200", Generation::hopper, 450, true),
    part("gh200", Generation::hopper, 450, true),    part("b200", Generation::blackwell, 900, true),
    part("gb200", Generation::blackwell, 900, true), part("b300", Generation::blackwell, 900, true),
    part("gb300", Generation::blackwell, 900, true),
};

constexpr std::string_view infiniband = "rate of an InfiniBand port";
constexpr std::string_view efa = "AWS; latency of aws-ofi-nccl's platform table";

constexpr NetworkPart network(std::string_view name, double gigabits, std::uint64_t nics,
                              double latency_us, std::string_view source) {
    constexpr double bits = 8;
    return {name, gigabits / bits * giga, nics, latency_us, source};
}

constexpr std::array networks{
    network("edr", 100, 8, 0, infiniband),    network("hdr", 200, 8, 0, infiniband),
    network("ndr", 400, 8, 0, infiniband),    network("xdr", 800, 8, 0, infiniband),
    network("efa-p4d", 100, 4, 75, efa),      network("efa-p5", 100, 32, 75, efa),
    network("efa-p5en", 200, 16, 35, efa),    network("efa-p6-b200", 400, 8, 35, efa),
    network("efa-p6-b300", 400, 16, 35, efa),
};

}  // namespace

std::span<const GpuPart> gpu_parts() {
    return gpus;
}

std::span<const NetworkPart> network_parts() {
    return networks;
}

}  // namespace railhead::fabric
