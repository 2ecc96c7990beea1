// What every subcommand shares: where it writes and the exit status it leaves.
//
// A subcommand is one file with one `add_<name>()` that declares its options on the app and sets a
// callback.  The work itself is done by functions of lib/, which return text or a Result.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"

namespace railhead::cli {

/// Exit status, as in railhead(1).
enum Exit : int {
    fine = 0,
    findings = 1,  ///< the input was read and something is wrong with it, or a job would be refused
    usage = 2      ///< wrong options, or input that cannot be read
};

struct Console {
    std::ostream& out;
    std::ostream& err;
    int status = Exit::fine;

    /// Prints "railhead: file:line:col: message" and leaves Exit::usage.
    void fail(const Error& error);
    /// Prints "railhead: warning: file:line:col: message"; the exit status stays.
    void warn(const Error& error);
    /// Keeps the worst status seen.
    void leave(int exit) { status = exit > status ? exit : status; }
};

void add_allreduce(CLI::App& app, Console& console);
void add_catalog(CLI::App& app, Console& console);
void add_check(CLI::App& app, Console& console);
void add_ckpt(CLI::App& app, Console& console);
void add_diagnose(CLI::App& app, Console& console);
void add_exec(CLI::App& app, Console& console, std::vector<std::string> words);
void add_explain(CLI::App& app, Console& console);
void add_fabric(CLI::App& app, Console& console);
void add_gate(CLI::App& app, Console& console);
void add_health(CLI::App& app, Console& console);
void add_lemons(CLI::App& app, Console& console);
void add_mfu(CLI::App& app, Console& console);
void add_mtbf(CLI::App& app, Console& console);
void add_node(CLI::App& app, Console& console);
void add_order(CLI::App& app, Console& console);
void add_policy(CLI::App& app, Console& console);
void add_postmortem(CLI::App& app, Console& console);
void add_rails(CLI::App& app, Console& console);
void add_report(CLI::App& app, Console& console);
void add_size(CLI::App& app, Console& console);
void add_storage(CLI::App& app, Console& console);
void add_verify_placement(CLI::App& app, Console& console);

/// Takes the command of `exec` off the command line, from its first word that is no option of ours
/// on: the options of that command are not ours to read.  Gives it, without "--".
[[nodiscard]] std::vector<std::string> cut_command(std::vector<std::string>& arguments);

/// Runs the command line `arguments` (without the program's name); gives the exit status.
int run(const std::vector<std::string>& arguments, Console& console);

}  // namespace railhead::cli
