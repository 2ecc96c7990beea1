#include "processes.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::helper {

namespace {

using checkpoint::ProcessStatus;

std::optional<ProcessStatus> read_status(pid_t pid) {
    const auto text = read_file(fmt::format("/proc/{}/status", pid));
    return text ? checkpoint::parse_process_status(*text) : std::nullopt;
}

/// The entries of a folder that are numbers.
std::vector<pid_t> numbered(const std::string& folder) {
    std::vector<pid_t> numbers;
    std::error_code error;
    const std::filesystem::directory_iterator end;
    for (auto entry = std::filesystem::directory_iterator{folder, error}; !error && entry != end;
         entry.increment(error)) {
        if (const auto number = parse_number<pid_t>(entry->path().filename().string())) {
            numbers.push_back(*number);
        }
    }
    return numbers;
}

void add_numbers(std::string_view text, std::vector<pid_t>& to) {
    for (const auto word : split_words(text)) {
        if (const auto pid = parse_number<pid_t>(word)) {
            to.push_back(*pid);
        }
    }
}

/// By the kernel's own lists, one a thread.  Nothing where it has none (CONFIG_PROC_CHILDREN).
std::optional<std::vector<pid_t>> listed_children(pid_t pid) {
    std::vector<pid_t> children;
    bool listed = false;
    for (const auto thread : numbered(fmt::format("/proc/{}/task", pid))) {
        const auto text = read_file(fmt::format("/proc/{}/task/{}/children", pid, thread));
        listed = listed || text;
        add_numbers(text ? std::string_view{*text} : std::string_view{}, children);
    }
    return listed ? std::optional{std::move(children)} : std::nullopt;
}

std::vector<pid_t> searched_children(pid_t pid) {
    std::vector<pid_t> children;
    for (const auto other : numbered("/proc")) {
        if (const auto status = read_status(other); status && status->parent == pid) {
            children.push_back(other);
        }
    }
    return children;
}

}  // namespace

checkpoint::ProcessView process_view() {
    return {&read_status, [](pid_t pid) {
                // Children of init are other jobs and daemons, whoever asks for them.
                if (pid <= 1) {
                    return std::vector<pid_t>{};
                }
                auto children = listed_children(pid);
                return children ? std::move(*children) : searched_children(pid);
            }};
}

UniqueFd open_process(pid_t pid) {
    return UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

bool Process::runs() const {
    if (pid_ <= 1) {
        return false;
    }
    if (!end_) {
        return ::kill(pid_, 0) == 0 || errno == EPERM;
    }
    pollfd ended{end_.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 0;
}

Sent signal_if_caught(const checkpoint::ProcessView& view, pid_t pid, int signal) {
    const auto process = open_process(pid);
    if (!process && errno == ESRCH) {
        return Sent::gone;
    }
    const auto status = view.status(pid);
    if (!status) {
        return Sent::gone;
    }
    if (!status->catches(signal)) {
        return Sent::not_caught;
    }
    const auto sent = process ? ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0)
                              : ::kill(pid, signal);
    return sent == 0 ? Sent::yes : Sent::gone;
}

bool is_own_proc() {
    const auto text = read_file("/proc/self/status");
    const auto self = text ? checkpoint::parse_process_status(*text) : std::nullopt;
    return self && self->namespaces <= 1;
}

}  // namespace railhead::helper
