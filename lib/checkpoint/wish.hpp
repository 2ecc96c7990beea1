// What a user says of checkpoints: the values of --ckpt-interval and --ckpt-signal, and of the
// variables beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace railhead::checkpoint {

/// Which processes get the signal.
enum class Target : std::uint8_t {
    unsaid,  ///< the site's choice
    tasks,   ///< every task of every step
    batch,   ///< the batch script
    rank0    ///< the first task of each step
};
[[nodiscard]] std::string_view to_string(Target target);  ///< "" for unsaid

struct SignalWish {
    int number = 0;  ///< 0: none, whatever the site would send
    Target target = Target::unsaid;
};

/// "USR1", "SIGUSR1@tasks", "10@batch", "USR2@rank0", "none"; names in any case.
/// Fails with `bad_input` on an unknown name or target, and on signals that cannot be caught.
[[nodiscard]] Result<SignalWish> parse_signal_wish(std::string_view text);
[[nodiscard]] std::string to_string(const SignalWish& wish);

/// The name without "SIG": "USR1"; the number where it has none; "none" for 0.
[[nodiscard]] std::string signal_name(int number);

/// How often, in seconds; nothing: as often as pays ("auto").
struct IntervalWish {
    std::optional<double> seconds;
};

/// "auto", "30m", "1:30:00", and seconds: "1800", as the variable is told to trainers.
/// Fails with `bad_input` on anything else, and outside [1 s, 365 d].
[[nodiscard]] Result<IntervalWish> parse_interval_wish(std::string_view text);

/// Seconds as a variable has them: a number without a unit, or a time with one; from
/// Timing::least_s to a year. Nothing on anything else.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);

}  // namespace railhead::checkpoint
