#include "node/topo_m_tail.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railhead::node {

namespace {

constexpr std::array<std::string_view, 3> labels{"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"};

std::string joined(const std::vector<TopoWord>& words) {
    std::vector<std::string_view> texts;
    for (const auto& word : words) {
        texts.push_back(word.text);
    }
    return fmt::format("{}", fmt::join(texts, " "));
}

std::size_t words_in(std::string_view label) {
    return static_cast<std::size_t>(std::ranges::count(label, ' ')) + 1;
}

void put(TopoRow& row, TopoColumn column, const TopoWord& word) {
    auto& cell = column == TopoColumn::cpu    ? row.cpu
                 : column == TopoColumn::numa ? row.numa
                                              : row.gpu_numa;
    cell = {std::string{word.text}, static_cast<unsigned>(word.offset + 1)};
}

/// The one of `known` that is nearest to `place`; nothing on a draw.
std::optional<std::size_t> nearest(std::size_t place, const std::vector<std::size_t>& known) {
    const auto far = [place](std::size_t other) {
        return other > place ? other - place : place - other;
    };
    const auto found = std::ranges::min_element(known, {}, far);
    if (found == known.end() || std::ranges::count(known, far(*found), far) > 1) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(found - known.begin());
}

/// Which column each word belongs to; nothing when that is not certain.
std::optional<std::vector<std::size_t>> columns_of(const TopoTail& tail,
                                                   const std::vector<std::size_t>& known) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < tail.words.size(); ++i) {
        const auto column =
            tail.words.size() == known.size() ? std::optional{i} : nearest(tail.places[i], known);
        if (!column || (!found.empty() && *column <= found.back())) {
            return std::nullopt;
        }
        found.push_back(*column);
    }
    return found;
}

/// Where the cells of each column stand: as in the first row that has all of them.
std::vector<std::size_t> places_of(const std::vector<TopoTail>& tails, bool tabs,
                                   const TopoColumns& columns) {
    for (const auto& tail : tails) {
        if (tail.tabs == tabs && tail.words.size() == columns.columns.size()) {
            return tail.places;
        }
    }
    if (!tabs) {
        return columns.offsets;
    }
    std::vector<std::size_t> fields;  // no full row: the first column is the first field
    for (std::size_t i = 0; i < columns.columns.size(); ++i) {
        fields.push_back(i);
    }
    return fields;
}

}  // namespace

std::optional<TopoColumns> parse_topo_columns(const std::vector<TopoWord>& words) {
    TopoColumns found;
    std::size_t at = 0;
    for (std::size_t i = 0; i < labels.size() && at < words.size(); ++i) {
        const auto end = std::min(words.size(), at + words_in(labels[i]));
        const auto text = joined({words.begin() + static_cast<std::ptrdiff_t>(at),
                                  words.begin() + static_cast<std::ptrdiff_t>(end)});
        const bool cut = end == words.size() && labels[i].starts_with(text);
        if (text == labels[i] || cut) {
            found.columns.push_back(static_cast<TopoColumn>(i));
            found.offsets.push_back(words[at].offset);
            at = end;
        }
    }
    return at == words.size() ? std::optional{std::move(found)} : std::nullopt;
}

TopoTail parse_topo_tail(std::string_view line, std::size_t begin) {
    TopoTail tail;
    const auto rest = line.substr(begin);
    tail.tabs = rest.find('\t') != std::string_view::npos;
    for (const auto& word : words_of(rest)) {
        // The first tab only ends the last cell.
        const auto tabs =
            static_cast<std::size_t>(std::ranges::count(rest.substr(0, word.offset), '\t'));
        tail.words.push_back({word.text, begin + word.offset});
        tail.places.push_back(tail.tabs ? std::max<std::size_t>(tabs, 1) - 1 : begin + word.offset);
    }
    return tail;
}

void place_tails(std::vector<TopoRow>& rows, const std::vector<TopoTail>& tails,
                 const TopoColumns& columns) {
    const auto between_tabs = places_of(tails, true, columns);
    const auto by_offset = places_of(tails, false, columns);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto found = columns_of(tails[i], tails[i].tabs ? between_tabs : by_offset);
        rows[i].readable = found.has_value();
        for (std::size_t word = 0; found && word < found->size(); ++word) {
            put(rows[i], columns.columns[(*found)[word]], tails[i].words[word]);
        }
    }
}

}  // namespace railhead::node
