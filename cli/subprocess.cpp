#include "subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/file.hpp"

namespace railhead::cli {

namespace {

constexpr std::size_t most_output = std::size_t{16} << 20U;
using Clock = std::chrono::steady_clock;

/// Spawns with standard output into `out`; gives the pid, or -1 with errno set.
pid_t spawn(const std::vector<std::string>& argv, int out) {
    std::vector<char*> words;
    for (const auto& word : argv) {
        words.push_back(const_cast<char*>(word.c_str()));  // posix_spawn takes char*, changes nothing
    }
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    pid_t pid = -1;
    errno = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return errno == 0 ? pid : -1;
}

/// Reads until the end or `deadline`; false when time or room ran out.
bool drain(int fd, Clock::time_point deadline, std::string& text) {
    std::array<char, 4096> block{};
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd ready{fd, POLLIN, 0};
        if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) {
            return false;
        }
        const auto got = ::read(fd, block.data(), block.size());
        if (got == 0) {
            return true;
        }
        if (got < 0 && errno != EINTR) {
            return false;
        }
        text.append(block.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
        if (text.size() > most_output) {
            return false;
        }
    }
}

}  // namespace

Result<std::string> output_of(const std::vector<std::string>& argv,
                              std::chrono::milliseconds limit) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail(Errc::unavailable, fmt::format("no pipe: {}", std::strerror(errno)));
    }
    const UniqueFd in{ends[0]};
    pid_t pid = -1;
    {
        const UniqueFd out{ends[1]};
        pid = spawn(argv, out.get());
    }
    if (pid < 0) {
        return fail(errno == ENOENT ? Errc::not_found : Errc::unavailable,
                    fmt::format("cannot run \"{}\": {}", argv[0], std::strerror(errno)));
    }
    std::string text;
    const bool whole = drain(in.get(), Clock::now() + limit, text);
    if (!whole) {
        ::kill(pid, SIGKILL);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!whole || status != 0) {
        return fail(Errc::unavailable,
                    fmt::format("\"{}\" {}", argv[0],
                                whole ? "ended with an error" : "did not end in time"));
    }
    return text;
}

}  // namespace railhead::cli
