// How the files of a diagnosis are called in a line of text: short, and no two alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/evidence.hpp"

namespace railhead::report {

/// The end of a path, `most` columns of it; whole where it is short.
[[nodiscard]] std::string end_of_path(const std::string& path, std::size_t most);

class ShownPaths {
 public:
    static constexpr std::size_t longest = 40;

    explicit ShownPaths(const diagnose::Sources& sources);
    /// The end of its path.  Where another file's end is the same, the folder in which they part
    /// stands before it; where that does not tell them apart, the whole path.
    [[nodiscard]] const std::string& operator[](std::uint32_t file) const {
        return shown_.at(file);
    }

 private:
    std::vector<std::string> shown_;
};

}  // namespace railhead::report
