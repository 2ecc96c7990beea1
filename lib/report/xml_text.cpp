#include "report/xml_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace railhead::report {

namespace {

/// The bytes of the UTF-8 character at the start of `text`; 0 when there is none that XML takes.
std::size_t character_size(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const auto lead = byte(0);
    if (lead < 0x80) {
        return lead >= 0x20 || lead == '\t' || lead == '\n' ? 1 : 0;
    }
    const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < size) {
        return 0;
    }
    std::uint32_t code = lead & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) {
            return 0;
        }
        code = (code << 6U) | (byte(i) & 0x3fU);
    }
    const bool overlong = code < (size == 4 ? 0x10000U : size == 3 ? 0x800U : 0x80U);
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return overlong || surrogate || code > 0x10ffff || code == 0xfffe || code == 0xffff ? 0 : size;
}

}  // namespace

std::string escape_xml(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto size = character_size(text);
        switch (text.front()) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += size == 0 ? "?" : text.substr(0, size);
        }
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return out;
}

}  // namespace railhead::report
