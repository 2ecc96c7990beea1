// What one network card can do, and how many a node usually has.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace railhead::training {

/// What is not published is absent, never zero.
struct Nic {
    std::string name;                            ///< as in the catalogue: ndr
    std::vector<std::string> aliases;            ///< ndr400
    double port_gbit_per_s = 0;                  ///< of one port, one direction
    unsigned per_node = 8;                       ///< ports for GPU traffic in the usual node
    std::string usual_node;                      ///< DGX H100
    std::optional<double> measured_bytes_per_s;  ///< of one port, by NCCL
    std::string source;
    std::string note;

    [[nodiscard]] double port_bytes_per_s() const { return port_gbit_per_s * 1e9 / 8; }
};

}  // namespace railhead::training
