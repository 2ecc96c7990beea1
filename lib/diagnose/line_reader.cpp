#include "diagnose/line_reader.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "training/log_line.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20U;  // what is longer is cut
constexpr std::size_t longest_label = 64;

bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

/// "[1,3]<stdout>:" with blanks before and after.
std::string_view take_mpi_label(std::string_view& line) {
    const auto end = line.substr(0, longest_label).find(']');
    if (!line.starts_with('[') || end == std::string_view::npos) {
        return {};
    }
    for (const std::string_view stream : {"<stdout>:", "<stderr>:"}) {
        if (line.substr(end + 1).starts_with(stream)) {
            const auto label = line.substr(1, end - 1);
            line.remove_prefix(end + 1 + stream.size());
            return label;
        }
    }
    return {};
}

}  // namespace

void LineReader::feed(std::string_view piece) {
    while (!piece.empty()) {
        const auto end = piece.find('\n');
        const auto part = piece.substr(0, end);
        if (end != std::string_view::npos && carry_.empty()) {
            take(part.substr(0, longest_line));
        } else {
            const auto room = longest_line - std::min(longest_line, carry_.size());
            carry_.append(part.substr(0, room));
            if (end == std::string_view::npos) {
                return;
            }
            take(carry_);
            carry_.clear();
        }
        piece.remove_prefix(end + 1);
    }
}

void LineReader::finish() {
    if (!carry_.empty()) {
        take(carry_);
        carry_.clear();
    }
    text_ = {};
    read_end();
}

void LineReader::take(std::string_view line) {
    ++line_;
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    if (line.find('\x1b') != std::string_view::npos) {
        training::strip_escapes(line, plain_);
        line = plain_;
    }
    text_ = line;
    read_line(line);
}

std::string_view take_label(std::string_view& line, std::string_view not_label) {
    if (const auto label = take_mpi_label(line); !label.empty()) {
        return label;
    }
    // srun sets numbers flush right.
    auto start = line.find_first_not_of(' ');
    if (start == std::string_view::npos) {
        return {};
    }
    std::size_t end = start;
    bool is_number = true;
    for (; end < line.size() && end - start < longest_label && is_word(line[end]); ++end) {
        is_number = is_number && line[end] >= '0' && line[end] <= '9';
    }
    const auto label = line.substr(start, end - start);
    const bool ends =
        end < line.size() && line[end] == ':' && (end + 1 == line.size() || line[end + 1] == ' ');
    if (label.empty() || !ends || (start > 0 && !is_number) || label == not_label) {
        return {};
    }
    line.remove_prefix(std::min(line.size(), end + 2));
    return label;
}

std::optional<KeyValue> split_key(std::string_view text, char separator) {
    const auto at = text.find(separator);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    return KeyValue{trim(text.substr(0, at)), trim(text.substr(at + 1))};
}

std::optional<double> number_in(std::string_view text) {
    text = trim(text);
    const bool starts =
        !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '-' || text[0] == '.');
    return starts ? training::leading_number(text) : std::nullopt;
}

std::string_view word_after(std::string_view text, std::string_view mark, std::string_view ends) {
    const auto at = text.find(mark);
    if (at == std::string_view::npos) {
        return {};
    }
    text.remove_prefix(at + mark.size());
    return text.substr(0, text.find_first_of(ends));
}

}  // namespace railhead::diagnose
