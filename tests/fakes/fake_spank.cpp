#include "fakes/fake_spank.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "fakes/failing_memory.hpp"

namespace {

constexpr auto success = static_cast<spank_err_t>(ESPANK_SUCCESS);

fake_spank::Job current;

void count_call() {
    if (++current.calls == current.throw_at) {
        throw std::runtime_error{"thrown by the fake daemon"};
    }
}

__attribute__((format(printf, 2, 0))) void record(const char* level, const char* format,
                                                  va_list arguments) {
    const fakes::SparedMemory spared;
    std::array<char, 8192> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    auto line = std::string{level} + ": " + text.data();
    if (current.tee >= 0) {
        const auto written = ::write(current.tee, (line + "\n").data(), line.size() + 1);
        static_cast<void>(written);
    }
    if (current.log.size() < 100'000) {
        current.log.push_back(std::move(line));
    }
}

}  // namespace

namespace fake_spank {

bool Job::has_logged(const std::string& part) const {
    return std::ranges::any_of(
        log, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

Job& job() {
    return current;
}

Job& reset() {
    current = {};
    return current;
}

}  // namespace fake_spank

#define FAKE_SPANK_LOG(name, level)                                            \
    __attribute__((format(printf, 1, 2))) void name(const char* format, ...) { \
        va_list arguments;                                                     \
        va_start(arguments, format);                                           \
        record(level, format, arguments);                                      \
        va_end(arguments);                                                     \
    }

extern "C" {

FAKE_SPANK_LOG(slurm_error, "error")
FAKE_SPANK_LOG(slurm_info, "info")
FAKE_SPANK_LOG(slurm_verbose, "verbose")
FAKE_SPANK_LOG(slurm_spank_log, "spank")

spank_context_t spank_context() {
    return current.context;
}

spank_err_t spank_option_register(spank_t /*spank*/, spank_option* option) {
    count_call();
    const fakes::SparedMemory spared;
    current.options.push_back({option->name, option->usage, option->val, option->cb});
    return success;
}

spank_err_t spank_get_item(spank_t /*spank*/, spank_item item, ...) {
    count_call();
    const auto found = current.items.find(item);
    if (found == current.items.end()) {
        return ESPANK_NOT_TASK;
    }
    va_list arguments;
    va_start(arguments, item);
    *va_arg(arguments, std::uint32_t*) = found->second;
    va_end(arguments);
    return success;
}

spank_err_t spank_getenv(spank_t /*spank*/, const char* name, char* buffer, int length) {
    count_call();
    const fakes::SparedMemory spared;
    const auto found = current.environment.find(name);
    if (found == current.environment.end()) {
        return ESPANK_ENV_NOEXIST;
    }
    const auto room = static_cast<std::size_t>(length);
    std::snprintf(buffer, room, "%s", found->second.c_str());
    return found->second.size() < room ? success : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t /*spank*/, const char* name, const char* value, int overwrite) {
    count_call();
    const fakes::SparedMemory spared;
    if (overwrite == 0 && current.environment.contains(name)) {
        return ESPANK_ENV_EXISTS;
    }
    current.environment[name] = value;
    return success;
}

spank_err_t spank_unsetenv(spank_t /*spank*/, const char* name) {
    count_call();
    const fakes::SparedMemory spared;
    current.environment.erase(name);
    return success;
}

spank_err_t spank_job_control_setenv(spank_t /*spank*/, const char* name, const char* value,
                                     int /*overwrite*/) {
    count_call();
    const fakes::SparedMemory spared;
    current.control[name] = value;
    return success;
}
}
