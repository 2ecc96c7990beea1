#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "command.hpp"
#include "help_text.hpp"

namespace railhead::cli {

void Console::fail(const Error& error) {
    err << "railhead: " << printable(to_string(error)) << '\n';
    leave(Exit::usage);
}

void Console::warn(const Error& error) {
    err << "railhead: warning: " << printable(to_string(error)) << '\n';
}

namespace {

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}

std::string unknown_command(const std::vector<std::string>& names, const std::string& name) {
    const std::vector<std::string_view> views{names.begin(), names.end()};
    const auto near = nearest_name(name, views);
    return fmt::format("unknown command \"{}\"{}", name,
                       near ? fmt::format(", did you mean \"{}\"?", *near)
                            : std::string{" (see railhead --help)"});
}

}  // namespace

int run(const std::vector<std::string>& arguments, Console& console) {
    CLI::App app{"Places, wires and protects training jobs on Slurm GPU clusters.", "railhead"};
    app.set_version_flag("--version", "railhead " RAILHEAD_VERSION);
    app.get_formatter()->column_width(help_column);
    app.require_subcommand(1);
    add_explain(app, console);
    add_rails(app, console);
    add_health(app, console);
    add_node(app, console);
    add_check(app, console);
    add_policy(app, console);
    add_order(app, console);
    add_verify_placement(app, console);
    add_ckpt(app, console);
    add_allreduce(app, console);
    add_catalog(app, console);
    add_diagnose(app, console);
    add_fabric(app, console);
    add_size(app, console);
    add_storage(app, console);
    add_mfu(app, console);
    add_mtbf(app, console);
    add_lemons(app, console);
    add_postmortem(app, console);
    auto words = arguments;
    auto command = cut_command(words);
    add_exec(app, console, std::move(command));
    const auto names = command_names(app);
    if (!arguments.empty() && !arguments[0].starts_with('-') &&
        std::ranges::find(names, arguments[0]) == names.end()) {
        console.fail({Errc::bad_input, unknown_command(names, arguments[0]), {}});
        return console.status;
    }
    try {
        std::ranges::reverse(words);  // CLI11 takes them last first
        app.parse(words);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {  // --help, --version
            std::ostringstream text;
            const auto status = app.exit(error, text, console.err);
            console.out << fit_help(text.str());
            return status;
        }
        console.fail({Errc::bad_input, std::string{error.what()} + " (see railhead --help)", {}});
        return console.status;
    }
    return console.status;
}

}  // namespace railhead::cli
