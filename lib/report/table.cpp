#include "report/table.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace railhead::report {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t least_wrap = 20;  // a narrower last column is left to run on

std::vector<std::size_t> column_widths(const std::vector<std::string>& heading,
                                       const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    const auto measure = [&](const std::vector<std::string>& row) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], columns(row[i]));
        }
    };
    measure(heading);
    std::ranges::for_each(rows, measure);
    return widths;
}

void append_padded(std::string& line, std::string_view cell, std::size_t width) {
    line.append(cell);
    line.append(width + gap - columns(cell), ' ');
}

void append_line(std::string& out, std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line;
    out += '\n';
}

void append_row(std::string& out, const std::vector<std::string>& row,
                const std::vector<std::size_t>& widths, std::size_t indent, std::size_t width) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
        append_padded(line, row[i], widths[i]);
    }
    if (row.empty()) {
        return append_line(out, std::move(line));
    }
    const auto start = columns(line);
    const auto room = width > start + least_wrap ? width - start : std::string::npos;
    for (auto& part : wrap(row.back(), room)) {
        append_line(out, line + part);
        line.assign(start, ' ');
    }
}

}  // namespace

Table::Table(std::vector<std::string> heading) : heading_{std::move(heading)} {}

void Table::add(std::vector<std::string> row) {
    rows_.push_back(std::move(row));
}

std::string Table::text(std::size_t indent, std::size_t width) const {
    const auto widths = column_widths(heading_, rows_);
    std::string out;
    if (!heading_.empty()) {
        append_row(out, heading_, widths, indent, width);
    }
    for (const auto& row : rows_) {
        append_row(out, row, widths, indent, width);
    }
    return out;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    std::vector<std::string> lines(1);
    for (const auto word : split_words(text)) {
        auto& line = lines.back();
        if (!line.empty() && columns(line) + 1 + columns(word) > width) {
            lines.emplace_back(word);
        } else {
            line.append(line.empty() ? "" : " ").append(word);
        }
    }
    return lines;
}

std::string breakable_list(std::string_view list, std::size_t width) {
    std::string out;
    std::size_t column = 0;
    for (const auto part : split(list, ',')) {
        if (!out.empty()) {
            out += ',';
            column += part.size() + 1;
        }
        if (column + 1 > width) {
            out += ' ';
            column = 0;
        }
        out += part;
        column = column == 0 ? part.size() : column;
    }
    return out;
}

std::size_t columns(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace railhead::report
