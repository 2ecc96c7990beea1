// Test results as JUnit XML, which CI systems read.
#pragma once

#include <span>
#include <string>

namespace railhead::report {

struct TestCase {
    std::string name;
    std::string failure;  ///< one line: why it failed; empty: it passed
    std::string details;  ///< of a failure, several lines
};

/// One <testsuite> named `suite` in <testsuites>.  No time and no host: equal results are equal
/// files.  What XML 1.0 cannot hold (control characters, bytes that are no UTF-8) becomes "?".
[[nodiscard]] std::string junit_xml(const std::string& suite, std::span<const TestCase> cases);

}  // namespace railhead::report
