#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "base/child.hpp"
#include "support/catch.hpp"

using railhead::Errc;
using railhead::run_in_child;
using namespace std::chrono_literals;

TEST_CASE("what a child answers is handed on whole", "[child]") {
    const std::string long_text(300'000, 'x');  // more than a pipe holds
    const auto text = run_in_child([&] { return long_text; }, "the test", 10s);
    REQUIRE(text);
    CHECK(*text == long_text);
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);  // no child is left
}

TEST_CASE("what a child does stays in it", "[child]") {
    int here = 1;
    const auto text = run_in_child([&] { return std::to_string(++here); }, "the test", 10s);
    REQUIRE(text);
    CHECK(*text == "2");
    CHECK(here == 1);
}

TEST_CASE("a child that gives no answer is an error that says whose", "[child][errors]") {
    struct Case {
        std::string why;
        std::string (*work)();
        std::chrono::milliseconds limit;
        std::string message;
    };
    const auto c = GENERATE(
        values<Case>({{"it hangs",
                       []() -> std::string {
                           ::pause();
                           return "late";
                       },
                       50ms, "no answer from the test in 50 ms"},
                      {"it throws", []() -> std::string { throw std::runtime_error{"no"}; }, 10s,
                       "the look at the test ended without an answer"},
                      {"it crashes", []() -> std::string { ::_exit(3); }, 10s,
                       "the look at the test ended without an answer"}}));
    CAPTURE(c.why);
    const auto text = run_in_child(c.work, "the test", c.limit);
    REQUIRE_FALSE(text);
    CHECK(text.error().code == Errc::unavailable);
    CHECK(text.error().message == c.message);
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);
}
