// railhead rails: which NIC each GPU of this node, or of a recorded one, sends through.
#include <memory>
#include <string>

#include "command.hpp"
#include "environment.hpp"
#include "nccl_files.hpp"
#include "node/probe.hpp"
#include "node_site.hpp"
#include "rails/environment.hpp"
#include "rails/rail_plan.hpp"
#include "report/rails.hpp"
#include "why.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::string hwloc_xml;
    bool json = false;
    bool why = false;
    std::string variable;
    NodeSiteOptions site;
};

void run(const Options& options, Console& console) {
    // A recorded node is another machine: neither its files nor its user are here.
    const bool here = options.hwloc_xml.empty();
    const auto site = read_node_site(options.site, here, console);
    const auto node = node::probe({.hwloc_xml = here ? site.arguments.topology : options.hwloc_xml,
                                   .root = here ? "/" : "/nonexistent"});
    if (!node) {
        return console.fail(node.error());
    }
    if (options.why) {
        return show_why(options.variable, {*node, site, here}, console);
    }
    const auto plan = rails::plan_rails(*node, site.declared.rails);
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
    const report::NodeReport report{*node, plan, environment};
    console.out << (options.json ? report::rails_json(report) : report::rails_text(report));
}

}  // namespace

void add_rails(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("rails", "The NICs and CPUs of each GPU of a node");
    command->add_option("--hwloc-xml", options->hwloc_xml,
                        "A recorded node: XML of lstopo (default: this machine)");
    auto* json = command->add_flag("--json", options->json, "Write JSON, schema railhead.rails/1");
    auto* why = command->add_option("--why", options->variable,
                                    "Who sets this variable, and what others say (default: of all)");
    why->expected(0, 1)->excludes(json);
    add_node_site(*command, options->site);
    command->callback([options, why, &console] {
        options->why = why->count() > 0;
        run(*options, console);
    });
}

}  // namespace railhead::cli
