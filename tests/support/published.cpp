#include "support/published.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "base/file.hpp"
#include "base/text.hpp"
#include "support/paths.hpp"

namespace railhead::test {

namespace {

/// The cells of a line of CSV; a quoted cell may hold commas.
std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            cells.emplace_back();
        } else {
            cells.back() += c;
        }
    }
    return cells;
}

}  // namespace

double PublishedRow::number(const std::string& column) const {
    std::size_t end = 0;
    const auto value = std::stod(text(column), &end);
    if (end != text(column).size()) {
        throw std::runtime_error{"no number: " + text(column)};
    }
    return value;
}

std::string published() {
    const char* set = std::getenv("RAILHEAD_PUBLISHED");
    const std::filesystem::path folder = set != nullptr ? set : checkout("../shared/published");
    std::error_code error;
    return std::filesystem::is_directory(folder, error) ? folder.string() : "";
}

std::vector<PublishedRow> read_published(std::string_view name) {
    const auto path = published().append("/").append(name).append(".csv");
    const auto text = read_file(path);
    if (!text) {
        throw std::runtime_error{to_string(text.error())};
    }
    std::vector<std::string> heading;
    std::vector<PublishedRow> rows;
    for (const auto line : split(*text, '\n')) {
        const auto cells = cells_of(trim(line));
        if (heading.empty()) {
            heading = cells;
        } else if (cells.size() == heading.size()) {
            std::map<std::string, std::string> row;
            for (std::size_t i = 0; i < cells.size(); ++i) {
                row[heading[i]] = cells[i];
            }
            rows.emplace_back(std::move(row));
        } else if (!trim(line).empty()) {
            throw std::runtime_error{path + ": a torn row: " + std::string{line}};
        }
    }
    if (rows.empty()) {
        throw std::runtime_error{path + ": no rows"};
    }
    return rows;
}

}  // namespace railhead::test
