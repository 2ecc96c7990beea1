#include "base/subprocess.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"

namespace railhead {

namespace {

constexpr std::size_t most_output = std::size_t{16} << 20U;

/// posix_spawn takes char*, and changes nothing.
std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> result;
    result.reserve(words.size());
    for (const auto& word : words) {
        result.push_back(const_cast<char*>(word.c_str()));
    }
    return result;
}

/// `extra` first: of a name that stands twice the first counts.
std::vector<char*> environment_with(const std::vector<std::string>& extra) {
    auto result = pointers(extra);
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        result.push_back(*entry);
    }
    result.push_back(nullptr);
    return result;
}

/// Spawns with standard output and error into `out` and `err`; gives the pid, or -1 with errno set.
pid_t spawn(const std::vector<std::string>& argv, const std::vector<std::string>& extra, int out,
            int err) {
    auto words = pointers(argv);
    words.push_back(nullptr);
    const auto environment = environment_with(extra);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    pid_t pid = -1;
    errno = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    return errno == 0 ? pid : -1;
}

/// The first line of `file`, as the end of a message.
std::string complaint(int file) {
    std::string text(200, '\0');
    const auto got = ::pread(file, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    const auto line = printable(trim(text.substr(0, text.find('\n'))));
    return line.empty() ? line : ": " + line;
}

}  // namespace

Result<std::string> output_of(const std::vector<std::string>& argv,
                              std::chrono::milliseconds limit,
                              const std::vector<std::string>& extra) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail(Errc::unavailable, fmt::format("no pipe: {}", std::strerror(errno)));
    }
    const UniqueFd in{ends[0]};
    UniqueFd out{ends[1]};
    const UniqueFd err{::memfd_create("stderr", MFD_CLOEXEC)};
    const pid_t pid = err ? spawn(argv, extra, out.get(), err.get()) : -1;
    const int error = errno;
    out = UniqueFd{};  // else the pipe would never end
    if (pid < 0) {
        return fail(error == ENOENT ? Errc::not_found : Errc::unavailable,
                    fmt::format("cannot run \"{}\": {}", argv[0], std::strerror(error)));
    }
    auto text = read_to_end(in.get(), std::chrono::steady_clock::now() + limit, most_output);
    if (!text) {
        ::kill(pid, SIGKILL);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!text) {
        return fail(text.error().code, fmt::format("\"{}\": {}", argv[0], text.error().message));
    }
    if (status != 0) {
        return fail(Errc::unavailable,
                    fmt::format("\"{}\" ended with an error{}", argv[0], complaint(err.get())));
    }
    return text;
}

}  // namespace railhead
