#include "job/quantity.hpp"

#include <string>

#include "support/catch.hpp"

namespace job = railhead::job;
using Catch::Matchers::WithinRel;

namespace {

struct Case {
    std::string text;
    double expected;
};

}  // namespace

TEST_CASE("times with a unit or a clock are seconds", "[units]") {
    const auto c = GENERATE(values<Case>({
        {"90s", 90},
        {"5m", 300},
        {"5min", 300},
        {"1.5h", 5400},
        {"2d", 172800},
        {"250ms", 0.25},
        {"35us", 35e-6},
        {"1e3s", 1000},
        {"1e-3s", 0.001},
        {"5 min", 300},
        {"0s", 0},
        {"1:30:00", 5400},
        {"90:00", 5400},
        {"1-12:30:15", 131415},
        {"7-0", 604800},
    }));
    CAPTURE(c.text);
    REQUIRE(job::parse_duration_s(c.text));
    CHECK_THAT(*job::parse_duration_s(c.text), WithinRel(c.expected, 1e-12));
}

TEST_CASE("what is no time, or may be two, is refused", "[units]") {
    const auto text = GENERATE(as<std::string>{}, "", "5", "300", "5x", "m", "s5", "5 m s", "5m3s",
                               "inf", "infs", "nan", "nans", "1e400s", "1:2:3:4", ":", "1:", "-1",
                               "-", "UNLIMITED", "5M", "0x10s", "+5s", "5m ago");
    CAPTURE(text);
    CHECK_FALSE(job::parse_duration_s(text));
}

TEST_CASE("a negative time is read, for who takes it to refuse", "[units]") {
    CHECK(job::parse_duration_s("-5s") == -5.0);
}

TEST_CASE("amounts may be written short", "[units]") {
    const auto c = GENERATE(values<Case>({{"70B", 70e9},
                                          {"70e9", 70e9},
                                          {"350M", 350e6},
                                          {"1.8T", 1.8e12},
                                          {"7G", 7e9},
                                          {"12", 12},
                                          {"12k", 12000},
                                          {"405853069312", 405853069312}}));
    CAPTURE(c.text);
    CHECK(job::parse_amount(c.text) == c.expected);
}

TEST_CASE("sizes have their unit, and bandwidths theirs or GB/s", "[units]") {
    CHECK(job::parse_bytes("912GB") == 912e9);
    CHECK(job::parse_bytes("5.29 TB") == 5.29e12);
    CHECK(job::parse_bytes("1GiB") == 1073741824.0);
    CHECK(job::parse_bandwidth("5") == 5e9);
    CHECK(job::parse_bandwidth("2TB/s") == 2e12);
    CHECK(job::parse_bandwidth("400Gb/s") == 50e9);
    for (const std::string text : {"912", "912G", "912gb", "1 e9", "GB", "", "5GB/h"}) {
        CAPTURE(text);
        CHECK_FALSE(job::parse_bytes(text));
    }
    for (const std::string text : {"", "5GB", "5GBps", "5 gb/s", "inf", "5b"}) {
        CAPTURE(text);
        CHECK_FALSE(job::parse_bandwidth(text));
    }
    for (const std::string text : {"", "B", "7b", "70BB", "nan", "1e999"}) {
        CAPTURE(text);
        CHECK_FALSE(job::parse_amount(text));
    }
}
