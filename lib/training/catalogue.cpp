#include "training/catalogue.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/lower.hpp"
#include "base/text.hpp"

namespace railhead::training {

namespace {

bool is_separator(char c) {
    return c == '-' || c == '_' || c == ' ' || c == '/';
}

/// A name without what people write differently.
std::string key_of(std::string_view name) {
    auto key = lower(name);
    std::erase_if(key, is_separator);
    return key;
}

template <class Row>
bool is_called(const Row& row, const std::string& key) {
    return key_of(row.name) == key || std::ranges::any_of(row.aliases, [&](const auto& alias) {
               return key_of(alias) == key;
           });
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Whether `name` may be cut behind the first `length` characters of its key: not within a number,
/// as llama-33b behind llama3.
bool is_cut(std::string_view name, std::size_t length) {
    std::size_t at = 0;
    for (; at < name.size() && length > 0; ++at) {
        length -= is_separator(name[at]) ? 0 : 1;
    }
    return at == 0 || at == name.size() || !is_digit(name[at - 1]) || !is_digit(name[at]);
}

/// Up to six whose keys begin as `key` does, or nearly so: of "lama3" llama-3-8b, llama-3-70b.
template <class Row>
std::vector<std::string_view> family_of(const std::vector<Row>& rows, const std::string& key) {
    constexpr std::size_t most = 6;
    std::vector<std::string> keys;
    for (const auto& row : rows) {
        keys.push_back(key_of(row.name));
    }
    std::vector<std::string_view> beginnings;
    for (const auto& one : keys) {
        for (const auto length : {key.size(), key.size() + 1}) {
            beginnings.push_back(std::string_view{one}.substr(0, length));
        }
    }
    std::vector<std::string_view> family;
    const auto begins = nearest_name(key, beginnings);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (begins && family.size() < most && keys[i].starts_with(*begins) &&
            is_cut(rows[i].name, begins->size())) {
            family.push_back(rows[i].name);
        }
    }
    return family;
}

/// What to type instead.
template <class Row>
std::string advice(const std::vector<Row>& rows, std::string_view name) {
    const auto key = key_of(name);
    const auto family = family_of(rows, key);
    std::vector<std::string_view> names;
    for (const auto& row : rows) {
        names.push_back(row.name);
        names.insert(names.end(), row.aliases.begin(), row.aliases.end());
    }
    const bool begins = !family.empty() && key_of(family.front()).starts_with(key);
    if (const auto near = nearest_name(name, names);
        near && (!begins || key_of(*near).starts_with(key))) {
        return fmt::format(", did you mean \"{}\"?", *near);
    }
    return family.empty()       ? " (railhead catalog lists those that are known)"
           : family.size() == 1 ? fmt::format(", did you mean \"{}\"?", family.front())
                                : fmt::format(", did you mean one of {}?", fmt::join(family, ", "));
}

template <class Row>
const Row* find_called(const std::vector<Row>& rows, const std::string& key) {
    const auto found =
        std::ranges::find_if(rows, [&](const Row& row) { return is_called(row, key); });
    return found == rows.end() ? nullptr : &*found;
}

/// ", but an accelerator is: railhead catalog accelerators h100"; "" where nothing is named so.
std::string elsewhere(const Catalogue& catalogue, const std::string& key) {
    const auto say = [](std::string_view what, std::string_view part, const auto* row) {
        return row == nullptr
                   ? std::string{}
                   : fmt::format(", but {} is: railhead catalog {} {}", what, part, row->name);
    };
    for (const auto& words :
         {say("an accelerator", "accelerators", find_called(catalogue.accelerators, key)),
          say("a NIC", "nics", find_called(catalogue.nics, key)),
          say("a model", "models", find_called(catalogue.models, key))}) {
        if (!words.empty()) {
            return words;
        }
    }
    return {};
}

template <class Row>
Result<const Row*> find(const Catalogue& catalogue, const std::vector<Row>& rows,
                        std::string_view name, std::string_view what) {
    const auto key = key_of(name);
    if (const auto* found = find_called(rows, key)) {
        return found;
    }
    const auto other = elsewhere(catalogue, key);
    return fail(Errc::not_found, fmt::format("no {} is named \"{}\"{}", what, printable(name),
                                             other.empty() ? advice(rows, name) : other));
}

}  // namespace

Result<const Accelerator*> find_accelerator(const Catalogue& catalogue, std::string_view name) {
    return find(catalogue, catalogue.accelerators, name, "accelerator");
}

Result<const Nic*> find_nic(const Catalogue& catalogue, std::string_view name) {
    return find(catalogue, catalogue.nics, name, "NIC");
}

Result<const Shape*> find_model(const Catalogue& catalogue, std::string_view name) {
    return find(catalogue, catalogue.models, name, "model");
}

}  // namespace railhead::training
