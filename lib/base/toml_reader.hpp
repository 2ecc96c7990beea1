// Reading TOML into values, key by key, with line and column for every complaint.  For parsers
// alone, and the only place that includes toml++.
//
// Debian builds packages without NDEBUG, and toml++ 3.3 and 3.4 assert on some broken input
// ("[\no"): that would abort slurmctld.  Without the assert they return a proper error.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace railhead {

/// Collects what is wrong with one file.
class TomlReader {
   public:
    TomlReader(std::string file, const toml::table& root, std::vector<Error>& errors)
        : file_{std::move(file)}, root_{root}, errors_{errors} {}

    /// Whether the top of the file has `key` in its table `table`, which every layer lies over.
    bool is_at_top(std::string_view table, std::string_view key) const;

    void complain(const toml::source_region& at, std::string message) const {
        errors_.push_back({Errc::bad_input, std::move(message), position(at)});
    }
    void complain(const toml::node& at, std::string message) const {
        complain(at.source(), std::move(message));
    }
    Position position(const toml::source_region& at) const {
        return {file_, at.begin.line, at.begin.column};
    }

    /// What is done with one key: reads `value` into the policy, or complains.
    using Handler = std::function<void(const toml::node& value)>;
    using Keys = std::vector<std::pair<std::string_view, Handler>>;

    /// Every key of `table` goes to its handler; unknown ones are errors with a suggestion.
    void each(const toml::table& table, const Keys& keys) const;

    Handler flag(std::optional<bool>& to) const;
    Handler flag(bool& to) const;
    Handler text(std::string& to) const;
    /// A list of texts, or one alone.
    Handler texts(std::vector<std::string>& to) const;
    template <class T>
    Handler number(T& to, std::int64_t least, std::int64_t most) const {
        return [this, &to, least, most](const toml::node& value) {
            const auto v = value.as_integer();
            if (v == nullptr) {
                complain(value, fmt::format("expected a whole number, not {}", kind(value)));
            } else if (v->get() < least || v->get() > most) {
                complain(value, fmt::format("{} is not within {} to {}", v->get(), least, most));
            } else {
                to = static_cast<std::uint32_t>(v->get());
            }
        };
    }
    /// As number(), for counts above 2^32.
    Handler count(std::uint64_t& to, std::int64_t least, std::int64_t most) const;
    /// A whole number or a fraction.
    template <class T>
    Handler fraction(T& to, double least, double most) const {
        return [this, &to, least, most](const toml::node& value) {
            if (const auto v = read_fraction(value, least, most)) {
                to = *v;
            }
        };
    }
    /// One of a few words.
    template <class T, std::size_t N>
    Handler word(T& to, const std::array<std::pair<std::string_view, T>, N>& words) const {
        return [this, &to, words](const toml::node& value) {
            std::optional<T> read;
            word(read, words)(value);
            to = read.value_or(to);
        };
    }
    template <class T, std::size_t N>
    Handler word(std::optional<T>& to,
                 const std::array<std::pair<std::string_view, T>, N>& words) const {
        return [this, &to, words](const toml::node& value) {
            const auto v = value.as_string();
            const auto found = std::ranges::find_if(
                words, [&](const auto& w) { return v != nullptr && w.first == v->get(); });
            if (found != words.end()) {
                to = found->second;
                return;
            }
            std::string list;
            for (const auto& [name, unused] : words) {
                list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
            }
            complain(value, fmt::format("expected one of {}, not {}", list, shown(value)));
        };
    }
    /// A sub-table, handed on.
    Handler table(std::function<void(const toml::table&)> read) const;

    /// "a table", "text": what `value` is, for a message.
    static std::string kind(const toml::node& value);
    /// Its text in quotes, else its kind.
    static std::string shown(const toml::node& value);

   protected:
    std::optional<double> read_fraction(const toml::node& value, double least, double most) const;

   private:
    void complain_unknown(const toml::key& key, const Keys& keys) const;

    std::string file_;
    const toml::table& root_;
    std::vector<Error>& errors_;
};

/// Parses `text` and hands its table to `read`.  Gives what is wrong, in the order of the file; a
/// syntax error is the only one.
[[nodiscard]] std::vector<Error> read_toml(
    std::string_view text, const std::string& file,
    const std::function<void(const toml::table& root, std::vector<Error>& errors)>& read);

}  // namespace railhead
