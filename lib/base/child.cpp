#include "base/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/pipe.hpp"

namespace railhead {

namespace {

// ---- in the child -------------------------------------------------------------------------

void write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            return;  // the parent no longer listens
        }
        text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
}

/// Nothing may leave this function: the code above it on the stack is the parent's.
[[noreturn]] void run_child(const std::function<std::string()>& work, int out) noexcept {
    // The caller may handle, ignore or block these; a child that hangs must still be ended.
    sigset_t ends;
    ::sigemptyset(&ends);
    for (const int signal : {SIGTERM, SIGINT, SIGALRM, SIGPIPE}) {
        ::signal(signal, SIG_DFL);
        ::sigaddset(&ends, signal);
    }
    ::sigprocmask(SIG_UNBLOCK, &ends, nullptr);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; ++fd) {
        ::dup2(null, fd);  // a library's warnings are not for the user's terminal
    }
    try {
        write_all(out, work());
    } catch (...) {  // no memory even for an answer: the parent sees an empty one
        ::_exit(1);
    }
    ::_exit(0);  // no destructor, no exit handler: they belong to the parent
}

// ---- in the parent ------------------------------------------------------------------------

tl::unexpected<Error> fail_errno(const char* what) {
    return fail(Errc::unavailable,
                fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

struct Pipe {
    UniqueFd in, out;
};

/// The same file above standard error; without one where there is no descriptor left.
UniqueFd above_standard(const UniqueFd& fd) {
    return UniqueFd{::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
}

/// A pipe that the child's /dev/null does not replace: where the caller has closed a standard
/// stream, a new descriptor has its number.
Result<Pipe> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail_errno("cannot make a pipe");
    }
    const UniqueFd in{ends[0]};
    const UniqueFd out{ends[1]};
    Pipe pipe{above_standard(in), above_standard(out)};
    if (!pipe.in || !pipe.out) {
        return fail_errno("cannot make a pipe");
    }
    return pipe;
}

/// Waits for a child that has ended or was killed.  One that is stuck in the kernel cannot be
/// killed, so it is left to whoever waits next rather than waited for, after a second.
void reap(pid_t child) {
    // The first looks are close together: a child that has answered takes microseconds to end.
    constexpr useconds_t longest = 1000;
    useconds_t pause = 20;
    for (useconds_t waited = 0; waited < 1'000'000; waited += pause) {
        const auto got = ::waitpid(child, nullptr, WNOHANG);
        if (got == child || (got < 0 && errno != EINTR)) {
            return;
        }
        ::usleep(pause);
        pause = std::min(2 * pause, longest);
    }
}

}  // namespace

Result<std::string> run_in_child(const std::function<std::string()>& work, std::string_view what,
                                 std::chrono::milliseconds limit) {
    auto pipe = make_pipe();
    if (!pipe) {
        return propagate(pipe);
    }
    const pid_t child = ::fork();
    if (child < 0) {
        return fail_errno("cannot fork");
    }
    if (child == 0) {
        run_child(work, pipe->out.get());
    }
    pipe->out = UniqueFd{};  // else the pipe would never end

    auto text = read_to_end(pipe->in.get(), std::chrono::steady_clock::now() + limit);
    if (!text) {
        ::kill(child, SIGKILL);
    }
    reap(child);
    if (!text) {
        return fail(Errc::unavailable,
                    fmt::format("no answer from {} in {} ms", what, limit.count()));
    }
    if (text->empty()) {
        return fail(Errc::unavailable, fmt::format("the look at {} ended without an answer", what));
    }
    return text;
}

}  // namespace railhead
