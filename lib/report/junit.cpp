#include "report/junit.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

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

std::string escaped(std::string_view text) {
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

}  // namespace

std::string junit_xml(const std::string& suite, std::span<const TestCase> cases) {
    const auto failed = [](const TestCase& test) { return !test.failure.empty(); };
    const auto name = escaped(suite);
    auto out = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\">\n",
        name, cases.size(), std::ranges::count_if(cases, failed));
    for (const auto& test : cases) {
        out += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", name, escaped(test.name));
        out += failed(test) ? fmt::format(
                                  ">\n      <failure message=\"{}\">{}</failure>\n"
                                  "    </testcase>\n",
                                  escaped(test.failure), escaped(test.details))
                            : "/>\n";
    }
    return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace railhead::report
