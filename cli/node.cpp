// railhead node record: what Railhead knows of a node, in a file that may be shown to strangers.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "node/neutral.hpp"
#include "node_site.hpp"
#include "node_source.hpp"
#include "output_file.hpp"

namespace railhead::cli {

namespace {

struct Options {
    NodeSource source;
    std::string output;
};

void record(const Options& options, Console& console) {
    auto node = read_node(options.source);
    if (!node) {
        return console.fail(node.error());
    }
    for (const auto& warning : node->warnings) {
        console.warn(warning);
    }
    const auto neutral = node::make_neutral(std::move(*node), own_names());
    if (options.output.empty()) {
        console.out << node::capture_text(neutral);
    } else if (const auto written = write_file(options.output, node::capture_text(neutral));
               !written) {
        return console.fail(written.error());
    }
    if (!neutral.left_out.empty()) {
        console.err << fmt::format("railhead: left out: {}\n", fmt::join(neutral.left_out, "; "));
    }
}

}  // namespace

void add_node(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* node = app.add_subcommand("node", "What is in a node");
    node->require_subcommand(1);
    auto* command = node->add_subcommand(
        "record", "Writes a node without what tells it from others, for bug reports");
    command->add_option("--output", options->output,
                        "The file to write (default: standard output)");
    command->add_option("--root", options->source.root,
                        "The machine's sys and proc lie below it (default: /)");
    add_node_source(*command, options->source, "--from");
    command->callback([options, &console] { record(*options, console); });
}

}  // namespace railhead::cli
