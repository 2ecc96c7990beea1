#include "progress.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "support/catch.hpp"

namespace cli = railhead::cli;
using railhead::UniqueFd;

namespace {

/// Standard error is a terminal while this lives.
class TerminalError {
 public:
    TerminalError() : master_{::posix_openpt(O_RDWR | O_NOCTTY)}, saved_{::dup(STDERR_FILENO)} {
        if (::grantpt(master_.get()) == 0 && ::unlockpt(master_.get()) == 0) {
            const char* name = ::ptsname(master_.get());  // NOLINT(concurrency-mt-unsafe)
            slave_ = UniqueFd{::open(name, O_RDWR | O_NOCTTY)};
            ::dup2(slave_.get(), STDERR_FILENO);
        }
    }
    TerminalError(const TerminalError&) = delete;
    TerminalError& operator=(const TerminalError&) = delete;
    ~TerminalError() { ::dup2(saved_.get(), STDERR_FILENO); }

    [[nodiscard]] bool is_there() const { return static_cast<bool>(slave_); }
    /// What was written, up to `end`: a terminal gives it in parts, each after a while.
    [[nodiscard]] std::string text_up_to(std::string_view end) const {
        constexpr int patience_ms = 5000;
        std::string out;
        std::array<char, 4096> part;
        pollfd watched{master_.get(), POLLIN, 0};
        while (!out.ends_with(end) && ::poll(&watched, 1, patience_ms) == 1) {
            const auto count = ::read(master_.get(), part.data(), part.size());
            if (count <= 0) {
                break;
            }
            out.append(part.data(), static_cast<std::size_t>(count));
        }
        return out;
    }

 private:
    UniqueFd master_, slave_, saved_;
};

}  // namespace

TEST_CASE("progress is a line of whole percents that is gone in the end", "[cli][progress]") {
    const TerminalError terminal;
    if (!terminal.is_there()) {
        SKIP("no pseudo terminal here");
    }
    cli::Console console{std::cout, std::cerr};
    {
        cli::Progress progress{console, "counting"};
        for (std::uint64_t done = 1; done <= 300; ++done) {
            progress.show(done, 300);
        }
    }
    const std::string end = "\rcounting 100 %\r\033[K";
    const auto text = terminal.text_up_to(end);
    CHECK(text.starts_with("\rcounting   0 %\rcounting   1 %\rcounting   2 %"));
    CHECK(text.ends_with(end));
}

TEST_CASE("progress is silent where nobody watches", "[cli][progress]") {
    const TerminalError terminal;
    if (!terminal.is_there()) {
        SKIP("no pseudo terminal here");
    }
    std::ostringstream err;
    cli::Console console{std::cout, err};
    cli::Progress{console, "counting"}.show(1, 2);
    CHECK(err.str().empty());
}
