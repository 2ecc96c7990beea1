#include "options.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/guard.hpp"
#include "base/text.hpp"
#include "checkpoint/wish.hpp"

namespace railhead::spank {

namespace {

using Values = std::array<std::optional<std::string>, variables.size()>;

/// What was given on the command line.  One process sees one job: srun, sbatch and salloc end with
/// it, and slurmd starts a slurmstepd for each step.  Only its main thread comes here.
Values given;

bool is_switch(std::string_view text) {
    return parse_switch(text).has_value();
}

bool is_interval(std::string_view text) {
    return checkpoint::parse_interval_wish(text).has_value();
}

bool is_signal(std::string_view text) {
    return checkpoint::parse_signal_wish(text).has_value();
}

bool is_folder(std::string_view text) {
    return !text.empty() && text == printable(text);
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
    {"ckpt-interval", "auto|TIME",
     "[railhead] the job checkpoints and resumes; auto: as often as pays",
     "auto or a time from 1 s to 365 d: 30m, 1:30:00, 1800", &is_interval},
    {"ckpt-signal", "SIG[@tasks|@batch|@rank0]|none",
     "[railhead] signal when to checkpoint; only processes that catch it get it",
     "a signal that can be caught, and who gets it: USR1, USR2@rank0, TERM@batch, USR1@tasks; or "
     "none",
     &is_signal},
    {"ckpt-dir", "DIR", "[railhead] watch the checkpoints that the job writes there", "a folder",
     &is_folder},
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

/// Not by "none", which declares nothing.
bool wants_signal(const Choice& choice) {
    if (!choice.ckpt_signal) {
        return false;
    }
    const auto wish = checkpoint::parse_signal_wish(*choice.ckpt_signal);
    return wish && wish->number != 0;
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

bool tells_interval(const Lookup& lookup) {
    const auto source = lookup(checkpoint::variable::source);
    return source && *source != checkpoint::from::user;
}

bool speaks_of_checkpoints(const Choice& choice, const Lookup& lookup) {
    constexpr std::array told{checkpoint::variable::source, checkpoint::variable::cost,
                              checkpoint::variable::step};
    return choice.railhead &&
           (choice.ckpt_interval || wants_signal(choice) || choice.ckpt_dir ||
            std::ranges::any_of(told, [&](const char* name) { return lookup(name).has_value(); }));
}

Result<Choice> choose(const rails::PluginArguments& arguments, const Lookup& lookup) {
    Values said;
    for (std::size_t row = 0; row < table.size(); ++row) {
        auto value = given.at(row);
        if (!value) {
            // What we told has taken the place of the user's word; of that there may be the copy.
            const std::string name{variables.at(row)};
            const bool ours = name == checkpoint::variable::interval && tells_interval(lookup);
            value = lookup(ours ? "SLURM_SPANK_" + name : name);
        }
        if (!value || value->empty()) {
            continue;
        }
        if (!table.at(row).accepts(*value)) {
            return fail(Errc::bad_input, refusal(row, variables.at(row), *value));
        }
        said.at(row) = std::move(value);
    }
    const auto on = [&](std::size_t row, bool otherwise) {
        return said.at(row) ? parse_switch(*said.at(row)).value_or(otherwise) : otherwise;
    };
    Choice choice;
    choice.railhead = !arguments.user_off || on(0, true);
    choice.rail = choice.railhead && (arguments.user_off ? on(1, arguments.rail) : arguments.rail);
    choice.gpu_affinity = choice.railhead && (arguments.user_off ? on(2, arguments.gpu_affinity)
                                                                 : arguments.gpu_affinity);
    if (choice.railhead) {
        choice.ckpt_interval = std::move(said[4]);
        choice.ckpt_signal = std::move(said[5]);
        choice.ckpt_dir = std::move(said[6]);
    }
    return choice;
}

Result<Choice> choice_of(const rails::PluginArguments& arguments, const Session& session) {
    return choose(arguments, [&](std::string_view name) {
        auto value = session.variable(name);
        return value ? value : session.variable("SLURM_SPANK_" + std::string{name});
    });
}

}  // namespace railhead::spank
