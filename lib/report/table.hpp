// Aligned columns of text for people.
//
//   GPU  PCI           rail     path
//   0    0000:1b:00.0  mlx5_0   PIX
//   1    0000:43:00.0  mlx5_1   PIX
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace railhead::report {

/// Rows of cells; every column is as wide as its widest cell, two blanks between, no blanks at the
/// end of a line.  The last column wraps at `width`, continued under itself.
class Table {
   public:
    explicit Table(std::vector<std::string> heading = {});
    void add(std::vector<std::string> row);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// `indent` blanks before each line.
    [[nodiscard]] std::string text(std::size_t indent = 0, std::size_t width = 80) const;

   private:
    std::vector<std::string> heading_;
    std::vector<std::vector<std::string>> rows_;
};

/// `text` broken at blanks into lines of at most `width` columns; a longer word stands alone.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// `list` with blanks after some commas, where a line of `width` columns is to end, so that a table
/// breaks it there and no other blank gets into it.
[[nodiscard]] std::string breakable_list(std::string_view list, std::size_t width);

/// How many columns `text` takes: UTF-8 code points.
[[nodiscard]] std::size_t columns(std::string_view text);

}  // namespace railhead::report
