#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"

namespace railhead::cli {

void Console::fail(const Error& error) {
    err << "railhead: " << printable(to_string(error)) << '\n';
    leave(Exit::usage);
}

void Console::warn(const Error& error) {
    err << "railhead: warning: " << printable(to_string(error)) << '\n';
}

int run(const std::vector<std::string>& arguments, Console& console) {
    CLI::App app{"Places, wires and protects training jobs on Slurm GPU clusters.", "railhead"};
    app.set_version_flag("--version", "railhead " RAILHEAD_VERSION);
    app.require_subcommand(1);
    add_explain(app, console);
    add_rails(app, console);
    add_check(app, console);
    try {
        auto reversed = arguments;  // CLI11 takes its words last first
        std::ranges::reverse(reversed);
        app.parse(reversed);
    } catch (const CLI::ParseError& error) {
        // CLI11's own codes are 100 and up
        return app.exit(error, console.out, console.err) == 0 ? Exit::fine : Exit::usage;
    }
    return console.status;
}

}  // namespace railhead::cli
