// A tree of switches as a picture: a box over the boxes of what hangs below it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace railhead::report {

struct PictureUnit {
    std::string name;
    std::string detail;                ///< a second line, and what the pointer shows
    std::vector<std::size_t> parents;  ///< indices into the row above
};

struct PictureRow {
    std::string label;  ///< what is in it, as a line above it
    std::vector<PictureUnit> units;
};

/// The file, for light and dark screens.  `rows` go from the top down; lower ones that are too full
/// to be read are left out, and said to be.
[[nodiscard]] std::string fabric_picture(std::string_view title, std::string_view facts,
                                         std::vector<PictureRow> rows);

}  // namespace railhead::report
