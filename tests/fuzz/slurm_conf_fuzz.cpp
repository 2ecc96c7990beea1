#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/cluster.hpp"

// The input is slurm.conf; what stands behind a first NUL byte is every other file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto nul = text.find('\0');
    const std::string main{text.substr(0, nul)};
    const std::string other{nul == std::string_view::npos ? "" : text.substr(nul + 1)};
    const auto cluster = railhead::fabric::read_cluster(
        "/slurm.conf", [&](const std::string& path) -> railhead::Result<std::string> {
            return path == "/slurm.conf" ? main : other;
        });
    std::size_t used = 0;
    if (cluster) {
        for (const auto& partition : cluster->partitions) {
            for (const auto node : partition.nodes) {
                used += cluster->nodes[node].gpu_total();
            }
        }
    }
    return used == SIZE_MAX ? 1 : 0;
}
