#include "clock.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "arguments.hpp"
#include "base/text.hpp"
#include "checkpoint/clock.hpp"
#include "checkpoint/job_end.hpp"
#include "checkpoint/wish.hpp"
#include "ntp.hpp"
#include "processes.hpp"

namespace railhead::helper {

namespace {

using checkpoint::Due;

constexpr std::array<std::pair<std::string_view, Below>, 4> belows{
    {{"tasks", Below::tasks},
     {"rank0", Below::first_task},
     {"batch", Below::script},
     {"in-batch", Below::in_script}}};

/// How long slurmctld may take to answer: no tick waits longer.
constexpr std::chrono::seconds answer_limit{5};

void say(const std::string& text) {
    static_cast<void>(write_all(STDERR_FILENO, "railhead: " + printable(text) + "\n"));
}

std::int64_t now_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

timespec timespec_of(std::int64_t ms) {
    return {ms / 1000, (ms % 1000) * 1'000'000};
}

/// Takes away what made a descriptor readable.
template <class T>
T drain(const UniqueFd& fd) {
    T value{};
    const auto got = ::read(fd.get(), &value, sizeof value);
    return got == static_cast<ssize_t>(sizeof value) ? value : T{};
}

/// Of the signals that Slurm sends to a step: TERM before it kills, also at preemption; URG, which
/// harms nobody, when somebody wants a checkpoint now.  The rest is for the tasks.
UniqueFd open_signals() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    sigset_t heard;
    ::sigemptyset(&heard);
    ::sigaddset(&heard, SIGTERM);
    ::sigaddset(&heard, SIGURG);
    return UniqueFd{::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK)};
}

/// The tasks of this node, and how they are signalled.
class Tasks {
 public:
    explicit Tasks(const ClockOptions& options)
        : options_{options}, view_{process_view()}, daemon_{options.parent} {
        // It may have ended already, and its number be another's.
        Process first{options.pid};
        const auto status = view_.status(options.pid);
        if (status && (status->parent == options.parent || options.parent < 1) && first.runs()) {
            first_ = std::move(first);
        }
    }

    /// Why they cannot be told from other processes; empty: they can.
    [[nodiscard]] std::string obstacle() const {
        if (!is_own_proc()) {
            return "/proc does not show railhead-ckpt's own PID namespace";
        }
        const bool needs_parent = options_.below == Below::tasks;
        return needs_parent && options_.parent <= 1
                   ? "the tasks are in a PID namespace that their slurmstepd is not in; with "
                     "@rank0 there is one"
                   : "";
    }

    /// Signals those that catch the signal; the first time that one does not, says so.
    void call() {
        for (const auto root : roots()) {
            call_below(root);
        }
    }

    /// One of them that still runs, to wait for; empty when all have ended.
    [[nodiscard]] UniqueFd open_one() const {
        for (const auto root : roots()) {
            if (auto process = open_process(root)) {
                return process;
            }
        }
        return {};
    }

 private:
    [[nodiscard]] std::vector<pid_t> roots() const {
        if (options_.below != Below::tasks) {
            return first_.runs() ? std::vector{first_.pid()} : std::vector<pid_t>{};
        }
        if (!daemon_.runs()) {
            return {};
        }
        auto children = view_.children(daemon_.pid());
        std::erase_if(children, [&](pid_t pid) {
            const auto status = view_.status(pid);
            return !status || status->parent != daemon_.pid() ||
                   status->name == program_invocation_short_name;  // we, and ours
        });
        return children;
    }

    void call_below(pid_t root) {
        auto found = checkpoint::find_catching(view_, root, options_.signal,
                                               options_.below != Below::in_script);
        if (options_.below == Below::first_task && found.pids.size() > 1) {
            found.pids.resize(1);
        }
        bool sent = false;
        for (const auto pid : found.pids) {
            sent = signal_if_caught(view_, pid, options_.signal) == Sent::yes || sent;
        }
        if (!sent && !found.has_step && !found.name.empty() && options_.speaks &&
            !std::exchange(told_, true)) {
            say(
                fmt::format("no checkpoint now: process {} ({}) and what it launched do not catch "
                            "{}, so it is not sent; each time is looked again",
                            root, found.name, checkpoint::signal_name(options_.signal)));
        }
    }

    const ClockOptions& options_;
    checkpoint::ProcessView view_;
    Process daemon_, first_;
    bool told_ = false;
};

class Runner {
 public:
    explicit Runner(const ClockOptions& options)
        : options_{options},
          tasks_{options},
          clock_{options.interval_s, options.lead_s, now_ms()},
          signals_{open_signals()},
          timer_{::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK)},
          reread_{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)},
          task_{tasks_.open_one()} {}

    int run() {
        if (!signals_ || !timer_ || !reread_) {
            say(fmt::format("no checkpoint clock: {}", std::strerror(errno)));
            return 1;
        }
        if (const auto obstacle = tasks_.obstacle(); !obstacle.empty()) {
            if (options_.speaks) {
                say("no checkpoint clock: " + obstacle);
            }
            return 1;
        }
        if (!options_.node.empty()) {
            if (const auto warning = clock_warning(options_.job, options_.node)) {
                say(*warning);
            }
        }
        knows_end_ = options_.knows_end;
        clock_.set_deadline(options_.deadline_s, now_ms());
        arm_reread();
        while (step()) {
        }
        return 0;
    }

 private:
    /// Serves what is due, and sleeps until there is more; false: the tasks have ended.
    bool step() {
        if (clock_.take(now_ms()) != Due::nothing) {
            tasks_.call();
        }
        arm_timer();
        std::array<pollfd, 5> wait{{{options_.end_fd, POLLIN, 0},
                                    {signals_.get(), POLLIN, 0},
                                    {timer_.get(), POLLIN, 0},
                                    {reread_.get(), POLLIN, 0},
                                    {task_ ? task_.get() : -1, POLLIN, 0}}};
        if (::poll(wait.data(), wait.size(), -1) < 0) {
            return errno == EINTR;
        }
        if (wait[0].revents != 0) {
            return false;
        }
        if (wait[1].revents != 0) {
            hear(drain<signalfd_siginfo>(signals_).ssi_signo);
        }
        drain<std::uint64_t>(timer_);  // also when the wall clock was set: the read fails
        if (wait[3].revents != 0) {
            drain<std::uint64_t>(reread_);
            ask();
        }
        if (wait[4].revents != 0) {
            task_ = tasks_.open_one();
            return static_cast<bool>(task_);
        }
        return true;
    }

    void hear(std::uint32_t signal) {
        const auto now = now_ms();
        if (signal == SIGURG) {
            tasks_.call();
        } else if (signal == SIGTERM && !clock_.called_lately(now)) {
            clock_.note_call(now);
            tasks_.call();
        }
    }

    void arm_timer() {
        const auto now = now_ms();
        const auto next = clock_.next_ms(now);
        itimerspec when{};
        if (next) {
            when.it_value = timespec_of(*next);
        }
        ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when,
                          nullptr);
    }

    void arm_reread() {
        if (options_.scontrol.empty()) {
            return;
        }
        constexpr std::int64_t soon_ms = 1;
        itimerspec when{timespec_of(options_.reread_s * 1000),
                        timespec_of(options_.knows_end ? options_.reread_s * 1000 : soon_ms)};
        ::timerfd_settime(reread_.get(), 0, &when, nullptr);
    }

    /// The time limit may have been changed.  While slurmctld does not answer what was known holds.
    void ask() {
        const auto end = checkpoint::ask_job_end(options_.scontrol, options_.job, answer_limit);
        if (end) {
            const auto now_s = now_ms() / 1000;
            const bool first = !std::exchange(knows_end_, true);
            clock_.set_deadline(
                !*end   ? std::nullopt
                : first ? std::optional{checkpoint::first_deadline_s(**end, options_.lead_s, now_s)}
                        : std::optional{**end - options_.lead_s},
                now_ms());
        }
    }

    const ClockOptions& options_;
    Tasks tasks_;
    checkpoint::Clock clock_;
    bool knows_end_ = false;
    UniqueFd signals_, timer_, reread_;
    UniqueFd task_;  ///< one that runs; empty where the kernel has no such descriptors
};

}  // namespace

Result<ClockOptions> parse_clock_options(const std::vector<std::string>& words) {
    const auto arguments = Arguments::parse(words, {"--speaks"});
    if (!arguments) {
        return tl::unexpected<Error>{arguments.error()};
    }
    const auto number = [&](std::string_view name, std::int64_t otherwise) {
        return arguments->number(name).value_or(otherwise);
    };
    ClockOptions options;
    options.job = static_cast<std::uint32_t>(number("--job", 0));
    options.signal = static_cast<int>(number("--signal", 0));
    const auto target = arguments->text("--target").value_or("");
    const auto* const below = std::ranges::find(belows, std::string_view{target},
                                                [](const auto& row) { return row.first; });
    options.interval_s = number("--interval", 0);
    options.lead_s = number("--lead", 0);
    const auto deadline_s = arguments->number("--deadline");
    options.knows_end = deadline_s.has_value();
    options.deadline_s = deadline_s && *deadline_s > 0 ? deadline_s : std::nullopt;
    options.pid = static_cast<pid_t>(number("--pid", 0));
    options.parent = static_cast<pid_t>(number("--parent", 0));
    options.end_fd = static_cast<int>(number("--end-fd", -1));
    options.node = arguments->text("--node").value_or("");
    options.speaks = arguments->flag("--speaks");
    options.scontrol = arguments->text("--scontrol").value_or("");
    options.reread_s = std::max<std::int64_t>(number("--reread", options.reread_s), 1);
    if (options.signal < 1 || below == belows.end() || options.pid < 1 || options.end_fd < 0) {
        return fail(Errc::bad_input,
                    "clock needs --signal NUM, --target tasks|rank0|batch|in-batch, --pid PID and "
                    "--end-fd FD");
    }
    options.below = below->second;
    return options;
}

int run_clock(const ClockOptions& options) {
    return Runner{options}.run();
}

}  // namespace railhead::helper
