// railhead rails: which NIC each GPU of this node, or of a recorded one, sends through.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "command.hpp"
#include "nccl_files.hpp"
#include "node/probe.hpp"
#include "node_site.hpp"
#include "node_source.hpp"
#include "output_file.hpp"
#include "rails/environment.hpp"
#include "rails/fingerprint.hpp"
#include "rails/rail_plan.hpp"
#include "rails_compare.hpp"
#include "report/rails.hpp"
#include "report/rails_svg.hpp"
#include "why.hpp"

namespace railhead::cli {

namespace {

struct Options {
    NodeSource source;
    bool json = false;
    bool fingerprint = false;
    std::string svg;
    std::vector<std::string> compare;
    bool why = false;
    std::string variable;
    NodeSiteOptions site;
};

bool is_variable_name(std::string_view text) {
    return text.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
           std::string_view::npos;
}

/// This machine as the plugin would see it, or the recorded node that was named.
Result<node::Node> find_node(const NodeSource& source, const NodeSite& site) {
    return source.is_live() ? read_own_node(source, site) : read_node(source);
}

void run(const Options& options, Console& console) {
    if (!options.compare.empty()) {
        return compare_rail_files(options.compare, std::cin, console);
    }
    // A recorded node is another machine: neither its files nor its user are here.
    const bool here = options.source.is_live();
    const auto site = read_node_site(options.site, here, console);
    const auto node = find_node(options.source, site);
    if (!node) {
        return console.fail(node.error());
    }
    if (options.why) {
        return show_why(options.variable, options.json, {*node, site, here}, console);
    }
    const auto plan = rails::plan_rails(*node, site.declared.rails);
    const auto identity = rails::identify_rails(*node, plan, here ? site.node_name : node->source);
    if (options.fingerprint) {
        console.out << to_line(identity) << '\n';
        return;
    }
    if (!options.svg.empty()) {
        const auto written = write_file(options.svg, report::rails_svg(*node, plan));
        return written ? void() : console.fail(written.error());
    }
    const auto nics = plan.gpus.empty() ? std::vector<std::size_t>{} : plan.gpus[0].nics;
    const auto files = here ? read_nccl_files(site.arguments.nccl_conf, console)
                            : std::vector<rails::FileSetting>{};
    const rails::Lookup lookup = [here](std::string_view name) {
        return here ? own_variable(std::string{name}) : std::nullopt;
    };
    const auto environment = rails::plan_environment({.node = *node,
                                                      .plan = plan,
                                                      .nics = nics,
                                                      .files = files,
                                                      .environment = lookup,
                                                      .type = site.find_type(),
                                                      .declared_by = site.declared.by});
    const report::NodeReport report{*node, plan, environment, identity.node};
    console.out << (options.json ? report::rails_json(report) : report::rails_text(report));
}

}  // namespace

void add_rails(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("rails", "The NICs and CPUs of each GPU of a node");
    const auto recorded = add_node_source(*command, options->source, "file");
    auto* json = command->add_flag("--json", options->json, "Write JSON, schema railhead.rails/1; with --why, railhead.why/1");
    auto* fingerprint = command->add_flag("--fingerprint", options->fingerprint,
                                          "Write one line that is the same on nodes of one type");
    fingerprint->excludes(json);
    auto* why =
        command->add_option("--why", options->variable,
                            "Who sets this variable, and what others say (default: of all)");
    why->expected(0, 1)->excludes(fingerprint);
    auto* svg = command->add_option("--svg", options->svg, "Draw a picture into this file instead");
    svg->excludes(json)->excludes(fingerprint)->excludes(why);
    auto* compare =
        command
            ->add_option(
                "--compare", options->compare,
                "Compare nodes: what --fingerprint or --json wrote on them, or XML; - reads "
                "standard input")
            ->excludes(fingerprint)
            ->excludes(json)
            ->excludes(svg)
            ->excludes(why);
    for (auto* source : recorded) {
        compare->excludes(source);
    }
    add_node_site(*command, options->site);
    command->callback([options, why, &console] {
        options->why = why->count() > 0;
        if (!is_variable_name(options->variable) && options->source.is_live()) {
            std::swap(options->source.file, options->variable);  // `--why FILE`: of all, there
        }
        run(*options, console);
    });
}

}  // namespace railhead::cli
