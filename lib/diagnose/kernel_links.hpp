// Whose network link went down or came up?  The words of many drivers: mlx5, ice, bnxt, bonding.
#pragma once

#include <optional>
#include <string_view>

#include "diagnose/kernel_log.hpp"

namespace railhead::diagnose {

struct LinkEvent {
    KernelEventKind kind = KernelEventKind::link_down;  ///< or link_up
    std::string_view device;                            ///< "ens3f0np0", "mlx5_4"
};

/// What a message of the kernel says of a network link; nothing where it says nothing, or does not
/// say whose.
[[nodiscard]] std::optional<LinkEvent> find_link_event(std::string_view message);

}  // namespace railhead::diagnose
