#include "node/probe.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "node/from_hwloc.hpp"
#include "node/sysfs.hpp"
#include "node/wire.hpp"

namespace railhead::node {

namespace {

using Clock = std::chrono::steady_clock;

// ---- in the child -------------------------------------------------------------------------

Result<Node> look(const ProbeOptions& options) {
    Result<Node> node;
    if (options.hwloc_xml.empty()) {
        node = read_hwloc();
    } else {
        auto xml = read_file(options.hwloc_xml);
        if (!xml) {
            return propagate(xml);
        }
        node = parse_hwloc_xml(*xml, options.hwloc_xml);
    }
    if (node) {
        add_sysfs(*node, options.root);
    }
    return node;
}

/// An error as one line: "error <tab> code <tab> file <tab> message".
std::string error_line(const Error& error) {
    return fmt::format("error\t{}\t{}\t{}", static_cast<unsigned>(error.code),
                       printable(error.where.file), printable(error.message));
}

std::string answer(const ProbeOptions& options) {
    try {
        const auto node = look(options);
        return node ? to_wire(*node) : error_line(node.error());
    } catch (const std::exception& e) {
        return error_line({Errc::internal, e.what(), {}});
    }
}

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
        write_all(out, answer(options));
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
    const auto code = fields.size() == 4 ? parse_number<unsigned>(fields[1]) : std::nullopt;
    if (fields[0] == "error" && code && *code <= static_cast<unsigned>(Errc::internal)) {
        return fail(static_cast<Errc>(*code), std::string{fields[3]}, {std::string{fields[2]}});
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
