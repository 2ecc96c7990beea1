// What the text of a record says, by its kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "diagnose/nccl_book.hpp"

namespace railhead::diagnose {

/// Takes the text behind "NCCL INFO ".  False where its end is missing, so that it may go on in the
/// next line; with `is_last_try` what is there is taken as it is.
[[nodiscard]] bool take_info(NcclBook& book, std::uint32_t rank, std::string_view text,
                             bool is_last_try);

/// Takes "Channel 02/0 : 10[2] -> 2[2] [send] via NET/IB/2/GDRDMA", "Ring 00 : …" and "CollNet …".
/// False as take_info().
[[nodiscard]] bool take_connection(NcclBook& book, NcclRank& rank, std::string_view text);

/// Takes what begins with "NET": devices, plugins, providers, GPUDirect RDMA.  False as
/// take_info().
[[nodiscard]] bool take_network(NcclBook& book, std::uint32_t rank, std::string_view text,
                                bool is_last_try);

/// Takes "GPU Direct RDMA Enabled for GPU 7 / HCA 0 (distance 4 <= 4), …", from there on.
void take_gdr(NcclBook& book, std::string_view text);

/// Takes a line of the topology: "CPU/0-0 (…)" or "+ PCI[24.0] - GPU/84000 (4)".
void take_graph(NcclBook& book, std::uint32_t rank, std::string_view text);

/// Takes the text behind "NCCL WARN "; `before` is what stands before it in the line, for a time.
void take_warning(NcclBook& book, std::uint32_t rank, std::string_view text,
                  std::string_view before);

/// Takes what stands behind "NCCL version ", and gives its length.
std::size_t take_version(NcclBook& book, std::uint32_t rank, std::string_view text);

/// Takes a line of PyTorch's ProcessGroupNCCL.
void take_watchdog(NcclBook& book, std::string_view line);

/// The names in "[0]eth0:10.1.2.3<0> [1]lo:127.0.0.1<0>" or "eth0:10.1.2.3<0>", a blank between.
[[nodiscard]] std::string interface_names(std::string_view text);

}  // namespace railhead::diagnose
