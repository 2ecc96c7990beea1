#include "base/toml_reader.hpp"

namespace railhead {

void TomlReader::each(const toml::table& table, const Keys& keys) const {
    for (const auto& [key, value] : table) {
        const auto found = std::ranges::find(keys, key.str(), &Keys::value_type::first);
        if (found != keys.end()) {
            found->second(value);
        } else {
            complain_unknown(key, keys);
        }
    }
}

TomlReader::Handler TomlReader::flag(std::optional<bool>& to) const {
    return [this, &to](const toml::node& value) {
        if (const auto v = value.as_boolean()) {
            to = v->get();
        } else {
            complain(value, fmt::format("expected true or false, not {}", kind(value)));
        }
    };
}

TomlReader::Handler TomlReader::flag(bool& to) const {
    return [this, &to](const toml::node& value) {
        std::optional<bool> read;
        flag(read)(value);
        to = read.value_or(to);
    };
}

TomlReader::Handler TomlReader::count(std::uint64_t& to, std::int64_t least,
                                      std::int64_t most) const {
    return [this, &to, least, most](const toml::node& value) {
        const auto v = value.as_integer();
        if (v == nullptr) {
            complain(value, fmt::format("expected a whole number, not {}", kind(value)));
        } else if (v->get() < least || v->get() > most) {
            complain(value, fmt::format("{} is not within {} to {}", v->get(), least, most));
        } else {
            to = static_cast<std::uint64_t>(v->get());
        }
    };
}

TomlReader::Handler TomlReader::text(std::string& to) const {
    return [this, &to](const toml::node& value) {
        if (const auto v = value.as_string()) {
            to = v->get();
        } else {
            complain(value, fmt::format("expected text in quotes, not {}", kind(value)));
        }
    };
}

TomlReader::Handler TomlReader::texts(std::vector<std::string>& to) const {
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

TomlReader::Handler TomlReader::table(std::function<void(const toml::table&)> read) const {
    return [this, read = std::move(read)](const toml::node& value) {
        if (const auto v = value.as_table()) {
            read(*v);
        } else {
            complain(value, fmt::format("expected a table, not {}", kind(value)));
        }
    };
}

std::string TomlReader::kind(const toml::node& value) {
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

std::string TomlReader::shown(const toml::node& value) {
    const auto v = value.as_string();
    return v != nullptr ? fmt::format("\"{}\"", printable(v->get())) : kind(value);
}

std::optional<double> TomlReader::read_fraction(const toml::node& value, double least, double most) const {
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

void TomlReader::complain_unknown(const toml::key& key, const Keys& keys) const {
    std::vector<std::string_view> names;
    for (const auto& [name, unused] : keys) {
        names.push_back(name);
    }
    const auto near = nearest_name(key.str(), names);
    complain(key.source(), fmt::format("unknown key \"{}\"{}", printable(key.str()),
                                       near ? fmt::format(", did you mean \"{}\"?", *near)
                                            : std::string{}));
}

bool TomlReader::is_at_top(std::string_view table, std::string_view key) const {
    return static_cast<bool>(root_[table][key]);
}

std::vector<Error> read_toml(
    std::string_view text, const std::string& file,
    const std::function<void(const toml::table& root, std::vector<Error>& errors)>& read) {
    auto parsed = toml::parse(text, file);
    std::vector<Error> errors;
    if (!parsed) {
        const auto& error = parsed.error();
        errors.push_back({Errc::bad_input, std::string{error.description()},
                          {file, error.source().begin.line, error.source().begin.column}});
        return errors;
    }
    read(parsed.table(), errors);
    std::ranges::stable_sort(errors, {}, [](const Error& e) {
        return std::pair{e.where.line, e.where.column};
    });
    return errors;
}

}  // namespace railhead
