// When the clock calls: ticks, the last checkpoint, and what a wall clock can do to both.
#include "checkpoint/clock.hpp"

#include <cstdint>
#include <optional>
#include <vector>

#include "support/catch.hpp"

using railhead::checkpoint::Clock;
using railhead::checkpoint::Due;
using railhead::checkpoint::first_deadline_s;

namespace {

constexpr std::int64_t s = 1000;  // milliseconds
constexpr std::int64_t noon = 1'796'040'000;

/// The seconds of each call until `until_s`, looking when the clock asks to be looked at.
std::vector<std::int64_t> calls(Clock& clock, std::int64_t from_s, std::int64_t until_s) {
    std::vector<std::int64_t> found;
    for (auto now = from_s * s; now <= until_s * s;) {
        if (clock.take(now) != Due::nothing) {
            found.push_back(now / s);
        }
        const auto next = clock.next_ms(now);
        if (!next) {
            break;
        }
        REQUIRE(*next > now);  // or the clock would never sleep
        now = *next;
    }
    return found;
}

}  // namespace

TEST_CASE("a job with less left than the lead saves half way to its end", "[checkpoint][clock]") {
    CHECK(first_deadline_s(noon, 120, noon - 3600) == noon - 120);
    CHECK(first_deadline_s(noon, 120, noon - 121) == noon - 120);
    CHECK(first_deadline_s(noon, 120, noon - 120) == noon - 60);
    CHECK(first_deadline_s(noon, 600, noon - 120) == noon - 60);  // a limit of two minutes
    CHECK(first_deadline_s(noon, 120, noon - 1) == noon - 1);
    CHECK(first_deadline_s(noon, 120, noon + 5) == noon - 120);  // over: of no use
}

TEST_CASE("ticks are multiples of the interval, whenever a clock was started",
          "[checkpoint][clock]") {
    for (const std::int64_t started : {noon + 1, noon + 17, noon + 59}) {
        CAPTURE(started);
        Clock clock{60, 120, started * s};
        CHECK(calls(clock, started, noon + 200) ==
              std::vector<std::int64_t>{noon + 60, noon + 120, noon + 180});
    }
}

TEST_CASE("a clock that is started at a tick waits for the next", "[checkpoint][clock]") {
    Clock clock{60, 0, noon * s};
    CHECK(clock.take(noon * s) == Due::nothing);
    CHECK(clock.next_ms(noon * s) == (noon + 60) * s);
}

TEST_CASE("a tick is given once, however often the clock is looked at", "[checkpoint][clock]") {
    Clock clock{60, 0, noon * s};
    CHECK(clock.take((noon + 60) * s) == Due::tick);
    CHECK(clock.take((noon + 60) * s) == Due::nothing);
    CHECK(clock.take((noon + 61) * s) == Due::nothing);
}

TEST_CASE("without an interval there is the last call alone, without both nothing",
          "[checkpoint][clock]") {
    Clock clock{0, 120, noon * s};
    CHECK(clock.next_ms(noon * s) == std::nullopt);
    clock.set_deadline(noon + 90, noon * s);
    CHECK(clock.next_ms(noon * s) == (noon + 90) * s);
    CHECK(clock.take((noon + 90) * s) == Due::last);
    CHECK(clock.next_ms((noon + 90) * s) == std::nullopt);
}

TEST_CASE("the last call comes once, and no tick between it and the end", "[checkpoint][clock]") {
    Clock clock{60, 120, noon * s};
    clock.set_deadline(noon + 90, noon * s);
    // Ticks at 120 and 180 would find the last checkpoint being written, or begin one that the end
    // of the job, at 210, cuts off.
    CHECK(calls(clock, noon, noon + 200) == std::vector<std::int64_t>{noon + 60, noon + 90});
}

TEST_CASE("a tick at the deadline is the last call", "[checkpoint][clock]") {
    Clock clock{60, 120, noon * s};
    clock.set_deadline(noon + 60, noon * s);
    CHECK(clock.take((noon + 60) * s) == Due::last);
    CHECK(clock.take((noon + 60) * s) == Due::nothing);
}

TEST_CASE("a changed time limit moves the last call", "[checkpoint][clock]") {
    Clock clock{600, 60, noon * s};
    clock.set_deadline(noon + 300, noon * s);

    SECTION("to later, before it was made") {
        clock.set_deadline(noon + 500, (noon + 100) * s);
        CHECK(calls(clock, noon + 100, noon + 599) == std::vector<std::int64_t>{noon + 500});
    }
    SECTION("to later, after it was made: it is made again") {
        CHECK(clock.take((noon + 300) * s) == Due::last);
        clock.set_deadline(noon + 500, (noon + 310) * s);
        CHECK(calls(clock, noon + 310, noon + 599) == std::vector<std::int64_t>{noon + 500});
    }
    SECTION("to a time behind us: it is made at once") {
        clock.set_deadline(noon + 90, (noon + 100) * s);
        CHECK(clock.next_ms((noon + 100) * s) == (noon + 100) * s);
        CHECK(clock.take((noon + 100) * s) == Due::last);
    }
    SECTION("by so little that the one that was made serves") {
        CHECK(clock.take((noon + 300) * s) == Due::last);
        clock.set_deadline(noon + 290, (noon + 310) * s);
        CHECK(clock.take((noon + 310) * s) == Due::nothing);
    }
    SECTION("away: the ticks go on") {
        clock.set_deadline(std::nullopt, (noon + 100) * s);
        CHECK(calls(clock, noon + 100, noon + 601) == std::vector<std::int64_t>{noon + 600});
    }
}

TEST_CASE("after an end that did not come the ticks go on", "[checkpoint][clock]") {
    Clock clock{60, 30, noon * s};
    clock.set_deadline(noon + 70, noon * s);  // the end at 100 was put off, and nobody told us
    CHECK(calls(clock, noon, noon + 200) ==
          std::vector<std::int64_t>{noon + 60, noon + 70, noon + 120, noon + 180});
}

TEST_CASE("a job that is shorter than the lead is not called at its start", "[checkpoint][clock]") {
    Clock clock{3600, 120, noon * s};
    clock.set_deadline(noon - 60, noon * s);
    CHECK(clock.take(noon * s) == Due::nothing);
    CHECK(clock.next_ms(noon * s) == (noon + 3600) * s);
}

TEST_CASE("preemption serves a deadline that would follow it", "[checkpoint][clock]") {
    Clock clock{3600, 120, noon * s};
    clock.set_deadline(noon + 300, noon * s);
    clock.note_call((noon + 50) * s);
    CHECK(clock.called_lately((noon + 60) * s));
    clock.set_deadline(noon + 40, (noon + 60) * s);  // Slurm has moved the end to the grace time's
    CHECK(clock.take((noon + 60) * s) == Due::nothing);
    CHECK_FALSE(clock.called_lately((noon + 171) * s));
}

TEST_CASE("a wall clock that is set gives no tick twice and loses at most one",
          "[checkpoint][clock]") {
    Clock clock{60, 0, noon * s};
    REQUIRE(clock.take((noon + 60) * s) == Due::tick);

    SECTION("back by ten seconds: the tick that was given does not come again") {
        CHECK(clock.take((noon + 50) * s) == Due::nothing);
        CHECK(clock.next_ms((noon + 50) * s) == (noon + 120) * s);
        CHECK(clock.take((noon + 60) * s) == Due::nothing);
        CHECK(clock.take((noon + 120) * s) == Due::tick);
    }
    SECTION("back by an hour: the ticks of the new time are given") {
        CHECK(clock.take((noon - 3540) * s) == Due::nothing);
        CHECK(clock.next_ms((noon - 3540) * s) == (noon - 3480) * s);
        CHECK(clock.take((noon - 3480) * s) == Due::tick);
    }
    SECTION("forward, just past a tick: it is given now") {
        CHECK(clock.take((noon + 3665) * s) == Due::tick);
    }
    SECTION("forward, far past a tick: none is made up for") {
        CHECK(clock.take((noon + 3695) * s) == Due::nothing);
        CHECK(clock.next_ms((noon + 3695) * s) == (noon + 3720) * s);
    }
}

TEST_CASE("a suspended job is not called for all the ticks that it missed", "[checkpoint][clock]") {
    Clock clock{60, 0, noon * s};
    CHECK(clock.take((noon + 601) * s) == Due::tick);
    CHECK(clock.take((noon + 602) * s) == Due::nothing);
}
