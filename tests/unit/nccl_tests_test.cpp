#include "fabric/nccl_tests.hpp"

#include <string>

#include "support/catch.hpp"

namespace fabric = railhead::fabric;
using fabric::NcclTests;
using fabric::parse_nccl_tests;

namespace {

struct Case {
    const char* why;
    std::string line;
    double bytes, time_us, busbw;
};

NcclTests read(const std::string& text) {
    auto tests = parse_nccl_tests(text, "out.txt");
    REQUIRE(tests);
    return *tests;
}

}  // namespace

TEST_CASE("a row is read in the columns of any release, whatever stands before it",
          "[nccl-tests]") {
    const auto c = GENERATE(values<Case>({
        {"as it is printed",
         " 1048576  262144  float  sum  -1  309.4  3.39  6.35  0  307.3  3.41  6.40  0", 1048576,
         309.4, 6.35},
        {"no root, errors instead of #wrong",
         "8 2 float sum 2193.5 0.00 0.00 2e-07 132.2 0.00 0.00 2e-07", 8, 2193.5, 0},
        {"no operation: all-gather of old releases",
         "8589934592 268435456 float 33646 255.31 223.39 N/A 32669 262.94 230.07 N/A", 8589934592,
         33646, 223.39},
        {"a label of srun", "0:  8 2 float sum -1 164.3 0.00 0.01 0 163.3 0.00 0.00 0", 8, 164.3,
         0.01},
        {"a padded label", " 12: 8 2 float sum -1 164.3 0.00 0.01 0 163.3 0.00 0.00 0", 8, 164.3,
         0.01},
        {"a tag of mpirun, and blanks after the row",
         "   [1,0]<stdout>: 8 2 float sum -1 12.9 0.00 0.02 0 12.8 0.00 0.00 0        ", 8, 12.9,
         0.02},
        {"colours", "\x1b[32m8 2 float sum -1 12.9 0.00 0.02 0 12.8 0.00 0.00 0\x1b[0m", 8, 12.9,
         0.02},
        {"cut off after the first half", "8 2 float sum -1 12.9 0.00 0.02 0", 8, 12.9, 0.02},
        {"a DOS line end", "8 2 float sum -1 12.9 0.00 0.02 0 12.8 0.00 0.00 0\r", 8, 12.9, 0.02},
        {"another type", "8 4 bfloat16 sum -1 12.9 0.00 0.02 0 12.8 0.00 0.00 0", 8, 12.9, 0.02},
    }));
    CAPTURE(c.why);
    const auto tests = read(c.line + "\n");
    REQUIRE(tests.rows.size() == 1);
    CHECK(tests.rows[0].bytes == c.bytes);
    CHECK(tests.rows[0].time_us == c.time_us);
    CHECK(tests.rows[0].busbw_gb_per_s == c.busbw);
    CHECK(tests.rows[0].in_place_us.has_value() ==
          (c.why != std::string{"cut off after the first half"}));
}

TEST_CASE("lines that are no rows are passed over", "[nccl-tests]") {
    const std::string row = "8 2 float sum -1 12.9 0.00 0.02 0 12.8 0.00 0.00 0\n";
    const auto line = GENERATE(
        as<std::string>{}, "node-04:2017630:2017630 [2] NCCL INFO comm 0x8dd01c0 rank 2",
        "0 0 float none -1 0.30 0.00 0.00 0 0.26 0.00 0.00 0", "1 2 3 4 5 6 7 8 9 10 11 12 13",
        "8 2 float sum -1 x 0.00 0.02 0 12.8 0.00 0.00 0", "\x1b[", "0:", "#  size  count  type");
    CAPTURE(line);
    CHECK(read(row + line + "\n" + row).rows.size() == 2);
}

TEST_CASE("the header and the footer are read", "[nccl-tests]") {
    const auto tests = read(
        "#  Rank  0 Group  0 Pid   2114 on a device  0 [0000:8f:00] NVIDIA B200\n"
        "#  Rank  1 Group  0 Pid   2113 on a device  1 [0000:90:00] NVIDIA B200\n"
        "#  Rank  2 Group  0 Pid   2115 on b device  0 [0000:8f:00] NVIDIA B200\n"
        "NCCL version 2.26.6+cuda12.8\n"
        "...\n"
        "67108864 8388608 float none -1 100.1 670.29 335.14 3 92.39 726.37 363.19 1\n"
        "# Avg bus bandwidth    : 487.265\n");
    CHECK(tests.ranks == 3);
    CHECK(tests.hosts == 2);
    CHECK(tests.device == "NVIDIA B200");
    CHECK(tests.nccl_version == "2.26.6+cuda12.8");
    CHECK(tests.is_shortened);
    CHECK(tests.wrong() == 4);
    CHECK(tests.average_busbw_gb_per_s == 487.265);
    CHECK(tests.largest()->bytes == 67108864);
}

TEST_CASE("what is no output of nccl-tests is refused, and NCCL 1's by its name", "[nccl-tests]") {
    struct Refused {
        std::string text;
        const char* says;
    };
    const auto c = GENERATE(values<Refused>({
        {"", "no output of nccl-tests"},
        {"hello\n", "no output of nccl-tests"},
        {"       N    type      op     time  algbw  busbw\n10000000 char sum 0.886 11.28 11.28\n",
         "the format of NCCL 1's tests, with times in ms"},
    }));
    const auto tests = parse_nccl_tests(c.text, "out.txt");
    REQUIRE(!tests);
    CHECK(tests.error().where.file == "out.txt");
    CHECK_THAT(tests.error().message, ContainsSubstring(c.says));
}
