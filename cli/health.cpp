// railhead health: whether the rails of this node are as they should be; for HealthCheckProgram.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "command.hpp"
#include "drain.hpp"
#include "node/verbs.hpp"
#include "node_site.hpp"
#include "node_source.hpp"
#include "rails/fingerprint.hpp"
#include "rails/health_check.hpp"
#include "report/health.hpp"

namespace railhead::cli {

namespace {

// slurmd ends a HealthCheckProgram after 60 s; with scontrol's own limits these are 10 s at most.
constexpr std::chrono::milliseconds node_limit{3500};
constexpr std::chrono::milliseconds ports_limit{1500};

struct Options {
    NodeSource source;
    std::vector<std::string> rails;
    std::optional<unsigned> gpus;
    std::string fingerprint;
    NodeSiteOptions site;
    std::string scontrol;
    bool json = false;
    bool verbose = false;
    bool strict = false;
    bool drain = false;
};

struct Looked {
    node::Node node;
    rails::RailPlan plan;
    std::vector<rails::Finding> findings;
};

/// A finding where the rails are not those that the site expects.
void add_drift(const Options& options, Looked& looked) {
    const auto own = rails::identify_rails(looked.node, looked.plan, "").fingerprint;
    if (options.fingerprint.empty() || own == options.fingerprint) {
        return;
    }
    looked.findings.insert(
        looked.findings.begin(),
        {rails::Severity::fault, "",
         fmt::format("rails {}, expected {}", own, printable(options.fingerprint)),
         "railhead rails --compare tells in what nodes differ"});
}

/// Fills `looked` as far as it gets.
Result<void> look(const Options& options, const NodeSite& site, Looked& looked) {
    auto read =
        options.source.is_live() ? read_own_node(options.source, site) : read_node(options.source);
    if (!read) {
        return propagate(read);
    }
    looked.node = std::move(*read);
    const auto& declared = options.rails.empty() ? site.declared.rails : options.rails;
    looked.plan = rails::plan_rails(looked.node, declared);
    rails::HealthCheck check{.root = options.source.root,
                             .declared = !declared.empty(),
                             .gpus = options.gpus,
                             .try_devices = {},
                             .limit = ports_limit};
    if (options.source.root == "/") {  // else the devices here are not those of the tree
        check.try_devices = &node::find_unusable_devices;
    }
    auto found = rails::check_health(looked.node, looked.plan, check);
    if (!found) {
        return propagate(found);
    }
    looked.findings = std::move(*found);
    add_drift(options, looked);
    return {};
}

void drain(const Options& options, const std::string& node, const std::string& reason,
           Console& console) {
    const auto scontrol =
        options.scontrol.empty() ? find_scontrol() : Result<std::string>{options.scontrol};
    const auto done =
        scontrol ? drain_node(*scontrol, node, reason) : Result<std::string>{scontrol};
    if (!done) {
        return console.warn(done.error());
    }
    console.err << "railhead: " << *done << '\n';
}

void run(const Options& options, Console& console) {
    constexpr bool here = true;  // a file describes this node, too
    const auto site = read_node_site(options.site, here, console);
    Looked looked;
    const auto told = look(options, site, looked);
    if (!told && !options.strict) {
        return console.fail(told.error());
    }
    const auto wrong = told ? rails::health_line(looked.findings, options.strict)
                            : "cannot tell: " + printable(to_string(told.error()));
    const bool healthy = wrong.empty();
    const report::HealthReport report{
        looked.node, looked.plan, looked.findings, healthy,
        healthy ? report::healthy_line(looked.node, looked.plan) : wrong};
    const auto line = "railhead: " + report.line;
    console.out << (options.json ? report::health_json(report) : line + '\n');
    if (options.verbose && !options.json) {
        console.out << report::health_text(report);
    }
    if (!healthy) {
        console.leave(Exit::findings);
        if (options.drain) {
            drain(options, site.node_name, line, console);
        }
    }
}

}  // namespace

void add_health(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    options->source.limit = node_limit;
    auto* command =
        app.add_subcommand("health", "Whether the rails of this node are up and at full speed");
    add_node_source(*command, options->source, "file");
    command->add_option("--root", options->source.root, "sys and proc lie below it (default: /)");
    command->add_option("--rails", options->rails, "The rails it should have: mlx5_0,mlx5_3")
        ->delimiter(',');
    command->add_option("--gpus", options->gpus, "How many GPUs it should have");
    command->add_option("--expect", options->fingerprint,
                        "The fingerprint of its rails, as railhead rails --fingerprint writes it");
    command->add_flag("--strict", options->strict,
                      "Advice, and not being able to tell, are unhealthy too");
    auto* drain = command->add_flag("--drain", options->drain, "Drain the node if it is unhealthy");
    command->add_option("--scontrol", options->scontrol, "Where scontrol is")->needs(drain);
    add_node_site(*command, options->site);
    command->add_flag("--verbose", options->verbose, "What to do about each finding");
    command->add_flag("--json", options->json, "Write JSON, schema railhead.health/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
