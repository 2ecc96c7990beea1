// How are the RDMA ports of a node?  ibstat and ibv_devinfo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

/// What is not printed is empty or absent.
struct PortState {
    std::string host;    ///< label of the launcher; empty: none
    std::string device;  ///< "mlx5_0"
    unsigned port = 0;
    std::string state;       ///< "Active", "Down", "Initializing", "PORT_ACTIVE (4)"
    std::string physical;    ///< "LinkUp", "Polling", "Disabled"
    std::string link_layer;  ///< "InfiniBand", "Ethernet"
    std::string firmware;
    std::optional<double> rate_gb_per_s;        ///< Gb/s, of ibstat
    std::optional<double> active_mtu, max_mtu;  ///< bytes, of ibv_devinfo
    Evidence evidence;                          ///< the line of its state

    [[nodiscard]] bool is_active() const {
        return state == "Active" || state.starts_with("PORT_ACTIVE");
    }
};

class PortStateReader : public LineReader {
 public:
    static constexpr std::size_t most_ports = 65536;

    using LineReader::LineReader;
    /// In the order of the file.
    [[nodiscard]] const std::vector<PortState>& ports() const { return ports_; }

 private:
    /// Where in the text of one label we are.
    struct Place {
        std::string device, firmware;
        std::optional<std::size_t> port;
    };

    void read_line(std::string_view line) override;
    void open_port(Place& place, std::string_view label, std::string_view number);
    void set(PortState& port, std::string_view key, std::string_view value);

    std::vector<PortState> ports_;
    std::map<std::string, Place, std::less<>> places_;
};

}  // namespace railhead::diagnose
