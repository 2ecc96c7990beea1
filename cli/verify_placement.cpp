// railhead verify-placement: whether a job is on as few leaves as could hold it.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "job/hostlist.hpp"
#include "job_record.hpp"
#include "places.hpp"
#include "policy/load.hpp"
#include "policy/verify.hpp"
#include "report/placement.hpp"

namespace railhead::cli {

namespace {

struct Options {
    policy::Places places;
    std::string job;
    std::string nodes;
    std::string partition;
    bool json = false;
};

Result<std::vector<JobRecord>> ask_for_job(const std::string& job) {
    if (!is_job_name(job)) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is no job: expected 12, 12_3 or 12+1", printable(job)));
    }
    const auto text = output_of({"scontrol", "show", "job", job}, std::chrono::seconds{10});
    if (!text) {
        return fail(text.error().code, fmt::format("job {}: {}", job, text.error().message));
    }
    return parse_job_records(*text);
}

/// -C as plain features joined by "&": anything else ("a|b", "[a|b]") narrows nothing here, so the
/// minimal span may be told too small.
std::vector<std::string> plain_features(const std::string& constraint) {
    std::vector<std::string> features;
    if (constraint.find_first_of("|[]*()!") == std::string::npos) {
        for (const auto feature : split(constraint, '&')) {
            if (!feature.empty()) {
                features.emplace_back(feature);
            }
        }
    }
    return features;
}

Result<policy::Placement> verify(const JobRecord& record, const policy::Site& site) {
    auto nodes = job::expand_hostlist(record.node_list);
    auto excluded = job::expand_hostlist(record.excluded);
    if (!nodes || !excluded) {
        return fail(Errc::bad_input, fmt::format("a node list that cannot be read: {}",
                                                 (nodes ? excluded : nodes).error().message));
    }
    return policy::verify_placement(site, {std::move(*nodes), record.partition,
                                           plain_features(record.features), std::move(*excluded)});
}

/// What was asked for: the records of a job, or one made of nodes.
Result<std::vector<JobRecord>> records_of(const Options& options) {
    if (!options.nodes.empty()) {
        JobRecord record;
        record.node_list = options.nodes;
        record.partition = options.partition;
        return std::vector{std::move(record)};
    }
    const auto own = own_variable("SLURM_JOB_ID").value_or("");
    if (options.job.empty() && own.empty()) {
        return fail(Errc::bad_input, "name a job, or nodes with --nodes");
    }
    auto records = ask_for_job(options.job.empty() ? own : options.job);
    if (records && !options.partition.empty()) {
        for (auto& record : *records) {
            record.partition = options.partition;
        }
    }
    return records;
}

void run(const Options& options, Console& console) {
    const auto records = records_of(options);
    if (!records) {
        return console.fail(records.error());
    }
    const auto loaded = policy::load_cluster(options.places);
    if (loaded.degraded) {
        for (const auto& warning : loaded.warnings) {
            console.fail(warning);
        }
        return;
    }
    std::vector<report::PlacedJob> jobs;
    for (const auto& record : *records) {
        report::PlacedJob job{record.name, record.state, std::nullopt};
        if (!record.node_list.empty()) {
            auto placement = verify(record, *loaded.site);
            if (!placement) {
                return console.fail(placement.error());
            }
            job.placement = std::move(*placement);
        }
        const auto minimal = job.placement ? job.placement->is_minimal() : std::nullopt;
        console.leave(minimal == false ? Exit::findings : Exit::fine);
        jobs.push_back(std::move(job));
    }
    console.out << (options.json ? report::placement_json(jobs) : report::placement_text(jobs));
    if (std::ranges::none_of(jobs, [](const auto& job) {
            return job.placement && job.placement->is_minimal().has_value();
        })) {
        console.fail({Errc::not_found, "no placement could be verified", {}});
    }
}

}  // namespace

void add_verify_placement(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    options->places = policy::default_places();
    auto* command = app.add_subcommand("verify-placement",
                                       "Whether a job is on as few leaf switches as could hold it");
    auto* job =
        command->add_option("job", options->job, "12, 12_3 or 12+1 (default: SLURM_JOB_ID)");
    command->add_option("--nodes", options->nodes, "These nodes instead of a job's")->excludes(job);
    command->add_option("--partition", options->partition, "Whose nodes could have been taken");
    add_places(*command, options->places);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.placement/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
