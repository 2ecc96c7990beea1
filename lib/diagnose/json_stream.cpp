#include "diagnose/json_stream.hpp"

namespace railhead::diagnose {

namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool ends_word(char c) {
    return is_blank(c) || c == ',' || c == '}' || c == ']' || c == ':' || c == '{' || c == '[' ||
           c == '"';
}

/// -1 for what is no hexadecimal digit.
int digit_of(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

void JsonStream::feed(std::string_view piece) {
    std::size_t at = 0;
    while (at < piece.size() && !broken_) {
        if (state_ == State::text) {
            // The bulk of a file is within texts.
            const auto end = piece.find_first_of("\"\\\n", at);
            const auto part = piece.substr(at, end == std::string_view::npos ? end : end - at);
            token_.append(part.substr(0, longest - token_.size()));
            at += part.size();
            if (at == piece.size()) {
                return;
            }
        }
        take(piece[at]);
        ++at;
    }
}

void JsonStream::finish() {
    if (!broken_ && state_ == State::word) {
        end_word();
    }
}

void JsonStream::take(char c) {
    line_ += c == '\n' ? 1 : 0;
    switch (state_) {
        case State::text:
            if (c == '"') {
                end_text();
            } else if (c == '\\') {
                state_ = State::escape;
            } else {
                append(c);
            }
            return;
        case State::escape:
            take_escape(c);
            return;
        case State::unicode:
            take_unicode(c);
            return;
        case State::word:
            if (!ends_word(c)) {
                append(c);
                return;
            }
            end_word();
            take_between(c);
            return;
        case State::between:
            take_between(c);
            return;
    }
}

void JsonStream::take_between(char c) {
    if (is_blank(c)) {
        return;
    }
    if (c == '{' || c == '[') {
        if (open_.size() == deepest || (began_ && open_.empty())) {
            broken_ = true;
            return;
        }
        began_ = true;
        open_.push_back(c == '{');
        expects_key_ = c == '{';
        handler_.begin(c == '{');
        return;
    }
    if (open_.empty()) {
        broken_ = true;  // a document is an object or a list, and nothing follows it
        return;
    }
    if (c == '}' || c == ']') {
        close(c == '}');
    } else if (c == ',') {
        expects_key_ = open_.back();
    } else if (c == '"') {
        token_.clear();
        state_ = State::text;
    } else if (c != ':') {
        token_.assign(1, c);
        state_ = State::word;
    }
}

void JsonStream::close(bool is_object) {
    if (open_.back() != is_object) {
        broken_ = true;
        return;
    }
    open_.pop_back();
    expects_key_ = false;
    handler_.end();
}

void JsonStream::end_text() {
    state_ = State::between;
    if (expects_key_) {
        expects_key_ = false;
        handler_.key(token_);
    } else {
        handler_.value(token_, true);
    }
}

void JsonStream::end_word() {
    state_ = State::between;
    if (expects_key_) {
        broken_ = true;  // a key is a text
        return;
    }
    handler_.value(token_, false);
}

void JsonStream::append(char c) {
    if (token_.size() < longest) {
        token_ += c;
    }
}

void JsonStream::take_escape(char c) {
    state_ = State::text;
    switch (c) {
        case 'n':
            append('\n');
            return;
        case 't':
            append('\t');
            return;
        case 'r':
        case 'b':
        case 'f':
            append(' ');
            return;
        case 'u':
            state_ = State::unicode;
            digits_ = 0;
            code_ = 0;
            return;
        default:
            append(c);
    }
}

/// UTF-8 of a character of the basic plane; halves of a pair are shown as "?".
void JsonStream::take_unicode(char c) {
    const int digit = digit_of(c);
    if (digit < 0) {
        broken_ = true;
        return;
    }
    code_ = code_ * 16 + static_cast<std::uint32_t>(digit);
    if (++digits_ < 4) {
        return;
    }
    state_ = State::text;
    const auto byte = [this](std::uint32_t value) { append(static_cast<char>(value)); };
    if (code_ < 0x80) {
        byte(code_);
    } else if (code_ < 0x800) {
        byte(0xC0U | (code_ >> 6U));
        byte(0x80U | (code_ & 0x3FU));
    } else if (code_ >= 0xD800 && code_ <= 0xDFFF) {
        byte('?');
    } else {
        byte(0xE0U | (code_ >> 12U));
        byte(0x80U | ((code_ >> 6U) & 0x3FU));
        byte(0x80U | (code_ & 0x3FU));
    }
}

}  // namespace railhead::diagnose
