#include "policy/toml_reader.hpp"

namespace railhead::policy {

void Reader::each(const toml::table& table, const Keys& keys) const {
    for (const auto& [key, value] : table) {
        const auto found = std::ranges::find(keys, key.str(), &Keys::value_type::first);
        if (found != keys.end()) {
            found->second(value);
        } else {
            complain_unknown(key, keys);
        }
    }
}

Reader::Handler Reader::flag(std::optional<bool>& to) const {
    return [this, &to](const toml::node& value) {
        if (const auto v = value.as_boolean()) {
            to = v->get();
        } else {
            complain(value, fmt::format("expected true or false, not {}", kind(value)));
        }
    };
}

Reader::Handler Reader::flag(bool& to) const {
    return [this, &to](const toml::node& value) {
        std::optional<bool> read;
        flag(read)(value);
        to = read.value_or(to);
    };
}

Reader::Handler Reader::text(std::string& to) const {
    return [this, &to](const toml::node& value) {
        if (const auto v = value.as_string()) {
            to = v->get();
        } else {
            complain(value, fmt::format("expected text in quotes, not {}", kind(value)));
        }
    };
}

Reader::Handler Reader::texts(std::vector<std::string>& to) const {
    return [this, &to](const toml::node& value) {
        if (const auto list = value.as_array()) {
            for (const auto& element : *list) {
                text(to.emplace_back())(element);
            }
        } else {
            text(to.emplace_back())(value);
        }
    };
}

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

Reader::Handler Reader::table(std::function<void(const toml::table&)> read) const {
    return [this, read = std::move(read)](const toml::node& value) {
        if (const auto v = value.as_table()) {
            read(*v);
        } else {
            complain(value, fmt::format("expected a table, not {}", kind(value)));
        }
    };
}

std::string Reader::kind(const toml::node& value) {
    switch (value.type()) {
        case toml::node_type::table: return "a table";
        case toml::node_type::array: return "a list";
        case toml::node_type::string: return "text";
        case toml::node_type::integer: return "a whole number";
        case toml::node_type::floating_point: return "a fraction";
        case toml::node_type::boolean: return "true or false";
        default: return "a date or time";
    }
}

std::string Reader::shown(const toml::node& value) {
    const auto v = value.as_string();
    return v != nullptr ? fmt::format("\"{}\"", printable(v->get())) : kind(value);
}

std::optional<double> Reader::read_fraction(const toml::node& value, double least, double most) const {
    const auto number = value.value<double>();
    if (!value.is_number()) {
        complain(value, fmt::format("expected a number, not {}", kind(value)));
    } else if (!number || !(*number >= least && *number <= most)) {  // NaN is neither
        complain(value, fmt::format("{} is not within {} to {}", number.value_or(0), least, most));
    } else {
        return number;
    }
    return std::nullopt;
}

void Reader::complain_unknown(const toml::key& key, const Keys& keys) const {
    std::vector<std::string_view> names;
    for (const auto& [name, unused] : keys) {
        names.push_back(name);
    }
    const auto near = nearest_name(key.str(), names);
    complain(key.source(), fmt::format("unknown key \"{}\"{}", printable(key.str()),
                                       near ? fmt::format(", did you mean \"{}\"?", *near)
                                            : std::string{}));
}

bool Reader::is_at_top(std::string_view table, std::string_view key) const {
    return static_cast<bool>(root_[table][key]);
}

}  // namespace railhead::policy
