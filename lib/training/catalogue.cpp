#include "training/catalogue.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace railhead::training {

namespace {

/// A name without what people write differently.
std::string key_of(std::string_view name) {
    std::string key;
    for (const char c : name) {
        if (c == '-' || c == '_' || c == ' ' || c == '/') {
            continue;
        }
        key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return key;
}

template <class Row>
bool is_called(const Row& row, const std::string& key) {
    return key_of(row.name) == key || std::ranges::any_of(row.aliases, [&](const auto& alias) {
               return key_of(alias) == key;
           });
}

/// Up to six that begin as `name` does, or nearly so: of "lama-3" llama-3-8b, llama-3-70b.
template <class Row>
std::vector<std::string_view> family_of(const std::vector<Row>& rows, std::string_view name) {
    constexpr std::size_t most = 6;
    std::vector<std::string_view> beginnings;
    for (const auto& row : rows) {
        for (const auto length : {name.size(), name.size() + 1}) {
            beginnings.push_back(std::string_view{row.name}.substr(0, length));
        }
    }
    std::vector<std::string_view> family;
    const auto begins = nearest_name(name, beginnings);
    for (const auto& row : rows) {
        if (begins && family.size() < most && row.name.starts_with(*begins)) {
            family.push_back(row.name);
        }
    }
    return family;
}

/// What to type instead.
template <class Row>
std::string advice(const std::vector<Row>& rows, std::string_view name) {
    const auto family = family_of(rows, name);
    std::vector<std::string_view> names;
    for (const auto& row : rows) {
        names.push_back(row.name);
        names.insert(names.end(), row.aliases.begin(), row.aliases.end());
    }
    const bool begins = !family.empty() && family.front().starts_with(name);
    if (const auto near = nearest_name(name, names);
        near && (!begins || near->starts_with(name))) {
        return fmt::format(", did you mean \"{}\"?", *near);
    }
    return family.empty() ? " (railhead catalog lists those that are known)"
                          : fmt::format(", did you mean one of {}?", fmt::join(family, ", "));
}

template <class Row>
Result<const Row*> find(const std::vector<Row>& rows, std::string_view name,
                        std::string_view what) {
    const auto key = key_of(name);
    const auto found =
        std::ranges::find_if(rows, [&](const Row& row) { return is_called(row, key); });
    if (found != rows.end()) {
        return &*found;
    }
    return fail(Errc::not_found, fmt::format("no {} is named \"{}\"{}", what, printable(name),
                                             advice(rows, name)));
}

}  // namespace

Result<const Accelerator*> find_accelerator(const Catalogue& catalogue, std::string_view name) {
    return find(catalogue.accelerators, name, "accelerator");
}

Result<const Nic*> find_nic(const Catalogue& catalogue, std::string_view name) {
    return find(catalogue.nics, name, "NIC");
}

Result<const Shape*> find_model(const Catalogue& catalogue, std::string_view name) {
    return find(catalogue.models, name, "model");
}

}  // namespace railhead::training
