#include "fakes/fake_slurm.hpp"

#include <array>
#include <cstddef>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "fakes/failing_memory.hpp"

namespace {

std::mutex mutex;
std::vector<std::string> lines;

__attribute__((format(printf, 1, 0))) void record(const char* format, va_list arguments) {
    const fakes::SparedMemory spared;
    std::array<char, 4096> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    const std::lock_guard lock{mutex};
    if (lines.size() < 100'000) {
        lines.emplace_back(text.data());
    }
}

}  // namespace

namespace fake_slurm {

std::vector<std::string> logged() {
    const std::lock_guard lock{mutex};
    return lines;
}

void clear() {
    const std::lock_guard lock{mutex};
    lines.clear();
}

bool has_logged(const std::string& part) {
    for (const auto& line : logged()) {
        if (line.find(part) != std::string::npos) {
            return true;
        }
    }
    return false;
}

}  // namespace fake_slurm

extern "C" {

__attribute__((format(printf, 1, 2))) void slurm_error(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 1, 2))) void slurm_info(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(format, arguments);
    va_end(arguments);
}

char* slurm_xstrdup(const char* text) {
    return ::strdup(text);
}

int slurm_env_array_overwrite(char*** array, const char* name, const char* value) {
    // As slurmctld's own: it does not return without memory.
    const fakes::SparedMemory spared;
    const std::string entry = std::string{name} + "=" + value;
    std::size_t count = 0;
    for (; *array != nullptr && (*array)[count] != nullptr; ++count) {
        if (std::string{(*array)[count]}.starts_with(std::string{name} + "=")) {
            ::free((*array)[count]);
            (*array)[count] = ::strdup(entry.c_str());
            return 1;
        }
    }
    *array = static_cast<char**>(::realloc(*array, (count + 2) * sizeof(char*)));
    (*array)[count] = ::strdup(entry.c_str());
    (*array)[count + 1] = nullptr;
    return 1;
}

void slurm_xfree(void** item) {
    ::free(*item);
    *item = nullptr;
}
}
