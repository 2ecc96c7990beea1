#include "base/cpu_set.hpp"

#include <string>

#include "support/catch.hpp"

using namespace railhead;

TEST_CASE("the kernel's lists are read and written back", "[cpu_set]") {
    const auto [text, expected] = GENERATE(table<std::string, std::string>({
        {"", ""},
        {"0", "0"},
        {"0-3", "0-3"},
        {"0-15,64-79", "0-15,64-79"},
        {"3,1,2", "1-3"},
        {"0,2,4", "0,2,4"},
        {"0-1,1-2", "0-2"},
        {"63,64", "63-64"},
        {"65535", "65535"},
        {"0-3\n", "0-3"},
    }));
    CAPTURE(text);

    const auto set = parse_cpu_list(text);

    REQUIRE(set);
    CHECK(to_string(*set) == expected);
}

TEST_CASE("what is no CPU list is refused", "[cpu_set]") {
    const auto text = GENERATE(as<std::string>{}, "x", "1-", "-1", "3-1", "1,", ",", "0x1", "65536",
                               "0-65536", "0-99999999999999999999", "1 2");
    CAPTURE(text);

    const auto set = parse_cpu_list(text);

    REQUIRE_FALSE(set);
    CHECK(set.error().code == Errc::bad_input);
}

TEST_CASE("sets are combined element by element, whatever their lengths", "[cpu_set]") {
    const auto small = parse_cpu_list("0-3").value();
    const auto large = parse_cpu_list("2-5,200").value();

    CHECK(to_string(small & large) == "2-3");
    CHECK(to_string(large & small) == "2-3");
    CHECK(to_string(small | large) == "0-5,200");
    CHECK(to_string(large - small) == "4-5,200");
    CHECK((small - small).empty());
}

TEST_CASE("equal sets are equal however they came about", "[cpu_set]") {
    CpuSet set;
    set.add(1);
    set.add(1000);
    set.remove(1000);
    set.remove(5000);

    CHECK(set == parse_cpu_list("1").value());
    CHECK(set.size() == 1);
    CHECK(set.contains(1));
    CHECK_FALSE(set.contains(1000));
    CHECK_FALSE(set.contains(CpuSet::limit));
}

TEST_CASE("a CPU beyond the limit is not taken", "[cpu_set]") {
    CpuSet set;
    set.add(CpuSet::limit);
    CHECK(set.empty());
    set.add(CpuSet::limit - 1);
    CHECK(set.size() == 1);
}

TEST_CASE("sets meet where a CPU is in both", "[cpu_set]") {
    const auto low = railhead::parse_cpu_list("0-3").value();
    CHECK(low.meets(railhead::parse_cpu_list("3,200").value()));
    CHECK_FALSE(low.meets(railhead::parse_cpu_list("4-7").value()));
    CHECK_FALSE(low.meets(railhead::parse_cpu_list("64-67").value()));
    CHECK_FALSE(low.meets({}));
}

TEST_CASE("a set and the mask of a system call are the same", "[cpu_set]") {
    const auto set = railhead::parse_cpu_list("0,63-64,130").value();
    const auto mask = railhead::to_mask(set);
    CHECK(mask == std::vector<unsigned long>{(1UL << 63U) | 1UL, 1UL, 4UL});
    CHECK(railhead::from_mask(mask) == set);
    CHECK(railhead::from_mask({}).empty());
    CHECK(railhead::to_mask({}).empty());
    const std::vector<unsigned long> wide(64, 0);  // as the kernel hands it over
    CHECK(railhead::from_mask(wide).empty());
}
