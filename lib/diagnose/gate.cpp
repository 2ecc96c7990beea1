#include "diagnose/gate.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "diagnose/gate_checks.hpp"

namespace railhead::diagnose {

namespace {

std::string aim_text(double value, AimText text) {
    switch (text) {
        case AimText::share:
            return percent_text(value);
        case AimText::time:
            return span_text(value);
        case AimText::times:
            break;
    }
    return fmt::format("{:.3g} times", value);
}

}  // namespace

std::string_view name_of(GateGroup group) {
    constexpr std::array<std::string_view, 5> names{"MFU", "all-reduce", "failures", "scheduling",
                                                    "storage"};
    return names.at(static_cast<std::size_t>(group));
}

std::string_view name_of(GateVerdict verdict) {
    constexpr std::array<std::string_view, 3> names{"pass", "fail", "unknown"};
    return names.at(static_cast<std::size_t>(verdict));
}

std::uint64_t Gate::count(GateVerdict verdict) const {
    return static_cast<std::uint64_t>(std::ranges::count(checks, verdict, &GateCheck::verdict));
}

GateAim make_aim(const std::optional<policy::GateTarget>& site, const GateDefault& usual,
                 bool is_least, AimText text) {
    GateAim aim;
    aim.value = site ? site->value : usual.value;
    aim.is_least = is_least;
    aim.text = fmt::format("{} {}", is_least ? "at least" : "at most", aim_text(*aim.value, text));
    aim.from = site ? fmt::format("[gate], {}:{}", site->where.file, site->where.line)
                    : std::string{usual.source};
    return aim;
}

GateCheck make_check(GateGroup group, std::string_view id, std::string_view what, GateUnit unit,
                     GateAim aim) {
    GateCheck check;
    check.group = group;
    check.id = id;
    check.what = what;
    check.unit = unit;
    check.aim = std::move(aim);
    return check;
}

void judge(GateCheck& check, double value, std::string measured, std::string from) {
    check.value = value;
    check.measured = std::move(measured);
    check.from = std::move(from);
    if (!check.aim.value) {
        check.verdict = GateVerdict::unknown;
        return;
    }
    const bool is_met = check.aim.is_least ? value >= *check.aim.value : value <= *check.aim.value;
    check.verdict = is_met ? GateVerdict::pass : GateVerdict::fail;
}

/// Two decimals, without zeros at the end.
std::string percent_text(double share) {
    constexpr double hundred = 100;
    auto text = fmt::format("{:.2f}", share * hundred);
    text.erase(text.find_last_not_of('0') + 1);
    text.erase(text.find_last_not_of('.') + 1);
    return text + " %";
}

std::string span_text(double seconds) {
    constexpr double minute = 60;
    constexpr double hour = 3600;
    constexpr double day = 86400;
    if (seconds < 2 * minute) {
        return fmt::format("{:.3g} s", seconds);
    }
    if (seconds < 2 * hour) {
        return fmt::format("{:.3g} min", seconds / minute);
    }
    return seconds < 2 * day ? fmt::format("{:.3g} h", seconds / hour)
                             : fmt::format("{:.3g} d", seconds / day);
}

bool is_asked(const GateQuestion& question, const JobAttempt& attempt) {
    return question.jobs.empty() || std::ranges::any_of(question.jobs, [&](const auto& job) {
               return is_of_job(attempt, job);
           });
}

Gate pass_gate(const GateQuestion& question) {
    Gate gate;
    gate.checks.push_back(check_mfu(question));
    gate.checks.push_back(check_all_reduce(question));
    check_failures(question, gate.checks);
    check_scheduling(question, gate.checks);
    check_storage(question, gate.checks);
    return gate;
}

}  // namespace railhead::diagnose
