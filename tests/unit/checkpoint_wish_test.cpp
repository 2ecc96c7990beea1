#include "checkpoint/wish.hpp"

#include <csignal>
#include <string>
#include <utility>

#include "checkpoint/interval.hpp"
#include "checkpoint/schedule.hpp"
#include "support/catch.hpp"

using namespace railhead;
using Catch::Matchers::WithinRel;
using checkpoint::Target;

TEST_CASE("a signal is asked for by name or number, with its target", "[checkpoint][wish]") {
    const auto& [text, number, target, shown] =
        GENERATE(table<std::string, int, Target, std::string>({
            {"USR1", SIGUSR1, Target::unsaid, "USR1"},
            {"sigusr2@Rank0", SIGUSR2, Target::rank0, "USR2@rank0"},
            {"10@batch", SIGUSR1, Target::batch, "USR1@batch"},
            {"TERM@tasks", SIGTERM, Target::tasks, "TERM@tasks"},
            {"40", 40, Target::unsaid, "40"},
            {"None", 0, Target::unsaid, "none"},
        }));
    CAPTURE(text);
    const auto wish = checkpoint::parse_signal_wish(text);
    REQUIRE(wish);
    CHECK(wish->number == number);
    CHECK(wish->target == target);
    CHECK(to_string(*wish) == shown);
}

TEST_CASE("a signal that no program can save at is refused", "[checkpoint][wish][errors]") {
    const auto& [text, why] = GENERATE(table<std::string, std::string>({
        {"KILL", "\"KILL\" is no signal"},
        {"9@tasks", "\"9\" is no signal"},
        {"STOP", "\"STOP\" is no signal"},
        {"SEGV", "\"SEGV\" is no signal"},
        {"0", "\"0\" is no signal"},
        {"none@tasks", "\"none\" is no signal"},
        {"-10", "\"-10\" is no signal"},
        {"65", "\"65\" is no signal"},
        {"", "\"\" is no signal"},
        {"SIG", "\"SIG\" is no signal"},
        {"B:USR1@60", "\"B:USR1\" is no signal"},
        {"USR1@", "\"@\" is no target"},
        {"USR1@rank1", "\"@rank1\" is no target: it is @tasks, @batch or @rank0"},
        {"USR1@tasks@batch", "\"@tasks@batch\" is no target"},
    }));
    CAPTURE(text);
    const auto wish = checkpoint::parse_signal_wish(text);
    REQUIRE_FALSE(wish);
    CHECK_THAT(wish.error().message, ContainsSubstring(why));
}

TEST_CASE("an interval is a time, seconds, or auto", "[checkpoint][wish]") {
    const auto& [text, seconds] = GENERATE(table<std::string, double>({
        {"30m", 1800},
        {"1:30:00", 5400},
        {"1800", 1800},
        {"1e3", 1000},
        {" 90s ", 90},
        {"365d", 31536000},
    }));
    CAPTURE(text);
    const auto wish = checkpoint::parse_interval_wish(text);
    REQUIRE(wish);
    CHECK(wish->seconds == seconds);
    CHECK_FALSE(checkpoint::parse_interval_wish("Auto")->seconds);
}

TEST_CASE("what is no interval is refused", "[checkpoint][wish][errors]") {
    const std::string text =
        GENERATE("", "0", "-5m", "0.5s", "366d", "inf", "nan", "30 parsecs", "1800x", "automatic");
    CAPTURE(text);
    REQUIRE_FALSE(checkpoint::parse_interval_wish(text));
}

TEST_CASE("the last checkpoint leads by its cost, a step and Slurm's minute",
          "[checkpoint][schedule]") {
    const auto schedule = checkpoint::make_schedule({.per_1000_node_days = 6.5,
                                                     .nodes = 1000,
                                                     .cost_s = 120,
                                                     .step_s = 20,
                                                     .restart_s = 300,
                                                     .own_interval_s = std::nullopt});
    REQUIRE(schedule);
    CHECK(schedule->lead_s == 200);
    CHECK_THAT(schedule->mtbf_s, WithinRel(86400 / 6.5, 1e-12));
    CHECK(schedule->interval_s == schedule->optimum_s);
}

TEST_CASE("a lead never leaves the 16 bits of Slurm's field", "[checkpoint][schedule]") {
    const auto schedule = checkpoint::make_schedule({.per_1000_node_days = 1,
                                                     .nodes = 1,
                                                     .cost_s = 80000,
                                                     .step_s = 1,
                                                     .restart_s = 0,
                                                     .own_interval_s = 60.0});
    REQUIRE(schedule);
    CHECK(schedule->lead_s == 65535);
    CHECK(schedule->interval_s == 60);
}

TEST_CASE("fewer nodes left: longer between failures, and between checkpoints",
          "[checkpoint][schedule]") {
    const auto with_nodes = [](std::uint64_t nodes) {
        return checkpoint::make_schedule({.per_1000_node_days = 6.5,
                                          .nodes = nodes,
                                          .cost_s = 30,
                                          .step_s = 1,
                                          .restart_s = 300,
                                          .own_interval_s = std::nullopt});
    };
    REQUIRE(with_nodes(8));
    CHECK(with_nodes(4)->interval_s > with_nodes(8)->interval_s);
    REQUIRE_FALSE(with_nodes(0));
}
