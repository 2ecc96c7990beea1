#include "report/training_text.hpp"

#include <fmt/format.h>

namespace railhead::report {

std::string formula_text(const training::Shape& shape, const training::Convention& convention) {
    const auto besides = training::counted_besides(shape, convention);
    return besides.empty() ? std::string{convention.formula}
                           : fmt::format("{}; here {}", convention.formula, besides);
}

std::string by_convention(const training::PublishedMfu& published) {
    return published.convention.empty() ? std::string{"by a convention that is not known"}
                                        : fmt::format("by \"{}\"", published.convention);
}

}  // namespace railhead::report
