// railhead order: the nodes of a job as its ranks should go through them.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "fabric/order.hpp"
#include "job/hostlist.hpp"
#include "places.hpp"
#include "policy/load.hpp"
#include "report/hostfile.hpp"

namespace railhead::cli {

namespace {

struct Options {
    policy::Places places;
    std::string partition;
    std::string addresses;
    std::vector<std::string> node_lists;
    std::string format = "hostfile";
    std::uint32_t slots = 0;
};

/// The names of all lists, each once, in the order written.
Result<std::vector<std::string>> expand(const std::vector<std::string>& lists) {
    std::vector<std::string> names;
    std::unordered_set<std::string> seen;
    for (const auto& list : lists) {
        auto expanded = job::expand_hostlist(list);
        if (!expanded) {
            return fail(Errc::bad_input, fmt::format("node list \"{}\": {}", printable(list),
                                                     expanded.error().message));
        }
        for (auto& name : *expanded) {
            if (seen.insert(name).second) {
                names.push_back(std::move(name));
            }
        }
    }
    return names;
}

Result<std::vector<fabric::Place>> read_addresses(const std::string& path) {
    if (path == "-") {
        const std::string text{std::istreambuf_iterator<char>{std::cin}, {}};
        return fabric::parse_addresses(text, "standard input");
    }
    auto text = read_file(path);
    if (!text) {
        return propagate(text);
    }
    return fabric::parse_addresses(*text, path);
}

/// The places of `names` alone, by the addresses read; of all addresses when no name is given.
std::vector<fabric::Place> chosen(std::vector<fabric::Place> places,
                                  const std::vector<std::string>& names) {
    if (names.empty()) {
        return places;
    }
    std::vector<fabric::Place> out;
    for (const auto& name : names) {
        const auto place = std::ranges::find(places, name, &fabric::Place::node);
        out.push_back(place != places.end() ? std::move(*place) : fabric::Place{name, {}, false});
    }
    return out;
}

/// Where slurm.conf cannot be read, a topology that was named still tells the order.
const policy::FabricSite* first_fabric(const policy::Site& site) {
    const auto planned = [](const policy::FabricSite& one) { return one.fabric.is_planned(); };
    const auto found = std::ranges::find_if(site.fabrics, planned);
    return found == site.fabrics.end() ? nullptr : &*found;
}

/// The fabric of the partition, as the site's files have it; a warning where there is none.
Result<std::vector<fabric::Place>> places_on_site(const Options& options,
                                                  const std::vector<std::string>& names,
                                                  Console& console) {
    const auto loaded = policy::load_cluster(options.places);
    const auto* partition = loaded.site->find(options.partition);
    if (partition == nullptr && !options.partition.empty()) {
        return fail(Errc::not_found, fmt::format("slurm.conf has no partition \"{}\"",
                                                 printable(options.partition)));
    }
    if (options.partition.empty()) {
        const auto* own = loaded.site->find(own_variable("SLURM_JOB_PARTITION").value_or(""));
        partition = own != nullptr ? own : partition;
    }
    const auto* site =
        partition != nullptr ? loaded.site->fabric_of(*partition) : first_fabric(*loaded.site);
    if (site == nullptr) {
        for (const auto& warning : loaded.warnings) {
            console.warn(warning);
        }
        return fail(Errc::not_found,
                    "no switches and no blocks are known: name a topology with --topology, or give "
                    "the nodes' addresses with --addresses");
    }
    return fabric::places_in(site->fabric, names);
}

void warn_of_unknown(const std::vector<fabric::Place>& places, Console& console) {
    std::vector<std::string> unknown;
    for (const auto& place : places) {
        if (!place.known) {
            unknown.push_back(place.node);
        }
    }
    if (!unknown.empty()) {
        console.warn(
            {Errc::not_found,
             fmt::format("nobody says where {} {}: last in the order",
                         job::compress_hostlist(unknown), unknown.size() == 1 ? "stands" : "stand"),
             {}});
    }
}

report::HostFormat format_of(const std::string& word) {
    const auto words = report::host_format_words();
    return static_cast<report::HostFormat>(std::ranges::find(words, word) - words.begin());
}

void run(const Options& options, Console& console) {
    auto lists = options.node_lists;
    if (lists.empty() && options.addresses.empty()) {
        lists.push_back(own_variable("SLURM_JOB_NODELIST").value_or(""));
    }
    const auto names = expand(lists);
    if (!names) {
        return console.fail(names.error());
    }
    if (names->empty() && options.addresses.empty()) {
        return console.fail({Errc::bad_input,
                             "no node to order: name some, or run inside a job, where "
                             "SLURM_JOB_NODELIST has them",
                             {}});
    }
    auto places = options.addresses.empty() ? places_on_site(options, *names, console)
                                            : read_addresses(options.addresses);
    if (!places) {
        return console.fail(places.error());
    }
    const auto ordered = fabric::rank_order(
        options.addresses.empty() ? std::move(*places) : chosen(std::move(*places), *names));
    warn_of_unknown(ordered, console);
    std::vector<std::string> hosts;
    for (const auto& place : ordered) {
        hosts.push_back(place.node);
    }
    console.out << report::hosts_text(hosts, format_of(options.format), options.slots);
}

}  // namespace

void add_order(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    options->places = policy::default_places();
    auto* command =
        app.add_subcommand("order", "The nodes of a job, neighbours on the fabric together");
    command->add_option("--addresses", options->addresses,
                        "Lines of \"node SLURM_TOPOLOGY_ADDR\"; - reads standard input");
    command->add_option("--slots", options->slots, "Ranks a node")->check(CLI::Range(1U, 65536U));
    command->add_option("--format", options->format, "hostfile (default), mpich, slurm or list")
        ->check(CLI::IsMember(report::host_format_words()));
    command->add_option("--partition", options->partition,
                        "Whose topology counts (default: the job's)");
    add_places(*command, options->places);
    command->add_option("nodes", options->node_lists, "Node lists (default: SLURM_JOB_NODELIST)");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
