#include "companion.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include <fmt/format.h>

namespace railhead::spank {

namespace {

constexpr int end_fd = 3;  ///< of the program: the first after the standard ones

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> result;
    result.reserve(words.size() + 1);
    for (const auto& word : words) {
        result.push_back(const_cast<char*>(word.c_str()));  // execve() takes char*, changes nothing
    }
    result.push_back(nullptr);
    return result;
}

/// Closes every descriptor above end_fd.
void close_others() {
#ifdef SYS_close_range
    if (::syscall(SYS_close_range, end_fd + 1, ~0U, 0U) == 0) {
        return;
    }
#endif
    const long most = ::sysconf(_SC_OPEN_MAX);
    for (int fd = end_fd + 1; fd < most; ++fd) {
        ::close(fd);
    }
}

/// In the new process.  Only what is safe after a fork, nothing that allocates.
[[noreturn]] void become(char* const* words, char* const* environment, int end) noexcept {
    // A task that signals its process group, or whose terminal hangs up, does not mean us.
    ::setsid();
    ::dup2(end, end_fd);  // the copy is not closed by exec, unless it is no copy
    if (end == end_fd) {
        ::fcntl(end_fd, F_SETFD, 0);
    }
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    close_others();
    if (::chdir("/") == 0) {
        ::execve(words[0], words, environment);
    }
    ::_exit(127);
}

/// fork(), but the new process is a child of our own parent.
pid_t fork_sister() {
    return static_cast<pid_t>(::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0));
}

/// Where there can be no sister (the first process of a PID namespace has none): a child's child,
/// which nobody waits for.
pid_t fork_orphan() {
    const pid_t child = ::fork();
    if (child != 0) {
        int status = 0;
        while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        return child;
    }
    const pid_t orphan = ::fork();
    if (orphan != 0) {
        ::_exit(orphan < 0 ? 1 : 0);
    }
    return 0;
}

/// The name of a PID namespace of this process; nothing where there is no /proc, or no process in
/// it yet.
std::optional<std::string> pid_namespace(const char* which) {
    std::array<char, 64> name{};
    const auto got =
        ::readlink(fmt::format("/proc/self/ns/{}", which).c_str(), name.data(), name.size());
    return got > 0 ? std::optional{std::string(name.data(), static_cast<std::size_t>(got))}
                   : std::nullopt;
}

/// Blocks all signals while it lives: what comes between exec and the program's own arrangements
/// waits for these.
class BlockedSignals {
 public:
    BlockedSignals() {
        sigset_t all;
        ::sigfillset(&all);
        ::sigprocmask(SIG_SETMASK, &all, &before_);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;
    ~BlockedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
    sigset_t before_{};
};

}  // namespace

Result<Companion> Companion::make() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return fail(Errc::unavailable, fmt::format("no socket: {}", std::strerror(errno)));
    }
    return Companion{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

std::optional<std::string> Companion::obstacle() {
    const auto own = pid_namespace("pid");
    if (!own) {
        return "there is no /proc";
    }
    const auto of_children = pid_namespace("pid_for_children");  // Linux 4.12
    if (of_children == own) {
        return std::nullopt;
    }
    return fmt::format("what the task starts is in the PID namespace {}, the task in {}",
                       of_children.value_or("still to be made"), *own);
}

Result<void> Companion::start(std::vector<std::string> words,
                              const std::vector<std::string>& environment) const {
    words.emplace_back("--end-fd");
    words.push_back(fmt::format("{}", end_fd));
    const auto argv = pointers(words);
    const auto variables = pointers(environment);
    const BlockedSignals blocked;
    const pid_t sister = fork_sister();
    const pid_t child = sister < 0 ? fork_orphan() : sister;
    if (child == 0) {
        become(argv.data(), variables.data(), theirs_.get());
    }
    if (sister > 0) {
        ::send(theirs_.get(), &sister, sizeof sister, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (child < 0) {
        return fail(Errc::unavailable, fmt::format("cannot fork: {}", std::strerror(errno)));
    }
    return {};
}

void Companion::end() {
    theirs_ = UniqueFd{};  // from now on only the program has that side
    if (pid_t told = 0; ::recv(ours_.get(), &told, sizeof told, MSG_DONTWAIT) == sizeof told) {
        sister_ = told;
    }
    ::shutdown(ours_.get(), SHUT_WR);
}

void Companion::wait(std::chrono::steady_clock::time_point until) {
    using std::chrono::steady_clock;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
    pollfd readable{ours_.get(), POLLIN, 0};
    if (::poll(&readable, 1, std::max(static_cast<int>(left), 0)) <= 0 || sister_ <= 0) {
        return;
    }
    // Its side is closed a moment before it is gone.
    constexpr timespec moment{0, 1'000'000};
    while (::waitpid(sister_, nullptr, WNOHANG) == 0 && steady_clock::now() < until) {
        ::nanosleep(&moment, nullptr);
    }
}

}  // namespace railhead::spank
