#include "base/pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "base/file.hpp"
#include "support/catch.hpp"

using namespace railhead;
using namespace std::chrono_literals;

namespace {

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
        in = UniqueFd{ends[0]};
        out = UniqueFd{ends[1]};
    }
    void write(const std::string& text) const {
        REQUIRE(::write(out.get(), text.data(), text.size()) ==
                static_cast<ssize_t>(text.size()));
    }
    UniqueFd in, out;
};

auto soon() {
    return std::chrono::steady_clock::now() + 20ms;
}
auto late() {
    return std::chrono::steady_clock::now() + 30s;
}

}  // namespace

TEST_CASE("a pipe is read to its end", "[pipe]") {
    Pipe pipe;
    pipe.write("first ");
    std::thread writer{[&] {
        std::this_thread::sleep_for(10ms);
        pipe.write("second");
        pipe.out = UniqueFd{};
    }};

    const auto text = read_to_end(pipe.in.get(), late());
    writer.join();

    REQUIRE(text);
    CHECK(*text == "first second");
}

TEST_CASE("a pipe that nobody closes is given up at the deadline", "[pipe][errors]") {
    const Pipe pipe;
    pipe.write("half an answer");

    const auto text = read_to_end(pipe.in.get(), soon());

    REQUIRE_FALSE(text);
    CHECK(text.error().code == Errc::unavailable);
    CHECK(text.error().message == "it did not end in time");
}

TEST_CASE("a deadline that has passed waits for nothing", "[pipe][errors]") {
    const Pipe pipe;
    const auto text = read_to_end(pipe.in.get(), std::chrono::steady_clock::now() - 1s);
    CHECK_FALSE(text);
}

TEST_CASE("more than the limit is an error, not a memory full of it", "[pipe][errors]") {
    Pipe pipe;
    pipe.write(std::string(100, 'x'));
    pipe.out = UniqueFd{};

    const auto text = read_to_end(pipe.in.get(), late(), 99);

    REQUIRE_FALSE(text);
    CHECK(text.error().code == Errc::bad_input);
    CHECK(text.error().message == "it wrote more than 99 bytes");
}

TEST_CASE("what is no descriptor is an error", "[pipe][errors]") {
    const auto text = read_to_end(-1, soon());
    CHECK_FALSE(text);
}
