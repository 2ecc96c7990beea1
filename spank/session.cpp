#include "session.hpp"

#include <array>
#include <cstring>

namespace railhead::spank {

std::optional<std::string> Session::variable(std::string_view name) const {
    const std::string key{name};
    // Not cleared, and as large as the list of masks of some 100 tasks: a task touches few pages.
    std::array<char, 4096> small;
    auto status = spank_getenv(handle_, key.c_str(), small.data(), small.size());
    if (status == ESPANK_SUCCESS) {
        return std::string{small.data()};
    }
    if (status != ESPANK_NOSPACE) {
        return std::nullopt;
    }
    constexpr std::size_t most = std::size_t{128} << 10U;  // MAX_ARG_STRLEN
    std::string large(most, '\0');
    status = spank_getenv(handle_, key.c_str(), large.data(), static_cast<int>(large.size()));
    if (status != ESPANK_SUCCESS) {
        return std::nullopt;
    }
    large.resize(std::strlen(large.c_str()));
    return large;
}

bool Session::set(const std::string& name, const std::string& value) const {
    constexpr int overwrite = 1;
    return spank_setenv(handle_, name.c_str(), value.c_str(), overwrite) == ESPANK_SUCCESS;
}

void Session::unset(const std::string& name) const {
    spank_unsetenv(handle_, name.c_str());
}

std::optional<std::uint32_t> Session::number(spank_item item) const {
    std::uint32_t value = 0;
    if (spank_get_item(handle_, item, &value) != ESPANK_SUCCESS) {
        return std::nullopt;
    }
    return value;
}

StepKind Session::kind() const {
    // slurm.h has these as SLURM_BATCH_SCRIPT and SLURM_INTERACTIVE_STEP.
    constexpr std::uint32_t batch = 0xfffffffb;
    constexpr std::uint32_t interactive = 0xfffffffa;
    switch (number(S_JOB_STEPID).value_or(0)) {
        case batch:
            return StepKind::batch;
        case interactive:
            return StepKind::interactive;
        default:
            return StepKind::step;
    }
}

}  // namespace railhead::spank
