// The lines of a pasted terminal, without what a terminal and a web page add.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace railhead::node {

/// `text` without colours (also those that lost their escape character: "[4m"), without carriage
/// returns, and with blanks for hard ones.  Line ends stay where they are.
[[nodiscard]] std::string without_terminal(std::string_view text);

/// A word and where it begins.
struct TopoWord {
    std::string_view text;
    std::size_t offset = 0;  ///< in its line, from 0
};

/// The words between blanks and tabs, as views into `text`.
[[nodiscard]] std::vector<TopoWord> words_of(std::string_view text);

}  // namespace railhead::node
