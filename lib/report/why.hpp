// Who sets a variable, and what each of the others would have said, as text and JSON.
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

/// The node that was asked about.
struct AskedNode {
    std::string name;  ///< empty: not known
    std::string type;  ///< in the policy; empty: none
};

/// JSON, schema railhead.why/1.
[[nodiscard]] std::string why_json(const AskedNode& node, const std::vector<WhyAnswer>& answers);

}  // namespace railhead::report
