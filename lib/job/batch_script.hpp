// What a batch script does with signals, as far as its text tells.
//
// Slurm's signal before the end goes either to the processes that srun started or to the batch
// script itself.  A process that does not catch it dies of it, so one has to know who would.
#pragma once

#include <cstddef>
#include <string_view>

namespace railhead::job {

struct BatchScript {
    bool shell = false;         ///< its interpreter is a shell; else it is the program itself
    bool starts_steps = false;  ///< srun stands in it
    bool traps = false;         ///< a shell that has a trap for the signal
    bool execs = false;         ///< a shell that becomes another program
    /// A program that is known to start others and to die of the signal, or a shell that srun
    /// starts: "torchrun".  Empty: none was seen.
    std::string_view launcher;

    /// Whether the script itself can take the signal.
    [[nodiscard]] bool catches() const;
    /// Whether the tasks of its steps are the programs that the user wrote.
    [[nodiscard]] bool steps_catch() const { return starts_steps && launcher.empty(); }
    /// Whether no more of the script would change who can: nobody.
    [[nodiscard]] bool is_told() const;
};

/// Looks at `text`, a whole script, of which no more is read than most_script_read bytes; `signal`
/// is the name that a trap would have, without "SIG".  Comments do not count.  One pass, which allocates
/// nothing, and ends where is_told(); what stands behind is then not in the answer.
[[nodiscard]] BatchScript look_at_script(std::string_view text, std::string_view signal);
inline constexpr std::size_t most_script_read = std::size_t{256} << 10U;

}  // namespace railhead::job
