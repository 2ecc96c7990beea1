#include "rails/own_marks.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::rails {

namespace {

/// FNV-1a, 32 bits, http://www.isthe.com/chongo/tech/comp/fnv.
std::string hash(std::string_view text) {
    constexpr std::uint32_t offset_basis = 2166136261U;
    constexpr std::uint32_t prime = 16777619U;
    auto value = offset_basis;
    for (const char c : text) {
        value = (value ^ static_cast<unsigned char>(c)) * prime;
    }
    return fmt::format("{:08x}", value);
}

}  // namespace

std::string mark(const std::vector<Setting>& set) {
    std::string marks;
    for (const auto& [name, value] : set) {
        marks += fmt::format("{}{}:{}", marks.empty() ? "" : ",", name, hash(value));
    }
    return marks;
}

std::vector<std::string> marked(const Lookup& environment) {
    std::vector<std::string> names;
    const auto marks = environment(own_marks);
    if (!marks) {
        return names;
    }
    for (const auto entry : split(*marks, ',')) {
        const auto colon = entry.find(':');
        const auto name = entry.substr(0, colon);
        const auto value =
            colon == 0 || colon == std::string_view::npos ? std::nullopt : environment(name);
        if (value && hash(*value) == entry.substr(colon + 1)) {
            names.emplace_back(name);
        }
    }
    return names;
}

Lookup without_marked(Lookup environment) {
    auto ours = marked(environment);
    return [environment = std::move(environment),
            ours = std::move(ours)](std::string_view name) -> std::optional<std::string> {
        return std::ranges::find(ours, name) == ours.end() ? environment(name) : std::nullopt;
    };
}

}  // namespace railhead::rails
