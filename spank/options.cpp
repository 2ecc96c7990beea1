#include "options.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/guard.hpp"
#include "base/text.hpp"

namespace railhead::spank {

namespace {

using Values = std::array<std::optional<std::string>, variables.size()>;

/// What was given on the command line.  One process sees one job: srun, sbatch and salloc end with
/// it, and slurmd starts a slurmstepd for each step.  Only its main thread comes here.
Values given;

bool is_switch(std::string_view text) {
    return parse_switch(text).has_value();
}

bool is_group(std::string_view text) {
    return parse_number<std::uint32_t>(text).value_or(0) > 0;
}

/// One option.  Slurm keeps pointers to the texts.
struct Row {
    const char* name;
    const char* values;
    const char* help;
    const char* takes;  ///< for the message
    bool (*accepts)(std::string_view);
};

constexpr std::array<Row, variables.size()> table{{
    {"railhead", "on|off", "[railhead] off: leave this job as stock Slurm would", "on|off",
     &is_switch},
    {"rail", "auto|off", "[railhead] choose the NICs of each GPU", "auto|off", &is_switch},
    {"gpu-affinity", "auto|off", "[railhead] bind tasks to the CPUs near their GPUs", "auto|off",
     &is_switch},
    {"mp-group", "N", "[railhead] nodes that hold one model-parallel group",
     "a whole number from 1", &is_group},
}};

std::string refusal(std::size_t option, std::string_view name, std::string_view value) {
    return fmt::format("{}={}: takes {}", name, printable(value), table.at(option).takes);
}

/// Slurm's callback: `option` is the row.  A negative answer makes the command refuse the option.
int take(int option, const char* value, int /*remote*/) {
    const auto row = static_cast<std::size_t>(option);
    const std::string_view text{value == nullptr ? "" : value};
    if (row >= table.size() || !table.at(row).accepts(text)) {
        slurm_error("railhead: %s",
                    row < table.size()
                        ? refusal(row, std::string{"--"} + table.at(row).name, text).c_str()
                        : "unknown option");
        return -1;
    }
    given.at(row) = text;
    return 0;
}

void report(const char* where, const char* what) noexcept {
    slurm_error("railhead: %s: %s", where, what);
}

}  // namespace

std::optional<bool> parse_switch(std::string_view text) {
    constexpr std::array yes{"on", "auto", "1", "yes", "true"};
    constexpr std::array no{"off", "0", "no", "false"};
    const auto same = [text](std::string_view word) { return equals_ignoring_case(text, word); };
    if (std::ranges::any_of(yes, same)) {
        return true;
    }
    return std::ranges::any_of(no, same) ? std::optional{false} : std::nullopt;
}

extern "C" {
static int railhead_take_option(int option, const char* value, int remote) {
    return guard("option", -1, &report, [&] { return take(option, value, remote); });
}
}

void register_options(spank_t handle) {
    for (std::size_t row = 0; row < table.size(); ++row) {
        const auto& entry = table.at(row);
        spank_option option{const_cast<char*>(entry.name), const_cast<char*>(entry.values),
                            const_cast<char*>(entry.help), 1,
                            static_cast<int>(row),         &railhead_take_option};
        if (spank_option_register(handle, &option) != ESPANK_SUCCESS) {
            slurm_error("railhead: cannot register --%s", entry.name);
        }
    }
}

Result<Choice> choose(const rails::PluginArguments& arguments, const Lookup& lookup) {
    std::array<std::optional<bool>, 3> switches;
    for (std::size_t row = 0; row < table.size(); ++row) {
        auto value = given.at(row);
        if (!value) {
            value = lookup(variables.at(row));
        }
        if (!value || value->empty()) {
            continue;
        }
        if (!table.at(row).accepts(*value)) {
            return fail(Errc::bad_input, refusal(row, variables.at(row), *value));
        }
        if (row < switches.size()) {
            switches.at(row) = parse_switch(*value);
        }
    }
    Choice choice;
    choice.railhead = !arguments.user_off || switches[0].value_or(true);
    choice.rail = choice.railhead &&
                  (arguments.user_off ? switches[1].value_or(arguments.rail) : arguments.rail);
    choice.gpu_affinity =
        choice.railhead && (arguments.user_off ? switches[2].value_or(arguments.gpu_affinity)
                                               : arguments.gpu_affinity);
    return choice;
}

}  // namespace railhead::spank
