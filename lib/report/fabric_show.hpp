// What `railhead fabric show` says of an existing topology: levels in numbers, and a tree.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fabric/fabric.hpp"
#include "fabric/outline.hpp"

namespace railhead::report {

/// A topology of a file, and what it looks like.
struct ShownFabric {
    fabric::Fabric fabric;
    fabric::Outline outline;
};

/// For people, in 80 columns.  `file` is where they are from.
[[nodiscard]] std::string fabric_show_text(std::span<const ShownFabric> fabrics,
                                           std::string_view file);

/// For programs: schema railhead.fabric-show/1.
[[nodiscard]] std::string fabric_show_json(std::span<const ShownFabric> fabrics,
                                           std::string_view file);

/// The switches, or blocks, of one topology as an SVG file for light and dark screens.
[[nodiscard]] std::string fabric_show_svg(const ShownFabric& shown, std::string_view file);

}  // namespace railhead::report
