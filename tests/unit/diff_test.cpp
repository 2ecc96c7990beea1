#include "report/diff.hpp"

#include <string>

#include "support/catch.hpp"

using railhead::report::unified_diff;

namespace {

/// "1\n2\n…": lines of numbers.
std::string numbers(int first, int last) {
    std::string text;
    for (int i = first; i <= last; ++i) {
        text += std::to_string(i) + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("a diff is what diff -u prints", "[diff]") {
    struct Case {
        std::string why, before, after, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"equal texts have none", "a\nb\n", "a\nb\n", ""},
        {"a changed line", "a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
        {"all new", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
        {"all gone", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
        {"three lines of context", numbers(1, 9), numbers(1, 4) + "x\n" + numbers(6, 9),
         "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
        {"changes that are near share a hunk", numbers(1, 12), "x\n" + numbers(2, 7) + "y\n" + numbers(9, 12),
         "@@ -1,11 +1,11 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n 9\n 10\n 11\n"},
        {"changes far from each other do not", numbers(1, 9), "x\n" + numbers(2, 8) + "y\n",
         "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n"},
        {"a line put in between repeated ones", "a\na\n", "a\nb\na\n", "@@ -1,2 +1,3 @@\n a\n+b\n a\n"},
        {"no line end at the end", "a", "b", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
    }));
    CAPTURE(c.why);

    const auto diff = unified_diff("old", c.before, "new", c.after);

    CHECK(diff == (c.expected.empty() ? "" : "--- old\n+++ new\n" + c.expected));
}

TEST_CASE("texts too long to compare line by line replace one another", "[diff]") {
    const auto diff = unified_diff("old", numbers(1, 5000), "new", numbers(5001, 10000));
    CHECK(diff.starts_with("--- old\n+++ new\n@@ -1,5000 +1,5000 @@\n-1\n-2\n"));
    CHECK(diff.ends_with("+9999\n+10000\n"));
}
