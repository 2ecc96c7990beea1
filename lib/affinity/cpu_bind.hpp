// Whether the user bound the tasks: srun's --cpu-bind, in the places where it can be seen.
//
// Slurm binds tasks by itself too, and makes the same variables of that.  A user's choice is told
// from Slurm's in two places: in srun's own command line and environment, and on the node in the
// variables that srun sent along, as long as the tasks are not forked.
#pragma once

#include <string_view>

namespace railhead::affinity {

/// Whether a value of --cpu-bind or SLURM_CPU_BIND binds tasks: not "", "verbose" or "quiet".
[[nodiscard]] bool binds_tasks(std::string_view value);

/// Whether srun's command line, words ended by NUL as in /proc/self/cmdline, binds tasks:
/// "--cpu-bind=x", "--cpu-bind x", also "--cpu_bind", and cut short as getopt allows.  A word of
/// the user's program that looks like it counts too: then a task stays unbound that could have
/// been bound.
[[nodiscard]] bool command_binds_tasks(std::string_view command_line);

/// Whether SLURM_CPU_BIND_TYPE and SLURM_CPU_BIND_LIST, as srun sent them, come of --cpu-bind.
///
/// Only it gives a mode (none, map, mask, rank), and up to 24.11 only it gives a list.  A type
/// alone ("threads") also follows from --hint, --ntasks-per-core and the like, which are no wish
/// for a place: false.
[[nodiscard]] bool variables_bind_tasks(std::string_view type, std::string_view list);

}  // namespace railhead::affinity
