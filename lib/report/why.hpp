// Who sets a variable, and what each of the others would have said, as text.
#pragma once

#include <string>
#include <vector>

#include "rails/environment.hpp"

namespace railhead::report {

/// A variable and what is to be said about it beside who wins.
struct WhyAnswer {
    rails::Verdict verdict;
    std::vector<std::string> notes;  ///< sentences without a full stop
};

/// Who wins, then one line for each who can set the variable, then the notes.  80 columns.
[[nodiscard]] std::string why_text(const WhyAnswer& answer);

/// One line for each variable: who wins, and its value; then the notes.  80 columns.
[[nodiscard]] std::string why_table(const std::vector<WhyAnswer>& all);

}  // namespace railhead::report
