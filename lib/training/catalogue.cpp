#include "training/catalogue.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

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

template <class Row>
Result<const Row*> find(const std::vector<Row>& rows, std::string_view name,
                        std::string_view what) {
    const auto key = key_of(name);
    const auto found =
        std::ranges::find_if(rows, [&](const Row& row) { return is_called(row, key); });
    if (found != rows.end()) {
        return &*found;
    }
    std::vector<std::string_view> names;
    for (const auto& row : rows) {
        names.push_back(row.name);
        names.insert(names.end(), row.aliases.begin(), row.aliases.end());
    }
    const auto near = nearest_name(name, names);
    return fail(Errc::not_found,
                fmt::format("no {} is named \"{}\"{}", what, printable(name),
                            near ? fmt::format(", did you mean \"{}\"?", *near)
                                 : fmt::format(" (railhead catalog lists those that are known)")));
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
