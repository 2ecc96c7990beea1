// The options that sbatch knows, and the environment variables that set them.
//
// The table is the union of sbatch 22.05 to 26.05, and of the SPANK plugins that training
// scripts use.  Taking a newer option does no harm on an older release: it says so itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railhead::job {

enum class Argument : std::uint8_t { none, required, optional };

/// SbatchOption::since of an option that a SPANK plugin adds.
constexpr unsigned from_plugin = 9999;

struct SbatchOption {
    std::string_view name;  ///< long name, without dashes
    Argument argument = Argument::none;
    char letter = 0;        ///< short name, 0 when there is none
    bool carries = false;   ///< a later component of a heterogeneous job inherits it
    unsigned since = 2205;  ///< first release, as year and month: 2411
};

/// A variable that sbatch reads, and the option that it sets.
struct SbatchVariable {
    std::string_view variable;
    std::string_view option;
};

/// In the order in which sbatch reads them: where two set one option, the later one counts.
[[nodiscard]] std::span<const SbatchVariable> sbatch_variables();

/// The option of exactly that long name; null when there is none.
[[nodiscard]] const SbatchOption* find_option(std::string_view name);
/// The option of that letter; null when there is none.
[[nodiscard]] const SbatchOption* find_option(char letter);
/// The options whose long name begins with `prefix`, as getopt_long() completes it.
[[nodiscard]] std::vector<const SbatchOption*> complete_option(std::string_view prefix);
/// The nearest option to a mistyped name; empty when none is near.
[[nodiscard]] std::string_view suggest_option(std::string_view name);

}  // namespace railhead::job
