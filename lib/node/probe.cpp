#include "node/probe.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "node/from_hwloc.hpp"
#include "node/read_node.hpp"
#include "node/sysfs.hpp"
#include "node/wire.hpp"

namespace railhead::node {

namespace {

using Clock = std::chrono::steady_clock;

// ---- in the child -------------------------------------------------------------------------

/// hwloc reads the tree below HWLOC_FSROOT as it reads that of its own machine.
Result<Node> look_here(const std::string& root) {
    const auto fsroot = "HWLOC_FSROOT=" + root;
    std::vector<const char*> variables;
    for (const auto* variable = hwloc_environment(); *variable != nullptr; ++variable) {
        variables.push_back(*variable);
    }
    if (root != "/") {
        variables.push_back(fsroot.c_str());
    }
    variables.push_back(nullptr);
    environ = const_cast<char**>(variables.data());
    auto node = read_hwloc();
    environ = const_cast<char**>(hwloc_environment());
    return node;
}

Result<Node> look_at_file(const ProbeOptions& options) {
    if (options.text) {
        return parse_node(*options.text, options.file, options.kind);
    }
    auto text = read_file(options.file);
    return text ? parse_node(*text, options.file, options.kind) : Result<Node>{propagate(text)};
}

Result<Node> look(const ProbeOptions& options) {
    auto node = options.file.empty() ? look_here(options.root) : look_at_file(options);
    if (node) {
        add_sysfs(*node, options.root);
    }
    return node;
}

/// An error as one line: "error", code, file, line, column and message between tabs.
std::string error_line(const Error& error) {
    auto message = printable(error.message);
    std::ranges::replace(message, '\t', ' ');
    return fmt::format("error\t{}\t{}\t{}\t{}\t{}", static_cast<unsigned>(error.code),
                       printable(error.where.file), error.where.line, error.where.column, message);
}

std::string answer(const ProbeOptions& options) {
    try {
        const auto node = look(options);
        return node ? to_wire(*node) : error_line(node.error());
    } catch (const std::exception& e) {
        return error_line({Errc::internal, e.what(), {}});
    }
}

/// Whoever sees this machine's facts as root sees no more than a plain user: hwloc, and a file that
/// it reads, need no rights.  By system calls: the library's functions want locks that another
/// thread may have held when we were forked.
bool become_nobody() {
    constexpr unsigned nobody = 65534;  // Linux: the user that stands for none
    return ::geteuid() != 0 ||
           (::syscall(SYS_setgroups, 0, nullptr) == 0 &&
            ::syscall(SYS_setresgid, nobody, nobody, nobody) == 0 &&
            ::syscall(SYS_setresuid, nobody, nobody, nobody) == 0);
}

/// Nothing may leave this function: the code above it on the stack is the parent's.
[[noreturn]] void run_child(const ProbeOptions& options, int out) noexcept {
    // The caller may have blocked these; a child that hangs must still be ended.
    for (const int signal : {SIGTERM, SIGINT, SIGALRM, SIGPIPE}) {
        ::signal(signal, SIG_DFL);
    }
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; ++fd) {
        ::dup2(null, fd);  // hwloc's warnings are not for the user's terminal
    }
    // Not setenv(): the lock it takes may have been held by another thread when we were forked.
    environ = const_cast<char**>(hwloc_environment());
    try {
        // A parent that no longer listens is no error of ours.
        static_cast<void>(write_all(
            out, options.as_nobody && !become_nobody()
                     ? error_line({Errc::unsupported, "cannot look at this node as nobody", {}})
                     : answer(options)));
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

/// Waits for a child that has ended or was killed.  One that is stuck in the kernel cannot be
/// killed, so it is left to whoever waits next rather than waited for.
void reap(pid_t child) {
    for (int tries = 0; tries < 1000; ++tries) {
        const auto got = ::waitpid(child, nullptr, WNOHANG);
        if (got == child || (got < 0 && errno != EINTR)) {
            return;
        }
        ::usleep(1000);
    }
}

Result<Node> parse_answer(std::string_view text) {
    const auto fields = split(text, '\t');
    if (fields[0] == "error" && fields.size() == 6) {
        const auto code = parse_number<unsigned>(fields[1]);
        const auto line = parse_number<unsigned>(fields[3]);
        const auto column = parse_number<unsigned>(fields[4]);
        if (code && *code <= static_cast<unsigned>(Errc::internal) && line && column) {
            return fail(static_cast<Errc>(*code), std::string{fields[5]},
                        {std::string{fields[2]}, *line, *column});
        }
    }
    if (text.empty()) {
        return fail(Errc::unavailable, "the look at this node's hardware ended without an answer");
    }
    return from_wire(text);
}

}  // namespace

Result<Node> probe(const ProbeOptions& options) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail_errno("cannot make a pipe");
    }
    UniqueFd in{ends[0]};
    UniqueFd out{ends[1]};

    const pid_t child = ::fork();
    if (child < 0) {
        return fail_errno("cannot fork");
    }
    if (child == 0) {
        run_child(options, out.get());
    }
    out = UniqueFd{};  // else the pipe would never end

    const auto text = read_to_end(in.get(), Clock::now() + options.limit);
    if (!text) {
        ::kill(child, SIGKILL);
    }
    reap(child);
    if (!text) {
        return fail(Errc::unavailable, fmt::format("no answer from this node's hardware in {} ms",
                                                   options.limit.count()));
    }
    return parse_answer(*text);
}

}  // namespace railhead::node
