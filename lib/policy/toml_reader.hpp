// Reading TOML into a policy, key by key, with line and column for every complaint.  Inside of the
// policy's parser, and the only place that includes toml++.
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
#include "policy/parse.hpp"
#include "policy/policy.hpp"

namespace railhead::policy {

/// Collects what is wrong with one file.
class Reader {
   public:
    Reader(std::string file, const toml::table& root, std::vector<Error>& errors)
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
    template <class T>
    Handler seconds(T& to) const {
        return [this, &to](const toml::node& value) {
            std::optional<std::uint32_t> read;
            if (const auto v = value.as_integer(); v != nullptr && v->get() >= 0) {
                read = parse_number<std::uint32_t>(fmt::format("{}", v->get()));
            } else if (const auto s = value.as_string()) {
                read = parse_seconds(s->get());
            }
            if (read) {
                to = *read;
            } else {
                complain(value, "expected a time such as 300, \"90s\", \"10m\", \"2h\" or \"1d\"");
            }
        };
    }
    /// A whole number or a fraction.
    template <class T>
    Handler fraction(T& to, double least, double most) const {
        return [this, &to, least, most](const toml::node& value) {
            if (const auto v = read_fraction(value, least, most)) {
                to = *v;
            }
        };
    }
    /// A list of numbers, or one alone, a level each; complains and gives nothing when one is wrong.
    std::optional<Price> levels(const toml::node& value, double least, double most) const;
    /// One of a few words.
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

   private:
    std::optional<double> read_fraction(const toml::node& value, double least, double most) const;
    void complain_unknown(const toml::key& key, const Keys& keys) const;

    std::string file_;
    const toml::table& root_;
    std::vector<Error>& errors_;
};

constexpr std::array<std::pair<std::string_view, Mode>, 3> modes{
    {{"observe", Mode::observe}, {"advise", Mode::advise}, {"enforce", Mode::enforce}}};

/// parse_placement.cpp: the table "placement" of one layer.
void read_placement(const Reader& reader, const toml::table& table, Overlay& to);
/// parse_checkpoint.cpp: the table "checkpoint" of one layer.
void read_checkpoint(const Reader& reader, const toml::table& table, CheckpointOverlay& to);

}  // namespace railhead::policy
