// A line of a job's output without what launchers and loggers put in front of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railhead::training {

struct LogLine {
    std::string_view label;      ///< which rank wrote it: "0", "default7", "1,3"; may be empty
    std::optional<double> at_s;  ///< its time stamp, seconds since 1970 as if it were UTC
    std::string_view text;
};

/// Takes off labels (srun --label, torchrun --tee, mpirun --tag-output, Ray, kubectl), time stamps, levels
/// and "[file:line]" of loggers, in any order.
[[nodiscard]] LogLine strip_prefixes(std::string_view line);

/// `line` without the escape sequences of terminals (ECMA-48: CSI and OSC), put into `to`.
void strip_escapes(std::string_view line, std::string& to);

/// A number at the start of `text`, which may have thousands separators and be nan or inf; blanks
/// before it are skipped.  `rest`, unless null, is what follows.
[[nodiscard]] std::optional<double> leading_number(std::string_view text,
                                                   std::string_view* rest = nullptr);

}  // namespace railhead::training
