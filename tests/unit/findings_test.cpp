#include <fmt/format.h>

#include "rails/findings.hpp"
#include "support/catch.hpp"

namespace rails = railhead::rails;
using rails::Finding;
using rails::Severity;

namespace {

Finding fault(std::string nic, std::string what) {
    return {Severity::fault, std::move(nic), std::move(what), "look at it"};
}

std::vector<Finding> ports_down(unsigned count) {
    std::vector<Finding> findings;
    for (unsigned i = 0; i < count; ++i) {
        findings.push_back(fault(fmt::format("mlx5_{}", i), "port 1 down"));
    }
    return findings;
}

}  // namespace

TEST_CASE("the line for a drain has every fault that fits, and counts the rest", "[health]") {
    const std::vector<Finding> two{fault("mlx5_3", "port 1 down"),
                                   fault("mlx5_5", "200 of 400 Gb/s")};
    CHECK(rails::health_line({}).empty());
    CHECK(rails::health_line(two) == "mlx5_3 port 1 down; mlx5_5 200 of 400 Gb/s");
    CHECK(rails::health_line({fault("", "7 of 8 GPUs")}) == "7 of 8 GPUs");
    CHECK(rails::health_line(ports_down(20), false, 60) ==
          "mlx5_0 port 1 down; mlx5_1 port 1 down; 18 more");
    for (unsigned count = 1; count < 120; ++count) {
        CAPTURE(count);
        CHECK(rails::health_line(ports_down(count)).size() <= 180);
    }
}

TEST_CASE("a line that just fits is not cut", "[health]") {
    const auto whole = rails::health_line(ports_down(3), false, 1000);
    CHECK(rails::health_line(ports_down(3), false, whole.size()) == whole);
    CHECK_THAT(rails::health_line(ports_down(3), false, whole.size() - 1),
               ContainsSubstring("more"));
}

TEST_CASE("advice is in the line for those who want it", "[health]") {
    const std::vector<Finding> findings{{Severity::advice, "", "no rails", "look"},
                                        fault("mlx5_0", "missing")};
    CHECK(rails::health_line(findings) == "mlx5_0 missing");
    CHECK(rails::health_line(findings, true) == "no rails; mlx5_0 missing");
}

TEST_CASE("nothing in a finding starts a second line", "[health]") {
    CHECK(rails::health_line({fault("mlx5_0", "down\nState=IDLE")}) == "mlx5_0 down?State=IDLE");
}

TEST_CASE("findings survive the way through the pipe", "[health][wire]") {
    const std::vector<Finding> findings{fault("mlx5_0", "port 1 down"),
                                        {Severity::advice, "", "no rails", "load the driver"}};
    CHECK(*rails::findings_from_wire(rails::to_wire(findings)) == findings);
    CHECK(rails::findings_from_wire(rails::to_wire({}))->empty());
}

TEST_CASE("findings cut anywhere are refused", "[health][wire][errors]") {
    const auto text = rails::to_wire(ports_down(2));
    for (std::size_t length = 0; length < text.size(); ++length) {
        CAPTURE(length);
        CHECK_FALSE(rails::findings_from_wire(text.substr(0, length)));
    }
    CHECK_FALSE(rails::findings_from_wire("railhead-findings\t1\nworry\ta\tb\tc\nend\n"));
}
