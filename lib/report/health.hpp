// What is wrong with the rails of a node, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "node/node.hpp"
#include "rails/findings.hpp"
#include "rails/rail_plan.hpp"

namespace railhead::report {

struct HealthReport {
    const node::Node& node;
    const rails::RailPlan& plan;
    const std::vector<rails::Finding>& findings;
    bool healthy = true;
    std::string line;  ///< "mlx5_3 port 1 down", or "healthy: 8 GPUs, 8 rails"
};

/// "healthy: 8 GPUs, 8 rails"
[[nodiscard]] std::string healthy_line(const node::Node& node, const rails::RailPlan& plan);

/// Each finding and what to do about it; "" without any.
[[nodiscard]] std::string health_text(const HealthReport& report);

/// Schema railhead.health/1, with a line end.
[[nodiscard]] std::string health_json(const HealthReport& report);

}  // namespace railhead::report
