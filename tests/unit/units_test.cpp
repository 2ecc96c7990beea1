#include "job/units.hpp"

#include <string>

#include "job/request.hpp"
#include "support/catch.hpp"

using namespace railhead;

TEST_CASE("what is no time is refused", "[units]") {
    const auto text =
        GENERATE(as<std::string>{}, "", "x", "1h", ":", ":5", "5:", "1::2", "1:2:3:4", "-", "-5",
                 "1-2-3", "1-:5", "1-x", " 5", "5 ", "1.5", "99999999999", "4294967295-0", "--1");
    CAPTURE(text);

    CHECK_FALSE(job::parse_minutes(text));
}

TEST_CASE("the longest time is still no unlimited one", "[units]") {
    CHECK(job::parse_minutes("4294967294") == 4294967294U);
    CHECK_FALSE(job::parse_minutes("4294967295"));
    CHECK(job::parse_seconds("UNLIMITED") == job::no_time_limit);
}

TEST_CASE("what is no size is refused", "[units]") {
    const auto text = GENERATE(as<std::string>{}, "", "x", "G", "1.5G", "-1", "16GiB", "16Gx",
                               "1 G", " 1", "18446744073709551616", "18446744073709551615G", "1P");
    CAPTURE(text);

    CHECK_FALSE(job::parse_megabytes(text));
}

TEST_CASE("kilobytes are rounded up without overflow", "[units]") {
    CHECK(job::parse_megabytes("1k") == 1);
    CHECK(job::parse_megabytes("1024K") == 1);
    CHECK(job::parse_megabytes("1025KB") == 2);
    CHECK(job::parse_megabytes("18446744073709551615k") == 18014398509481984U);
}
