// Do PCIe switches send peer traffic through the CPU, and is a link slower than it could be?
// lspci -vvv, or what grep left of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

/// An ACSCtl line: what a port does with traffic from peer to peer (PCI Express Base
/// Specification, Access Control Services).
struct AcsState {
    std::string host;     ///< label of the launcher; empty: none
    std::string address;  ///< "3a:00.0"; empty where grep left it out
    std::string device;   ///< "PCI bridge: Broadcom …"; likewise
    bool source_valid = false;
    bool request_redirect = false;
    bool completion_redirect = false;
    bool upstream_forward = false;
    Evidence evidence;

    /// Whether peer traffic takes the way through the root complex and its IOMMU: redirection is
    /// what does it; SrcValid alone does not.
    [[nodiscard]] bool redirects() const {
        return request_redirect || completion_redirect || upstream_forward;
    }
};

/// A LnkSta line that says "(downgraded)".
struct SlowLink {
    std::string host;
    std::string address, device;
    std::string speed, width;  ///< "8GT/s", "x8"
    bool slower = false, narrower = false;
    Evidence evidence;
};

struct PciState {
    std::vector<AcsState> acs;
    std::vector<SlowLink> slow_links;
    std::uint64_t left_out = 0;
};

class LspciReader : public LineReader {
 public:
    static constexpr std::size_t most = 65536;

    using LineReader::LineReader;
    [[nodiscard]] const PciState& state() const { return state_; }

 private:
    void read_line(std::string_view line) override;
    void read_acs(std::string_view label, std::string_view flags);
    void read_link(std::string_view label, std::string_view text);

    PciState state_;
    std::string address_, device_;
};

}  // namespace railhead::diagnose
