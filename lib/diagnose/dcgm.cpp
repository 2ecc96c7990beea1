#include "diagnose/dcgm.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::size_t longest_detail = 1024;

/// "Fail - GPU 0: …", "Pass - All", "Warning", "Healthy".
std::optional<DcgmResult> result_of(std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, DcgmResult>, 8> words{
        {{"Pass", DcgmResult::pass},
         {"Healthy", DcgmResult::pass},
         {"Skip", DcgmResult::skip},
         {"Not Run", DcgmResult::skip},
         {"Warn", DcgmResult::warn},
         {"Warning", DcgmResult::warn},
         {"Fail", DcgmResult::fail},
         {"Failure", DcgmResult::fail}}};
    for (const auto& [word, result] : words) {
        const auto after = text.substr(std::min(word.size(), text.size()));
        if (text.starts_with(word) &&
            (after.empty() || after.starts_with(' ') || after.starts_with("ed"))) {
            return result;
        }
    }
    return std::nullopt;
}

/// "-----  Deployment  ---": the section; empty for a line of the frame.
std::optional<std::string_view> section_of(std::string_view cell) {
    if (!cell.starts_with("--") && !cell.starts_with("==")) {
        return std::nullopt;
    }
    const auto start = cell.find_first_not_of("-= +");
    return start == std::string_view::npos
               ? std::string_view{}
               : trim(cell.substr(start, cell.find_last_not_of("-= +") + 1 - start));
}

void append(std::string& detail, std::string_view text) {
    if (!text.empty() && detail.size() < longest_detail) {
        detail += detail.empty() ? "" : " ";
        detail += printable(text.substr(0, longest_detail - detail.size()));
    }
}

}  // namespace

void DcgmReader::read_line(std::string_view line) {
    const auto label = take_label(line);
    const auto text = trim(line);
    if (text.starts_with("#Entity")) {
        columns_.clear();
        constexpr std::size_t most_columns = 64;
        for (const auto word : split_words(text.substr(1))) {
            if (columns_.size() < most_columns) {
                columns_.emplace_back(word);
            }
        }
        return;
    }
    if ((text.starts_with('|') || text.starts_with('+')) && text.size() > 1) {
        // Sections stand in a row whose cells are dashes, split by "+" or "|".
        if (const auto section =
                section_of(trim(text.substr(1, text.find_first_of("+|", 1) - 1)))) {
            section_ = section->empty() ? section_ : std::string{*section};
            continues_ = false;
            return;
        }
        const auto bar = text.find('|', 1);
        if (bar != std::string_view::npos) {
            auto result = text.substr(bar + 1);
            result = result.substr(0, result.rfind('|'));
            read_row(label, trim(text.substr(1, bar - 1)), trim(result));
        }
        return;
    }
    if (!columns_.empty()) {
        read_sample(label, text);
    }
}

void DcgmReader::read_row(std::string_view label, std::string_view name, std::string_view result) {
    while (name.starts_with('-') || name.starts_with('>') || name.starts_with(' ')) {
        name.remove_prefix(1);  // "-> 0" of dcgmi health
    }
    const auto verdict = result_of(result);
    const bool is_text = name == "Warning" || name == "Error" || name == "Info";
    if ((name.empty() || is_text) && !verdict) {
        if (name == "Error") {  // of the GPUs as such: it belongs to no test
            add_check(label, name, DcgmResult::fail);
        }
        if (continues_) {
            append(report_.checks.back().detail, result);
        }
        return;
    }
    continues_ = false;
    if (!verdict) {
        return;
    }
    add_check(label, name, *verdict);
    const auto dash = result.find(" - ");
    if (continues_ && dash != std::string_view::npos) {
        append(report_.checks.back().detail, trim(result.substr(dash + 3)));
    }
}

void DcgmReader::add_check(std::string_view label, std::string_view name, DcgmResult result) {
    continues_ = report_.checks.size() < most;
    if (!continues_) {
        ++report_.left_out;
        return;
    }
    report_.checks.push_back({std::string{label},
                              section_,
                              printable(name.substr(0, evidence_limit)),
                              result,
                              {},
                              evidence()});
}

/// "GPU 0   0.512   N/A": the entity has two words, its heading one.
void DcgmReader::read_sample(std::string_view label, std::string_view text) {
    const auto words = split_words(text);
    if (words.size() < 3 || !parse_number<unsigned>(words[1])) {
        return;
    }
    const auto entity = fmt::format("{} {}", printable(words[0].substr(0, 32)), words[1]);
    for (std::size_t i = 2; i < words.size() && i - 1 < columns_.size(); ++i) {
        if (const auto value = number_in(words[i])) {
            add_sample(label, entity, i - 1, *value);
        }
    }
}

void DcgmReader::add_sample(std::string_view label, std::string_view entity, std::size_t column,
                            double value) {
    const auto& name = columns_[column];
    auto found = std::ranges::find_if(report_.fields, [&](const DcgmField& field) {
        return field.field == name && field.entity == entity && field.host == label;
    });
    if (found == report_.fields.end()) {
        constexpr std::size_t most_fields = 2048;  // 64 GPUs with 32 columns
        if (report_.fields.size() == most_fields) {
            ++report_.left_out;
            return;
        }
        found = report_.fields.insert(
            report_.fields.end(),
            {std::string{label}, std::string{entity}, name, value, value, 0, 0, 0, evidence()});
    }
    found->least = std::min(found->least, value);
    found->most = std::max(found->most, value);
    found->sum += value;
    found->last = value;
    ++found->samples;
}

}  // namespace railhead::diagnose
