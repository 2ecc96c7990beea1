#include "report/training_text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/table.hpp"

namespace railhead::report {

std::string formula_text(const training::Shape& shape, const training::Convention& convention) {
    const auto besides = training::counted_besides(shape, convention);
    return besides.empty() ? std::string{convention.formula}
                           : fmt::format("{}; here {}", convention.formula, besides);
}

std::string besides_text(const training::Shape& shape,
                         const std::vector<const training::Convention*>& conventions) {
    std::vector<std::pair<std::string, std::string>> rows;  // what is counted, by which
    for (const auto* convention : conventions) {
        auto besides = training::counted_besides(shape, *convention);
        const auto row =
            std::ranges::find(rows, besides, &std::pair<std::string, std::string>::first);
        if (row != rows.end()) {
            row->second += fmt::format(", {}", convention->name);
        } else if (!besides.empty()) {
            rows.emplace_back(std::move(besides), convention->name);
        }
    }
    Table table;
    for (const auto& [besides, names] : rows) {
        table.add({"-", fmt::format("{}: {}", names, besides)});
    }
    return rows.empty() ? std::string{} : "Counted besides\n" + table.text(2);
}

std::string by_convention(const training::PublishedMfu& published) {
    return published.convention.empty() ? std::string{"by a convention that is not known"}
                                        : fmt::format("by \"{}\"", published.convention);
}

}  // namespace railhead::report
