// The figures that a plan of storage rests on, in the order in which they were used.  Inside of it.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "plan/storage.hpp"

namespace railhead::plan {

class Bases {
 public:
    void add(std::string_view what, const Figure& figure, Basis::Unit unit) {
        bases_.push_back({what, figure.value, unit, figure.source, figure.is_guess});
    }
    void guess(std::string_view what, double value, Basis::Unit unit, std::string source) {
        bases_.push_back({what, value, unit, std::move(source), true});
    }
    [[nodiscard]] std::vector<Basis> take() { return std::move(bases_); }

 private:
    std::vector<Basis> bases_;
};

}  // namespace railhead::plan
