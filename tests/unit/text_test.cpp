#include "base/text.hpp"

#include <limits>
#include <string>

#include "support/catch.hpp"

using namespace railhead;
using Words = std::vector<std::string_view>;

TEST_CASE("trim takes blanks off both ends and leaves the middle", "[text]") {
    const auto [text, expected] = GENERATE(table<std::string, std::string>({
        {" a b ", "a b"},
        {"\t\r\na\f\v", "a"},
        {"a", "a"},
        {"   ", ""},
        {"", ""},
    }));
    CAPTURE(text);

    CHECK(trim(text) == expected);
}

TEST_CASE("split keeps empty parts", "[text]") {
    CHECK(split("a,,b", ',') == Words{"a", "", "b"});
    CHECK(split("a", ',') == Words{"a"});
    CHECK(split("", ',') == Words{""});
    CHECK(split(",", ',') == Words{"", ""});
}

TEST_CASE("split_words knows no empty word", "[text]") {
    CHECK(split_words("  a \t b\n") == Words{"a", "b"});
    CHECK(split_words(" \n").empty());
    CHECK(split_words("").empty());
}

TEST_CASE("a number is the whole text or nothing", "[text]") {
    CHECK(parse_number<int>("-12") == -12);
    CHECK(parse_number<unsigned>("12") == 12U);
    CHECK(parse_number<std::uint8_t>("255") == std::uint8_t{255});
    CHECK_FALSE(parse_number<std::uint8_t>("256"));
    CHECK_FALSE(parse_number<unsigned>("-1"));
    CHECK_FALSE(parse_number<int>("12x"));
    CHECK_FALSE(parse_number<int>(" 12"));
    CHECK_FALSE(parse_number<int>("+12"));
    CHECK_FALSE(parse_number<int>(""));
}

TEST_CASE("case is ignored for ASCII only", "[text]") {
    CHECK(equals_ignoring_case("NodeName", "nodename"));
    CHECK_FALSE(equals_ignoring_case("NodeName", "nodenam"));
    CHECK_FALSE(equals_ignoring_case("\xc3\x84", "\xc3\xa4"));
}

TEST_CASE("the nearest name is within a third of the length, or there is none", "[text]") {
    constexpr std::string_view names[] = {"nodes", "ntasks", "gres"};
    CHECK(nearest_name("nodez", names) == "nodes");
    CHECK(nearest_name("NTASK", names) == "ntasks");
    CHECK_FALSE(nearest_name("partition", names));
    CHECK_FALSE(nearest_name("", {}));
}

TEST_CASE("a count has its plural", "[text]") {
    CHECK(count_of(1, "node") == "1 node");
    CHECK(count_of(0, "node") == "0 nodes");
    CHECK(count_of(2, "switch") == "2 switches");
}

TEST_CASE("a time is said as people say it", "[text]") {
    const auto [seconds, expected] = GENERATE(table<std::uint64_t, std::string>({
        {0, "0 min"},
        {90, "90 s"},
        {119, "119 s"},
        {120, "2 min"},
        {150, "2 min 30 s"},
        {2592, "43 min"},
        {3600, "1 h"},
        {5400, "1 h 30 min"},
        {47 * 3600, "47 h"},
        {48 * 3600, "2 d"},
        {49 * 3600, "2 d 1 h"},
    }));
    CAPTURE(seconds);

    CHECK(duration_text(seconds) == expected);
}

TEST_CASE("text from outside cannot move the cursor or begin a line", "[text]") {
    CHECK(printable("a\nb\x1b[2J\x7f\tc") == "a?b?[2J?\tc");
    CHECK(printable(std::string_view{"\0", 1}) == "?");
    CHECK(printable("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
}
