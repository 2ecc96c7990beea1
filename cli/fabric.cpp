// railhead fabric: a fabric that is to be bought, or one that there is.
#include "command.hpp"
#include "fabric_plan.hpp"
#include "fabric_show.hpp"

namespace railhead::cli {

void add_fabric(CLI::App& app, Console& console) {
    auto* command = app.add_subcommand("fabric", "Plan the network of a cluster, or look at one");
    command->require_subcommand(1);
    add_fabric_plan(*command, console);
    add_fabric_show(*command, console);
}

}  // namespace railhead::cli
