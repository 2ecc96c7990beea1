// railhead rails: which NIC each GPU of this node, or of a recorded one, sends through.
#include <memory>
#include <string>

#include "command.hpp"
#include "environment.hpp"
#include "node_source.hpp"
#include "rails/environment.hpp"
#include "rails/nccl_conf.hpp"
#include "rails/rail_plan.hpp"
#include "report/rails.hpp"

namespace railhead::cli {

namespace {

struct Options {
    NodeSource source;
    bool json = false;
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
    const auto node = read_node(options.source);
    if (!node) {
        return console.fail(node.error());
    }
    const auto plan = rails::plan_rails(*node);
    // A recorded node is another machine: neither its files nor its user are here.
    const bool here = options.source.is_live();
    const auto environment = rails::plan_environment(
        *node, plan, plan.gpus.empty() ? std::vector<std::size_t>{} : plan.gpus[0].nics,
        here ? conf_variables(console) : std::vector<rails::Owner>{},
        [here](std::string_view name) {
            return here ? own_variable(std::string{name}) : std::nullopt;
        });
    const report::NodeReport report{*node, plan, environment};
    console.out << (options.json ? report::rails_json(report) : report::rails_text(report));
}

}  // namespace

void add_rails(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("rails", "The NICs and CPUs of each GPU of a node");
    add_node_source(*command, options->source, "file");
    command->add_flag("--json", options->json, "Write JSON, schema railhead.rails/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
