#include "base/guard.hpp"

#include <cerrno>
#include <stdexcept>
#include <string>

#include "support/catch.hpp"

using namespace railhead;

namespace {

std::string reported;

void report(const char* where, const char* what) noexcept {
    reported = std::string{where} + ": " + what;
}

}  // namespace

TEST_CASE("what goes well comes through", "[guard]") {
    reported.clear();
    CHECK(guard("here", -1, &report, [] { return 7; }) == 7);
    CHECK(reported.empty());
}

TEST_CASE("an exception is told and becomes a status", "[guard][errors]") {
    CHECK(guard("here", -1, &report, []() -> int { throw std::runtime_error{"no memory"}; }) == -1);
    CHECK(reported == "here: no memory");
    CHECK(guard("here", 0, &report, []() -> int { throw 3; }) == 0);
    CHECK(reported == "here: unknown exception");
}

TEST_CASE("errno is as it was found, whatever happens", "[guard]") {
    errno = 0;
    guard("here", 0, &report, [] { return errno = ENOENT; });
    const int after_success = errno;

    errno = EAGAIN;
    guard("here", 0, &report, []() -> int {
        errno = ENOENT;
        throw 3;
    });
    const int after_exception = errno;

    CHECK(after_success == 0);
    CHECK(after_exception == EAGAIN);
}
