#include "diagnose/nsys_stats.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::size_t most_cells = 64;

bool is_nccl(std::string_view name) {
    return name.find("ncclDevKernel") != std::string_view::npos ||
           name.find("ncclKernel") != std::string_view::npos;
}

}  // namespace

std::string_view name_of(NsysTable table) {
    static constexpr std::array<std::string_view, 5> names{"kernels", "CUDA calls", "copies",
                                                           "NVTX ranges", "other"};
    return names.at(static_cast<std::size_t>(table));
}

std::vector<std::string> csv_cells(std::string_view line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
            cells.back() += c;
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted && cells.size() < most_cells) {
            cells.emplace_back();
        } else {
            cells.back() += c;
        }
    }
    return cells;
}

void NsysStatsReader::read_line(std::string_view line) {
    const auto cells = csv_cells(trim(line));
    if (cells.size() < 3) {
        columns_ = {};  // a blank line, or what nsys says between tables
        return;
    }
    if (read_header(cells) || columns_.total == Columns::none) {
        return;
    }
    const auto number = [&](std::size_t column) {
        return column < cells.size() ? number_in(cells[column]) : std::nullopt;
    };
    const auto total = number(columns_.total);
    if (!total || columns_.name >= cells.size() || !(*total >= 0)) {
        return;
    }
    const auto& name = cells[columns_.name];
    if (table_ == NsysTable::kernels) {
        (is_nccl(name) ? stats_.nccl_ns : stats_.compute_ns) += *total;
    }
    if (stats_.rows.size() == most_rows) {
        ++stats_.left_out;
        return;
    }
    const auto count = number(columns_.count).value_or(0);
    constexpr double most = 1e18;
    stats_.rows.push_back({table_, printable(name.substr(0, evidence_limit)), *total,
                           count >= 0 && count < most ? static_cast<std::uint64_t>(count) : 0,
                           number(columns_.share).value_or(0) / 100, evidence()});
}

/// "Time (%),Total Time (ns),Instances,…,Name"; before 2022 "Time(%)", "Total Time (ns)".
bool NsysStatsReader::read_header(const std::vector<std::string>& cells) {
    if (!cells[0].starts_with("Time") || cells[1].find("Total Time") == std::string::npos) {
        return false;
    }
    columns_ = {0, 1, Columns::none, Columns::none};
    table_ = NsysTable::other;
    static constexpr std::array<std::pair<std::string_view, NsysTable>, 4> counts{
        {{"Instances", NsysTable::kernels},
         {"Num Calls", NsysTable::calls},
         {"Calls", NsysTable::calls},
         {"Count", NsysTable::copies}}};
    for (std::size_t i = 2; i < cells.size(); ++i) {
        const auto* count =
            std::ranges::find(counts, cells[i], &decltype(counts)::value_type::first);
        if (count != counts.end()) {
            columns_.count = i;
            table_ = count->second;
        } else if (cells[i] == "Name" || cells[i] == "Operation" || cells[i] == "Range") {
            columns_.name = i;
            table_ = cells[i] == "Range" ? NsysTable::ranges : table_;
        }
    }
    return true;
}

}  // namespace railhead::diagnose
