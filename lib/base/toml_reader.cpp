#include "base/toml_reader.hpp"

#include <cstddef>

namespace railhead {

namespace {

/// Finds the first character beyond ASCII that toml++ (to 3.4) would ask whether it is a blank: for some it
/// runs into __builtin_unreachable().  TOML has none outside of texts and comments; a text that a
/// backslash continues in the next line may begin with one there.  Right up to the first error of syntax.
class ForeignCharacter {
   public:
    explicit ForeignCharacter(std::string_view text) : text_{text} {
        if (text.starts_with("\xEF\xBB\xBF")) {  // a byte order mark
            at_ = 3;
        }
    }

    /// Where it is, in bytes; nothing where there is none.
    std::optional<std::size_t> find() {
        while (at_ < text_.size() && !found_) {
            const char c = text_[at_];
            if (is_foreign(c)) {
                found_ = at_;
            } else if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == '"' || c == '\'') {
                pass_text(c);
            } else {
                ++at_;
            }
        }
        return found_;
    }

   private:
    static bool is_foreign(char c) { return static_cast<unsigned char>(c) >= 0x80; }

    void pass_text(char quote) {
        const std::array triple{quote, quote, quote};
        const std::string_view fence{triple.data(), triple.size()};
        if (!text_.substr(at_).starts_with(fence)) {
            pass_line(quote);
            return;
        }
        at_ += fence.size();
        while (at_ < text_.size() && !text_.substr(at_).starts_with(fence) && !found_) {
            if (quote == '"' && text_[at_] == '\\') {
                pass_backslash();
            } else {
                ++at_;
            }
        }
        at_ = std::min(at_ + fence.size(), text_.size());
        for (int own = 0; own < 2 && at_ < text_.size() && text_[at_] == quote; ++own) {
            ++at_;  // five quotes are two of the text and the three that end it
        }
    }

    void pass_line(char quote) {
        for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
            at_ += quote == '"' && text_[at_] == '\\' ? 1U : 0U;
        }
        at_ = std::min(at_ + 1, text_.size());
    }

    void pass_backslash() {
        const auto next = std::min(text_.find_first_not_of(" \t\r\n", at_ + 1), text_.size());
        if (next == at_ + 1) {
            at_ = std::min(at_ + 2, text_.size());
            return;
        }
        at_ = next;
        if (at_ < text_.size() && is_foreign(text_[at_])) {
            found_ = at_;
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::optional<std::size_t> found_;
};

/// The character of UTF-8 there in quotes, or its byte where it is none.
std::string character_at(std::size_t byte, std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[byte]);
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    const auto character = text.substr(byte, size);
    const bool is_whole = lead >= 0xC2 && lead < 0xF5 && character.size() == size &&
                          std::ranges::all_of(character.substr(1), [](char c) {
                              return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
                          });
    return is_whole ? fmt::format("\"{}\"", printable(character)) : fmt::format("the byte {:#04x}", lead);
}

Position position_of(std::size_t byte, std::string_view text, const std::string& file) {
    const auto before = text.substr(0, byte);
    const auto line = before.rfind('\n') == std::string_view::npos ? before : before.substr(before.rfind('\n') + 1);
    const auto characters = std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    return {file, static_cast<unsigned>(1 + std::ranges::count(before, '\n')),
            static_cast<unsigned>(1 + characters)};
}

}  // namespace

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
    std::vector<Error> errors;
    if (const auto foreign = ForeignCharacter{text}.find()) {
        errors.push_back({Errc::bad_input,
                          fmt::format("{} where only ASCII may stand: write it within quotes ('\"' or \"'\"), "
                                      "and not right behind a backslash and its line's end",
                                      character_at(*foreign, text)),
                          position_of(*foreign, text, file)});
        return errors;
    }
    auto parsed = toml::parse(text, file);
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
