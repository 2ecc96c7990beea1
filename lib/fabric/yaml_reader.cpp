#include "fabric/yaml_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::fabric {

using Shape = Yaml::Shape;

tl::unexpected<Error> YamlReader::wrong_shape(const Yaml& value, std::string_view wanted) const {
    return fail_at(
        value,
        fmt::format("{} is to be {}, not {}", value.key.empty() ? "this" : shown(value.key), wanted,
                    value.shape == Shape::word ? fmt::format("the word {}", shown(value.word))
                                               : std::string{value.shape_word()}));
}

/// Slurm leaves out keys that it does not know, and takes the last where one is there twice.
void YamlReader::warn_about_keys(const Yaml& map, std::span<const std::string_view> known) {
    std::vector<std::string_view> seen;
    for (const auto& item : map.items) {
        if (std::ranges::find(known, item.key) == known.end()) {
            const auto nearest = nearest_name(item.key, known);
            warn(item, fmt::format("unknown key {}{}", shown(item.key),
                                   nearest ? fmt::format(": did you mean \"{}\"?", *nearest) : ""));
        } else if (std::ranges::find(seen, item.key) != seen.end()) {
            warn(item, fmt::format("{} is given twice: Slurm takes the last", shown(item.key)));
        } else {
            seen.push_back(item.key);
        }
    }
}

Result<std::optional<Field>> YamlReader::field_of(const Yaml& map, std::string_view key) {
    const auto* value = map.find(key);
    if (value == nullptr || value->shape == Shape::empty) {
        return std::nullopt;
    }
    if (value->shape != Shape::word) {
        return wrong_shape(*value, "a word");
    }
    return value->word.empty() ? std::nullopt
                               : std::optional{Field{value->key, value->word, where(*value)}};
}

Result<std::span<const Yaml>> YamlReader::maps_of(const Yaml& map, std::string_view key) {
    const auto* list = map.find(key);
    if (list == nullptr) {
        return fail_at(map, fmt::format("{} has no \"{}\"", shown(map.key), key));
    }
    if (list->shape == Shape::map) {
        return std::span{list, 1};
    }
    if (list->shape != Shape::list) {
        return wrong_shape(*list, "a list");
    }
    for (const auto& item : list->items) {
        if (item.shape != Shape::map) {
            return wrong_shape(item, fmt::format("a map, as every item of \"{}\"", key));
        }
    }
    return std::span{list->items};
}

Result<std::vector<Field>> YamlReader::words_of(const Yaml& map, std::string_view key) {
    std::vector<Field> words;
    const auto* list = map.find(key);
    if (list == nullptr || list->shape == Shape::empty) {
        return words;
    }
    if (list->shape == Shape::map) {
        return wrong_shape(*list, "a list of numbers");
    }
    const auto items = list->shape == Shape::word ? std::span{list, 1} : std::span{list->items};
    for (const auto& item : items) {
        if (item.shape != Shape::word) {
            return wrong_shape(item, "a number");
        }
        words.push_back({list->key, item.word, where(item)});
    }
    return words;
}

Result<Entry> YamlReader::entry_of(const Yaml& map, std::string_view name_key) {
    auto name = field_of(map, name_key);
    auto nodes = field_of(map, "nodes");
    auto children = field_of(map, "children");
    for (auto* field : {&name, &nodes, &children}) {
        if (!*field) {
            return propagate(*field);
        }
    }
    return Entry{*name ? std::move(**name) : Field{name_key, {}, where(map)}, std::move(*nodes),
                 std::move(*children)};
}

Result<bool> YamlReader::flag_of(const Yaml& value) {
    if (value.shape != Shape::word) {
        return wrong_shape(value, "true or false");
    }
    const auto is_one_of = [&value](const auto& words) {
        return std::ranges::any_of(
            words, [&](std::string_view word) { return equals_ignoring_case(value.word, word); });
    };
    if (is_one_of(std::array{"false", "no", "off", "n", "f", "0"})) {
        return false;
    }
    if (!is_one_of(std::array{"true", "yes", "on", "y", "t", "1"})) {
        warn(value, fmt::format("{} is neither true nor false: taken as true", shown(value.word)));
    }
    return true;
}

}  // namespace railhead::fabric
