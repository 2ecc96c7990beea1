// railhead rails: which NIC each GPU of this node, or of a recorded one, sends through.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "environment.hpp"
#include "node_source.hpp"
#include "output_file.hpp"
#include "rails/environment.hpp"
#include "rails/fingerprint.hpp"
#include "rails/nccl_conf.hpp"
#include "rails/rail_plan.hpp"
#include "rails_compare.hpp"
#include "report/rails.hpp"
#include "report/rails_svg.hpp"

namespace railhead::cli {

namespace {

struct Options {
    NodeSource source;
    bool json = false;
    bool fingerprint = false;
    std::string svg;
    std::vector<std::string> compare;
};

/// What NCCL would read here: the user's file, then the machine's.
std::vector<rails::Owner> conf_variables(Console& console) {
    const auto own = own_variable("NCCL_CONF_FILE");
    std::vector<rails::Owner> owners;
    for (const auto& path : {own ? *own : own_variable("HOME").value_or("") + "/.nccl.conf",
                             std::string{"/etc/nccl.conf"}}) {
        const auto names = rails::read_nccl_conf(path);
        if (!names) {
            console.warn(names.error());
            continue;
        }
        for (const auto& name : *names) {
            owners.push_back({name, path});
        }
    }
    return owners;
}

void run(const Options& options, Console& console) {
    if (!options.compare.empty()) {
        return compare_rail_files(options.compare, std::cin, console);
    }
    const auto node = read_node(options.source);
    if (!node) {
        return console.fail(node.error());
    }
    const auto plan = rails::plan_rails(*node);
    // A recorded node is another machine: neither its files nor its user are here.
    const bool here = options.source.is_live();
    const auto identity = rails::identify_rails(*node, plan, here ? host_name() : node->source);
    if (options.fingerprint) {
        console.out << to_line(identity) << '\n';
        return;
    }
    if (!options.svg.empty()) {
        const auto written = write_file(options.svg, report::rails_svg(*node, plan));
        return written ? void() : console.fail(written.error());
    }
    const auto environment = rails::plan_environment(
        *node, plan, plan.gpus.empty() ? std::vector<std::size_t>{} : plan.gpus[0].nics,
        here ? conf_variables(console) : std::vector<rails::Owner>{},
        [here](std::string_view name) {
            return here ? own_variable(std::string{name}) : std::nullopt;
        });
    const report::NodeReport report{*node, plan, environment, identity.node};
    console.out << (options.json ? report::rails_json(report) : report::rails_text(report));
}

}  // namespace

void add_rails(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("rails", "The NICs and CPUs of each GPU of a node");
    const auto recorded = add_node_source(*command, options->source, "file");
    auto* json = command->add_flag("--json", options->json, "Write JSON, schema railhead.rails/1");
    auto* fingerprint = command->add_flag("--fingerprint", options->fingerprint,
                                          "Write one line that is the same on nodes of one type");
    fingerprint->excludes(json);
    auto* svg = command->add_option("--svg", options->svg, "Draw a picture into this file instead");
    svg->excludes(json)->excludes(fingerprint);
    auto* compare =
        command
            ->add_option(
                "--compare", options->compare,
                "Compare nodes: what --fingerprint or --json wrote on them, or XML; - reads "
                "standard input")
            ->excludes(fingerprint)
            ->excludes(json)
            ->excludes(svg);
    for (auto* source : recorded) {
        compare->excludes(source);
    }
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
