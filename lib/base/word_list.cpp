#include "base/word_list.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace railhead {

bool has_word(std::string_view list, std::string_view word) {
    return std::ranges::any_of(split(list, ','), [&](std::string_view one) {
        return equals_ignoring_case(trim(one), word);
    });
}

}  // namespace railhead
