#include "report/junit.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "report/xml_text.hpp"

namespace railhead::report {

std::string junit_xml(const std::string& suite, std::span<const TestCase> cases) {
    const auto failed = [](const TestCase& test) { return !test.failure.empty(); };
    const auto name = escape_xml(suite);
    auto out = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\">\n",
        name, cases.size(), std::ranges::count_if(cases, failed));
    for (const auto& test : cases) {
        out += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", name, escape_xml(test.name));
        out += failed(test) ? fmt::format(
                                  ">\n      <failure message=\"{}\">{}</failure>\n"
                                  "    </testcase>\n",
                                  escape_xml(test.failure), escape_xml(test.details))
                            : "/>\n";
    }
    return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace railhead::report
