#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <vector>

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

TEST_CASE("a caller without standard streams hears its child", "[child]") {
    const auto closed =
        GENERATE(values<std::vector<int>>({{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}));
    CAPTURE(closed);
    const pid_t caller = ::fork();
    if (caller == 0) {
        for (const int fd : closed) {
            ::close(fd);
        }
        const auto text = run_in_child([] { return std::string{"heard"}; }, "the test", 10s);
        const bool same = std::ranges::all_of(
            closed, [](int fd) { return ::fcntl(fd, F_GETFD) < 0 && errno == EBADF; });
        ::_exit(text && *text == "heard" ? (same ? 0 : 2) : 1);
    }
    int status = 0;
    ::waitpid(caller, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("what a child prints goes nowhere, also without standard streams", "[child]") {
    const pid_t caller = ::fork();
    if (caller == 0) {
        for (const int fd : {0, 1, 2}) {
            ::close(fd);
        }
        const auto print = [] {
            const bool wrote = ::write(1, "x", 1) == 1 && ::write(2, "y", 1) == 1;
            return std::string{wrote ? "kept apart" : "no stream"};
        };
        const auto text = run_in_child(print, "the test", 10s);
        ::_exit(text && *text == "kept apart" ? 0 : 1);
    }
    int status = 0;
    ::waitpid(caller, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a child can be ended whatever its caller blocked or ignores", "[child]") {
    const int signal = GENERATE(SIGTERM, SIGINT, SIGALRM, SIGPIPE);
    CAPTURE(signal);
    sigset_t blocked;
    sigset_t before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, signal);
    ::sigprocmask(SIG_BLOCK, &blocked, &before);
    auto* const handler = ::signal(signal, SIG_IGN);

    const auto text = run_in_child(
        [signal] {
            ::raise(signal);
            return std::string{"still here"};
        },
        "the test", 10s);

    ::signal(signal, handler);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    CHECK_FALSE(text);
}
