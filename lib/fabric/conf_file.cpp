#include "fabric/conf_file.hpp"

#include <algorithm>
#include <utility>

namespace railhead::fabric {

namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

bool is_blank(char c) {
    return blanks.find(c) != std::string_view::npos;
}

bool is_key_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
    return std::min(text.find_first_not_of(blanks, at), text.size());
}

std::size_t skip_word(std::string_view text, std::size_t at) {
    return std::min(text.find_first_of(blanks, at), text.size());
}

std::size_t skip_key(std::string_view text, std::size_t at) {
    while (at < text.size() && is_key_char(text[at])) {
        ++at;
    }
    return at;
}

/// The place of the "=" of a key that begins at `at`, allowing "Key =", "Key+="; npos when what
/// stands there is no key.
std::size_t find_equals(std::string_view text, std::size_t at) {
    const auto key_end = skip_key(text, at);
    auto equals = skip_blanks(text, key_end);
    if (equals < text.size() &&
        std::string_view{"+-*/"}.find(text[equals]) != std::string_view::npos) {
        ++equals;
    }
    const bool found = key_end > at && equals < text.size() && text[equals] == '=';
    return found ? equals : std::string_view::npos;
}

/// `line` up to its comment: the first "#" with an even number of backslashes before it.
std::string_view without_comment(std::string_view line) {
    std::size_t backslashes = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '#' && backslashes % 2 == 0) {
            return line.substr(0, i);
        }
        backslashes = line[i] == '\\' ? backslashes + 1 : 0;
    }
    return line;
}

/// Takes the backslash that continues `line` off it; false when there is none.
bool take_continuation(std::string_view& line) {
    const auto last = line.find_last_not_of(blanks);
    if (last == std::string_view::npos || line[last] != '\\') {
        return false;
    }
    const auto before = line.find_last_not_of('\\', last);
    const auto backslashes = before == std::string_view::npos ? last + 1 : last - before;
    if (backslashes % 2 == 0) {
        return false;
    }
    line = line.substr(0, last);
    return true;
}

}  // namespace

ConfReader::ConfReader(std::string_view text, std::string file)
    : rest_{text}, file_{std::move(file)} {}

/// Adds the next line of the file to logical_, escapes resolved; true when it is continued.
bool ConfReader::append_physical_line() {
    const auto end = std::min(rest_.find('\n'), rest_.size());
    auto line = without_comment(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_;
    const bool continued = take_continuation(line);
    unsigned column = 1;
    for (;;) {
        segments_.push_back({logical_.size(), line_, column});
        const auto backslash = line.find('\\');
        logical_ += line.substr(0, backslash);
        if (backslash == std::string_view::npos) {
            return continued;
        }
        logical_ += line.substr(backslash + 1, 1);
        const auto used = std::min(backslash + 2, line.size());
        column += static_cast<unsigned>(used);
        line.remove_prefix(used);
    }
}

void ConfReader::read_logical_line() {
    logical_.clear();
    segments_.clear();
    while (append_physical_line() && !rest_.empty()) {
    }
}

Position ConfReader::where(const ConfItem& item) const {
    return {file_, item.line, item.column};
}

/// An item, empty as yet, that begins at `offset` of logical_.
ConfItem ConfReader::item_at(std::size_t offset) const {
    const auto after = std::ranges::upper_bound(segments_, offset, {}, &Segment::offset);
    const auto& segment = *std::prev(after);
    ConfItem item;
    item.line = segment.line;
    item.column = segment.column + static_cast<unsigned>(offset - segment.offset);
    return item;
}

ConfItem ConfReader::take_item(std::size_t& at) const {
    const std::string_view line = logical_;
    ConfItem item = item_at(at);
    const auto equals = find_equals(line, at);
    if (equals == std::string_view::npos) {
        const auto end = skip_word(line, at);
        item.value = line.substr(at, end - at);
        at = end;
        return item;
    }
    item.key = line.substr(at, skip_key(line, at) - at);
    const auto start = skip_blanks(line, equals + 1);
    at = start;
    if (start > equals + 1 && !is_blank(line[equals - 1]) &&
        find_equals(line, start) != std::string_view::npos) {
        item.ambiguous = true;
        return item;
    }
    const auto quote = start < line.size() && line[start] == '"' ? line.find('"', start + 1)
                                                                 : std::string_view::npos;
    if (quote != std::string_view::npos &&
        (quote + 1 == line.size() || is_blank(line[quote + 1]))) {
        item.value = line.substr(start + 1, quote - start - 1);
        at = quote + 1;
        return item;
    }
    at = skip_word(line, start);
    item.value = line.substr(start, at - start);
    return item;
}

bool ConfReader::next(std::vector<ConfItem>& items) {
    items.clear();
    while (items.empty() && !rest_.empty()) {
        read_logical_line();
        for (auto at = skip_blanks(logical_, 0); at < logical_.size();
             at = skip_blanks(logical_, at)) {
            items.push_back(take_item(at));
        }
    }
    return !items.empty();
}

}  // namespace railhead::fabric
