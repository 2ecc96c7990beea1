// The times that system logs put before a line.
#pragma once

#include <optional>
#include <string_view>

namespace railhead::diagnose {

/// When a line was written, as far as its log tells.
struct When {
    std::optional<double> at_s;      ///< seconds since 1970; of local times as if they were UTC
    std::optional<double> uptime_s;  ///< seconds since the boot
    std::string_view written;        ///< as it stands there
};

/// The time that `line` begins with, taken off it: "[12345.678901]" and "[Fri Aug 30 11:43:09
/// 2024]" of dmesg, "Aug 30 11:43:09" of the journal (which has no year: written alone),
/// "2024-08-30T11:43:09+00:00" of rsyslog and journalctl -o short-iso, "[2024-08-30T11:43:09.123]"
/// of Slurm.  What dmesg -x and /dev/kmsg put before it is taken too.
[[nodiscard]] When take_when(std::string_view& line);

}  // namespace railhead::diagnose
