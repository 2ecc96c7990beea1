// The values that NCCL writes into the attributes of its XML, and where in the file they stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/cpu_set.hpp"
#include "base/error.hpp"

namespace railhead::node {

/// Offsets in a file's text as line and column.
class TextPlaces {
 public:
    /// `text` must outlive this.
    TextPlaces(std::string_view text, std::string file) : text_{text}, file_{std::move(file)} {}

    /// An offset outside the text counts as its end.
    [[nodiscard]] Position at(std::ptrdiff_t offset) const;

 private:
    std::string_view text_;
    std::string file_;
};

/// "0x15b3", or "15b3"; nothing for what is no such number of 32 bits.
[[nodiscard]] std::optional<std::uint32_t> parse_nccl_hex(std::string_view text);

/// "00000000,00ffffff": 32 CPUs a group, the highest first, zeros at a group's front may be absent.
/// Nothing for anything else, and for CPUs at or above CpuSet::limit.
[[nodiscard]] std::optional<CpuSet> parse_nccl_mask(std::string_view text);

/// GB/s of a PCIe link: "16.0 GT/s PCIe" and "16" lanes are 31.5.  What the line code takes is off:
/// 2 of 10 bits up to 5 GT/s, 2 of 130 up to 32 GT/s (PCI Express Base Specification 5.0, 4.2), 14
/// of 256 bytes above (6.0, 4.2.3).  Nothing where a virtual machine hides it: "", "Unknown", 0
/// lanes.
[[nodiscard]] std::optional<double> pcie_gbyte_per_s(std::string_view speed,
                                                     std::string_view width);

}  // namespace railhead::node
