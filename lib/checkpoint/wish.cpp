#include "checkpoint/wish.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/timing.hpp"
#include "job/quantity.hpp"

namespace railhead::checkpoint {

namespace {

constexpr double longest_s = 365.0 * 86400;
constexpr std::string_view no_signal = "none";

/// Those that a program may want to catch.
constexpr std::array<std::pair<std::string_view, int>, 12> signals{{{"HUP", SIGHUP},
                                                                    {"INT", SIGINT},
                                                                    {"QUIT", SIGQUIT},
                                                                    {"USR1", SIGUSR1},
                                                                    {"USR2", SIGUSR2},
                                                                    {"ALRM", SIGALRM},
                                                                    {"TERM", SIGTERM},
                                                                    {"CONT", SIGCONT},
                                                                    {"XCPU", SIGXCPU},
                                                                    {"URG", SIGURG},
                                                                    {"WINCH", SIGWINCH},
                                                                    {"IO", SIGIO}}};

constexpr std::array targets{Target::tasks, Target::batch, Target::rank0};

std::optional<int> signal_number(std::string_view text) {
    if (const auto number = parse_number<int>(text)) {
        const auto known = std::ranges::any_of(
            signals, [&](const auto& signal) { return signal.second == *number; });
        const bool realtime = *number >= SIGRTMIN && *number <= SIGRTMAX;
        return known || realtime ? number : std::nullopt;
    }
    if (text.size() > 3 && equals_ignoring_case(text.substr(0, 3), "SIG")) {
        text.remove_prefix(3);
    }
    for (const auto& [name, number] : signals) {
        if (equals_ignoring_case(name, text)) {
            return number;
        }
    }
    return std::nullopt;
}

std::optional<double> parse_plain_number(std::string_view text) {
    double value = 0;
    const auto* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && last == end ? std::optional{value} : std::nullopt;
}

}  // namespace

std::string_view to_string(Target target) {
    switch (target) {
        case Target::tasks:
            return "tasks";
        case Target::batch:
            return "batch";
        case Target::rank0:
            return "rank0";
        case Target::unsaid:
            break;
    }
    return "";
}

std::string signal_name(int number) {
    if (number == 0) {
        return std::string{no_signal};
    }
    for (const auto& [name, value] : signals) {
        if (value == number) {
            return std::string{name};
        }
    }
    return fmt::format("{}", number);
}

std::string to_string(const SignalWish& wish) {
    const auto target = to_string(wish.target);
    return fmt::format("{}{}{}", signal_name(wish.number), target.empty() ? "" : "@", target);
}

Result<SignalWish> parse_signal_wish(std::string_view text) {
    if (equals_ignoring_case(text, no_signal)) {
        return SignalWish{};
    }
    const auto at = text.find('@');
    const auto signal = text.substr(0, at);
    const auto number = signal_number(signal);
    if (!number) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is no signal that a program can save at: say USR1, USR2, "
                                "TERM, ..., or none",
                                printable(signal)));
    }
    SignalWish wish{*number, Target::unsaid};
    if (at == std::string_view::npos) {
        return wish;
    }
    const auto where = text.substr(at + 1);
    const auto* const found = std::ranges::find_if(
        targets, [&](Target target) { return equals_ignoring_case(to_string(target), where); });
    if (found == targets.end()) {
        return fail(
            Errc::bad_input,
            fmt::format("\"@{}\" is no target: it is @tasks, @batch or @rank0", printable(where)));
    }
    wish.target = *found;
    return wish;
}

std::optional<double> parse_seconds(std::string_view text) {
    auto seconds = parse_plain_number(trim(text));
    if (!seconds) {
        seconds = job::parse_duration_s(trim(text));
    }
    const bool sound =
        seconds && std::isfinite(*seconds) && *seconds >= Timing::least_s && *seconds <= longest_s;
    return sound ? seconds : std::nullopt;
}

Result<IntervalWish> parse_interval_wish(std::string_view text) {
    if (equals_ignoring_case(trim(text), "auto")) {
        return IntervalWish{};
    }
    const auto seconds = parse_seconds(text);
    if (!seconds || *seconds < 1) {
        return fail(
            Errc::bad_input,
            fmt::format("\"{}\" is no interval: say auto, 30m, 1:30:00 or seconds, from 1 s to "
                        "365 d",
                        printable(text)));
    }
    return IntervalWish{seconds};
}

}  // namespace railhead::checkpoint
