// railhead fabric plan: switches and cables of a cluster, and its configuration.
#include "fabric_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "check_plugins.hpp"
#include "fabric/plan.hpp"
#include "fabric/plan_files.hpp"
#include "output_file.hpp"
#include "quantity_reader.hpp"
#include "report/fabric_plan.hpp"
#include "some.hpp"

namespace railhead::cli {

namespace {

struct Options {
    fabric::PlanQuestion question;
    fabric::PlanSite site;
    std::string design = "rail-optimized";
    std::string topology;
    std::optional<std::string> memory;
    std::string slurm;
    std::string plugin_dir;
    std::string folder;
    std::string svg;
    bool json = false;
};

/// "24.11" or "24.11.5", as Slurm numbers it.
Result<std::uint32_t> parse_release(const std::string& text) {
    const auto parts = split(text, '.');
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        constexpr unsigned byte = 8;
        const auto part = i < parts.size() ? parse_number<std::uint8_t>(parts[i])
                                           : std::optional<std::uint8_t>{0};
        if (!part || parts.size() < 2 || parts.size() > 3) {
            return fail(Errc::bad_input, fmt::format("--slurm: \"{}\" is no release of Slurm: "
                                                     "expected one as 24.11 or 24.11.5",
                                                     printable(text)));
        }
        number = number << byte | *part;
    }
    return number;
}

Result<fabric::PlanSite> read_site(const Options& options) {
    auto site = options.site;
    if (!options.topology.empty()) {
        site.kind = options.topology == "block" ? fabric::Kind::block : fabric::Kind::tree;
    }
    QuantityReader reader;
    std::optional<double> bytes;
    reader.read("--memory", options.memory, Quantity::size, bytes);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    if (bytes) {
        constexpr double mib = 1048576;  // Slurm's megabyte
        site.memory_mb = static_cast<std::uint64_t>(*bytes / mib);
    }
    if (options.slurm.empty()) {
        site.slurm = slurm_version({options.plugin_dir});
        return site;
    }
    auto slurm = parse_release(options.slurm);
    if (!slurm) {
        return propagate(slurm);
    }
    site.slurm = *slurm;
    return site;
}

/// All files, or none.
Result<std::vector<fabric::PlannedFile>> write_files(const fabric::Plan& plan,
                                                     const Options& options) {
    const auto site = read_site(options);
    if (!site) {
        return tl::unexpected<Error>{site.error()};
    }
    auto files = plan_files(plan, *site);
    if (!files) {
        return propagate(files);
    }
    std::vector<NewFile> texts;
    for (const auto& file : *files) {
        texts.push_back({fmt::format("{}/{}", options.folder, file.name), file.text});
    }
    if (auto written = write_new_files(options.folder, texts); !written) {
        return propagate(written);
    }
    return files;
}

/// To whom reads the answer, or beside it where a program does.
void tell_of_files(const std::vector<fabric::PlannedFile>& files, const Options& options,
                   Console& console) {
    auto& to = options.json ? console.err : console.out;
    to << "\nWritten to " << printable(options.folder) << ":";
    for (const auto& file : files) {
        to << ' ' << file.name;
    }
    to << "\nTo try them: slurm.conf with \"Include nodes.conf\" beside them, railhead check.\n";
}

void run(Options options, Console& console) {
    const auto words = fabric::design_words();
    const auto word = std::ranges::find(words, options.design);
    options.question.design = static_cast<fabric::Design>(word - words.begin());
    const auto plan = fabric::make_plan(options.question);
    if (!plan) {
        return console.fail(plan.error());
    }
    std::vector<fabric::PlannedFile> files;
    if (!options.folder.empty()) {
        auto written = write_files(*plan, options);
        if (!written) {
            return console.fail(written.error());
        }
        files = std::move(*written);
    }
    if (!options.svg.empty()) {
        const auto written = write_file(options.svg, report::fabric_plan_svg(*plan));
        if (!written) {
            return console.fail(written.error());
        }
    }
    console.out << (options.json ? report::fabric_plan_json(*plan)
                                 : report::fabric_plan_text(*plan));
    if (!files.empty()) {
        tell_of_files(files, options, console);
    }
}

void add_design(CLI::App& command, Options& options) {
    auto& question = options.question;
    const std::string group = "What is to be built";
    std::vector<std::string> designs;
    for (const auto word : fabric::design_words()) {
        designs.emplace_back(word);
    }
    command.add_option("--gpus", question.gpus, "GPUs of the cluster")->check(some)->group(group);
    command.add_option("--nodes", question.nodes, "Nodes of the cluster")
        ->check(some)
        ->group(group);
    command.add_option("--gpus-per-node", question.gpus_per_node, "Default: 8; of nvl72 4")
        ->check(some)
        ->group(group);
    command.add_option("--nics", question.nics_per_node, "Rails of a node (default: as GPUs)")
        ->check(some)
        ->group(group);
    command.add_option("--nic-gbps", question.nic_gbps, "Default: 400")->group(group);
    command.add_option("--radix", question.radix, "Ports of a switch at that speed (default: 64)")
        ->check(some)
        ->group(group);
    command
        .add_option("--uplink-gbps", question.uplink_gbps, "Between switches (default: as a NIC)")
        ->group(group);
    command
        .add_option("--spine-radix", question.spine_radix,
                    "Ports of a spine at the uplinks' speed (default: of the same switch)")
        ->check(some)
        ->group(group);
    command
        .add_option("--design", options.design, "rail-optimized, spine-leaf, rail-only or nvl72")
        ->check(CLI::IsMember(designs))
        ->group(group);
    command.add_option("--tiers", question.tiers, "1, 2 or 3 (default: the fewest)")
        ->check(some)
        ->group(group);
    command
        .add_option("--unit-nodes", question.unit_nodes,
                    "Nodes of a scalable unit (default: as many as a leaf takes)")
        ->check(some)
        ->group(group);
    command
        .add_option("--oversubscription", question.oversubscription,
                    "Of a leaf's uplinks, 2 is 2:1 (default: 1)")
        ->group(group);
    command
        .add_option("--core-oversubscription", question.core_oversubscription,
                    "Of a spine's uplinks (default: 1)")
        ->group(group);
}

void add_files(CLI::App& command, Options& options) {
    auto& site = options.site;
    const std::string group = "Its configuration";
    auto* write = command
                      .add_option("--write", options.folder,
                                  "Write topology, nodes.conf, gres.conf and railhead.toml into "
                                  "this folder, over no file")
                      ->group(group);
    const auto add = [&](const std::string& name, auto& to, const std::string& what) {
        return command.add_option(name, to, what)->needs(write)->group(group);
    };
    add("--topology", options.topology, "tree or block (default: block of nvl72, else tree)")
        ->check(CLI::IsMember({"tree", "block"}));
    command.add_flag("--yaml", site.yaml, "topology.yaml, not topology.conf (Slurm 25.05 on)")
        ->needs(write)
        ->group(group);
    add("--slurm", options.slurm, "The release it is for (default: what is installed, or any)");
    add("--plugin-dir", options.plugin_dir, "Where the installed Slurm has its plugins");
    add("--node-name", site.node_prefix, "What the number of a node follows (default: gpu)");
    add("--gpu-type", site.gpu_type, "Type= of the GPUs: h100");
    add("--partition", site.partition, "Default: main");
    add("--sockets", site.sockets, "Of a node")->check(some);
    add("--cores", site.cores_per_socket, "Of a socket")->check(some);
    add("--threads", site.threads_per_core, "Of a core")->check(some);
    add("--memory", options.memory, "Of a node, that jobs may use: 2000GB");
}

}  // namespace

void add_fabric_plan(CLI::App& fabric, Console& console) {
    auto options = std::make_shared<Options>();
    options->plugin_dir = RAILHEAD_DEFAULT_PLUGIN_DIR;
    auto* command = fabric.add_subcommand("plan", "Switches and cables of a cluster to be bought");
    add_design(*command, *options);
    add_files(*command, *options);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.fabric-plan/1");
    command->add_option("--svg", options->svg, "Also draw the fabric into this file");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
