#include "base/subprocess.hpp"

#include <chrono>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace railhead;
using namespace std::chrono_literals;

TEST_CASE("what a command prints is taken, and no shell reads its words", "[subprocess]") {
    const auto text = output_of({"printf", "%s.", "$HOME", "a b", "*"}, 30s);
    REQUIRE(text);
    CHECK(*text == "$HOME.a b.*.");
}

TEST_CASE("a command that fails is told with what it complained of", "[subprocess][errors]") {
    struct Case {
        std::string why, script;
        Errc code;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"it says nothing", "exit 3", Errc::unavailable, "\"sh\" ended with an error"},
        {"it says why", "echo 'Invalid job id' >&2; echo more >&2; exit 1", Errc::unavailable,
         "\"sh\" ended with an error: Invalid job id"},
        {"what it says moves no cursor", "printf '\\033[2J' >&2; exit 1", Errc::unavailable,
         "\"sh\" ended with an error: ?[2J"},
        {"it is killed", "kill -9 $$", Errc::unavailable, "\"sh\" ended with an error"},
        {"it prints without end", "exec yes", Errc::bad_input,
         "\"sh\": it wrote more than 16777216 bytes"},
    }));
    CAPTURE(c.why);

    const auto text = output_of({"sh", "-c", c.script}, 30s);

    REQUIRE_FALSE(text);
    CHECK(text.error().code == c.code);
    CHECK(text.error().message == c.expected);
}

TEST_CASE("a command that hangs is ended at the limit", "[subprocess][errors]") {
    const auto begun = std::chrono::steady_clock::now();
    const auto text = output_of({"sleep", "30"}, 50ms);
    REQUIRE_FALSE(text);
    CHECK(text.error().message == "\"sleep\": it did not end in time");
    CHECK(std::chrono::steady_clock::now() - begun < 20s);
}

TEST_CASE("a command that is not there is not found", "[subprocess][errors]") {
    const auto text = output_of({"railhead-no-such-command"}, 1s);
    REQUIRE_FALSE(text);
    CHECK(text.error().code == Errc::not_found);
    CHECK(text.error().message ==
          "cannot run \"railhead-no-such-command\": No such file or directory");
}
