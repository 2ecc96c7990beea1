// Whether the user bound the tasks or their memory: srun's --cpu-bind and --mem-bind, in the places
// where they can be seen.
//
// Slurm binds tasks by itself too, and makes the same variables of that.  A user's choice is told
// from Slurm's in two places: in srun's own command line and environment, and on the node in the
// variables that srun sent along, as long as the tasks are not forked.
#pragma once

#include <string_view>

namespace railhead::affinity {

/// Whether a value of --cpu-bind or SLURM_CPU_BIND binds tasks: not "", "verbose" or "quiet".
[[nodiscard]] bool binds_tasks(std::string_view value);

/// Whether a value of --mem-bind or SLURM_MEM_BIND binds memory: not those, "sort" or "nosort".
[[nodiscard]] bool binds_memory(std::string_view value);

/// Whether srun's command line, words ended by NUL as in /proc/self/cmdline, binds tasks:
/// "--cpu-bind=x", "--cpu-bind x", also "--cpu_bind", and cut short as getopt allows.
///
/// The options of the user's program do not count: it begins at "--", or at the first word that is
/// no option and cannot be the value of one.  Which options have a value is not known here, so in
/// doubt ("-l app") a word of the program that looks like it counts too: then a task stays unbound
/// that could have been bound.
[[nodiscard]] bool command_binds_tasks(std::string_view command_line);

/// The same of --mem-bind.
[[nodiscard]] bool command_binds_memory(std::string_view command_line);

/// Whether SLURM_CPU_BIND_TYPE and SLURM_CPU_BIND_LIST, as srun sent them, come of --cpu-bind.
///
/// Only it gives a mode (none, map, mask, rank), and up to 24.11 only it gives a list.  A type
/// alone ("threads") also follows from --hint, --ntasks-per-core and the like, which are no wish
/// for a place: false.
[[nodiscard]] bool variables_bind_tasks(std::string_view type, std::string_view list);

/// Whether SLURM_MEM_BIND_TYPE, as srun sent it, comes of --mem-bind: nothing else names a mode.
[[nodiscard]] bool variables_bind_memory(std::string_view type);

}  // namespace railhead::affinity
