#include "report/junit.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace railhead::report;

TEST_CASE("results become JUnit XML", "[junit]") {
    const std::vector<TestCase> cases{
        {"good.sbatch", "", ""},
        {"bad.sbatch", "differs from bad.expected", "--- a\n+++ b\n-1 < 2 && \"x\"\n"}};

    CHECK(junit_xml("railhead policy test", cases) ==
          R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="railhead policy test" tests="2" failures="1" errors="0" skipped="0">
    <testcase classname="railhead policy test" name="good.sbatch"/>
    <testcase classname="railhead policy test" name="bad.sbatch">
      <failure message="differs from bad.expected">--- a
+++ b
-1 &lt; 2 &amp;&amp; &quot;x&quot;
</failure>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST_CASE("what XML cannot hold becomes a question mark", "[junit]") {
    struct Case {
        std::string why, text, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"control characters", "a\x1b[31m\x01", "a?[31m?"},
        {"tab and line end may stay", "a\tb\n", "a\tb\n"},
        {"UTF-8 stays", "µs — 学", "µs — 学"},
        {"a byte that is no UTF-8", "caf\xe9!", "caf?!"},
        {"a character cut short", "x\xe2\x82", "x??"},
        {"an overlong one", "\xc0\xaf", "??"},
        {"a surrogate", "\xed\xa0\x80", "???"},
        {"beyond Unicode", "\xf4\x90\x80\x80", "????"},
        {"a number that is no character", "\xef\xbf\xbf", "???"},
    }));
    CAPTURE(c.why);

    const auto xml = junit_xml("s", std::vector<TestCase>{{"t", "f", c.text}});

    CHECK_THAT(xml, ContainsSubstring("<failure message=\"f\">" + c.expected + "</failure>"));
}
