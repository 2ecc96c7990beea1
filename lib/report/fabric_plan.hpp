// What `railhead fabric plan` says: how many switches and cables, how they are reckoned, how far it
// grows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/plan.hpp"

namespace railhead::report {

/// For people, in 80 columns.
[[nodiscard]] std::string fabric_plan_text(const fabric::Plan& plan);

/// For programs: schema railhead.fabric-plan/1.
[[nodiscard]] std::string fabric_plan_json(const fabric::Plan& plan);

/// The scalable units below their spines and cores, as an SVG file for light and dark screens.
[[nodiscard]] std::string fabric_plan_svg(const fabric::Plan& plan);

/// "400 Gb/s", "3.277 Pb/s": powers of 1000.
[[nodiscard]] std::string speed_text(double gbps);

}  // namespace railhead::report
