// Looks at the rails of a node now, from a process of its own and with a time limit.
//
// A driver whose firmware is stuck hangs whoever reads its port, for a minute and more, and cannot
// be killed meanwhile.  So a forked child reads, and the caller waits no longer than it wants to.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rails/health.hpp"

namespace railhead::rails {

struct HealthCheck {
    std::string root = "/";        ///< below it lies sys/class/infiniband
    bool declared = false;         ///< the plan has the site's own list
    std::optional<unsigned> gpus = std::nullopt;  ///< how many the node should have
    /// Tries the devices, as find_unusable_devices() does; unset: they are not tried.
    std::function<std::vector<node::UnusableDevice>(const std::vector<node::PortName>&)>
        try_devices = {};
    std::chrono::milliseconds limit{2000};
};

/// What is wrong with the rails; empty: nothing.
/// Fails with `unavailable` when no child can be made or the limit passes.
[[nodiscard]] Result<std::vector<Finding>> check_health(const node::Node& node,
                                                        const RailPlan& plan,
                                                        const HealthCheck& check);

}  // namespace railhead::rails
