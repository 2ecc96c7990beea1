#include "node/topo_m_text.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace railhead::node {

namespace {

constexpr char escape = '\x1b';

/// How long the control sequence at the front is behind its "[": digits and semicolons, then a
/// letter.  0 when it is none.
std::size_t sequence_length(std::string_view text) {
    const auto end = text.find_first_not_of("0123456789;?");
    const bool letter = end != std::string_view::npos && ((text[end] >= 'A' && text[end] <= 'Z') ||
                                                          (text[end] >= 'a' && text[end] <= 'z'));
    return letter ? end + 1 : 0;
}

/// How many characters at the front of `text` are a terminal's.
std::size_t control_length(std::string_view text) {
    for (const std::string_view start : {"\x1b[", "^[["}) {
        if (text.starts_with(start)) {
            return start.size() + sequence_length(text.substr(start.size()));
        }
    }
    if (text[0] == escape) {
        return std::min<std::size_t>(text.size(), 2);
    }
    if (text[0] == '[') {  // only colours: other text may well have brackets
        const auto length = sequence_length(text.substr(1));
        return length > 1 && text[length] == 'm' ? length + 1 : 0;
    }
    return text[0] == '\r' ? 1 : 0;
}

}  // namespace

std::string without_terminal(std::string_view text) {
    constexpr std::string_view hard_blank = "\xc2\xa0";
    std::string plain;
    plain.reserve(text.size());
    while (!text.empty()) {
        if (const auto length = control_length(text); length > 0) {
            text.remove_prefix(length);
        } else if (text.starts_with(hard_blank)) {
            plain += ' ';
            text.remove_prefix(hard_blank.size());
        } else {
            plain += text[0];
            text.remove_prefix(1);
        }
    }
    return plain;
}

std::vector<TopoWord> words_of(std::string_view text) {
    std::vector<TopoWord> words;
    for (const auto word : split_words(text)) {
        words.push_back({word, static_cast<std::size_t>(word.data() - text.data())});
    }
    return words;
}

}  // namespace railhead::node
