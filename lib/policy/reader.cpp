#include "policy/reader.hpp"

namespace railhead::policy {

std::optional<Price> Reader::levels(const toml::node& value, double least, double most) const {
    Price price;
    const auto add = [&](const toml::node& element) {
        const auto number = read_fraction(element, least, most);
        price.by_level[price.levels++] = number.value_or(0);
        return number.has_value();
    };
    const auto list = value.as_array();
    if (list == nullptr) {
        return add(value) ? std::optional{price} : std::nullopt;
    }
    if (list->empty() || list->size() > most_levels) {
        complain(value, fmt::format("expected 1 to {} numbers, one a level, not {}",
                                    most_levels, list->size()));
        return std::nullopt;
    }
    bool right = true;
    for (const auto& element : *list) {
        right = add(element) && right;
    }
    return right ? std::optional{price} : std::nullopt;
}

}  // namespace railhead::policy
