// Sets of nodes, against counting them one by one.
#include "policy/node_set.hpp"

#include "support/catch.hpp"

using railhead::policy::NodeSet;

TEST_CASE("a set counts its nodes, all and from one to another, across its words", "[node_set]") {
    constexpr std::uint32_t nodes = 200;
    NodeSet every{nodes};
    NodeSet third{nodes};
    for (std::uint32_t node = 0; node < nodes; ++node) {
        every.add(node);
        if (node % 3 == 0) {
            third.add(node);
        }
    }
    CHECK(every.count() == nodes);
    CHECK(third.count() == 67);
    for (std::uint32_t first = 0; first < nodes; ++first) {
        std::size_t expected = 0;
        for (std::uint32_t last = first; last < nodes; ++last) {
            expected += third.contains(last) ? 1 : 0;
            CAPTURE(first, last);
            REQUIRE(third.count(first, last) == expected);
            REQUIRE(every.count(first, last) == last - first + 1);
        }
    }
}
