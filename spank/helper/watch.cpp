#include "watch.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/file.hpp"
#include "base/text.hpp"
#include "job_watch.hpp"
#include "watch_options.hpp"

namespace railhead::helper {

namespace {

/// Of the clock by which files are dated.
double now_s() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// SIGTERM and SIGINT, to be read; all others are kept from us: a signal to the whole step is for
/// the trainer.
UniqueFd take_signals() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    sigset_t ends;
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGTERM);
    ::sigaddset(&ends, SIGINT);
    return UniqueFd{::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK)};
}

bool read_signal(int fd) {
    signalfd_siginfo info{};
    return ::read(fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
}

/// Whether the other end of the pipe is closed.
bool has_ended(const pollfd& end) {
    if ((end.revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) == 0) {
        return false;
    }
    std::array<char, 64> ignored{};
    const auto got = ::read(end.fd, ignored.data(), ignored.size());
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

int milliseconds_until(double at_s) {
    constexpr double most_s = 3600;  // the clock may be set
    constexpr double ms_per_s = 1000;
    return static_cast<int>(std::ceil(std::clamp(at_s - now_s(), 0.0, most_s) * ms_per_s));
}

/// On the job's standard error, written at once so that no other line gets into it.
void say(const std::string& line) {
    static_cast<void>(write_all(STDERR_FILENO, "railhead: " + printable(line) + "\n"));
}

void run(JobWatch& job, int end_fd, int signals) {
    // After SIGTERM a trainer may write a last checkpoint, until Slurm's KillWait (default 30 s).
    constexpr double patience_s = 25;
    std::optional<double> leave_s;
    double looked_s = now_s();
    bool is_changed = false;
    for (;;) {
        // Many changes make one look.
        const auto next_s = is_changed ? std::min(job.next_look_s(looked_s), job.soon_s(looked_s))
                                       : job.next_look_s(looked_s);
        std::array<pollfd, 3> fds{{{end_fd, POLLIN, 0},
                                   {signals, POLLIN, 0},
                                   {is_changed ? -1 : job.changes_fd(), POLLIN, 0}}};
        static_cast<void>(::poll(fds.data(), fds.size(),
                                 milliseconds_until(std::min(next_s, leave_s.value_or(next_s)))));
        if (has_ended(fds[0])) {
            return;
        }
        if ((fds[1].revents & POLLIN) != 0 && read_signal(signals)) {
            if (leave_s) {
                return;
            }
            leave_s = now_s() + patience_s;
            job.warn_of_end(now_s());
        }
        if (leave_s && now_s() >= *leave_s) {
            return;
        }
        if ((fds[2].revents & POLLIN) != 0) {
            job.drain_changes();
            is_changed = true;
            continue;
        }
        if (now_s() >= next_s || now_s() < looked_s) {
            is_changed = false;
            looked_s = now_s();
            job.look(looked_s);
        }
    }
}

}  // namespace

int watch(const std::vector<std::string>& arguments) {
    const auto options = parse_watch_options(arguments);
    if (!options) {
        say(options.error().message);
        return 2;
    }
    const auto signals = take_signals();
    JobWatch job{*options, now_s(), &say};
    if (!job.begin(now_s())) {
        return 0;
    }
    run(job, options->end_fd, signals.get());
    job.end(now_s());
    return 0;
}

}  // namespace railhead::helper
