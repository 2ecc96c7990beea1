// railhead fabric show: an existing topology as table, tree and picture.
#include "fabric_show.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "fabric/cluster.hpp"
#include "fabric/conf_tree.hpp"
#include "output_file.hpp"
#include "report/fabric_show.hpp"
#include "topology_file.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::string file;
    std::string slurm_conf;
    std::string name;
    std::string svg;
    bool json = false;
};

/// The slurm.conf that was named, else the one beside the topology; none is no fault then.
Result<std::optional<fabric::Cluster>> read_cluster(const Options& options,
                                                    std::vector<Error>& warnings) {
    const auto path = options.slurm_conf.empty() ? fabric::folder_of(options.file) + "slurm.conf"
                                                 : options.slurm_conf;
    auto cluster =
        fabric::read_cluster(path, [](const std::string& name) { return read_file(name); });
    if (cluster) {
        warnings.insert(warnings.end(), cluster->warnings.begin(), cluster->warnings.end());
        return std::move(*cluster);
    }
    if (options.slurm_conf.empty() && cluster.error().code == Errc::not_found) {
        return std::nullopt;
    }
    return propagate(cluster);
}

Result<> draw(const Options& options, const std::vector<report::ShownFabric>& shown) {
    std::vector<const fabric::Fabric*> fabrics;
    for (const auto& one : shown) {
        fabrics.push_back(&one.fabric);
    }
    const auto which = find_topology(fabrics, options.name);
    if (!which) {
        return tl::unexpected{which.error()};
    }
    return write_file(options.svg, report::fabric_show_svg(shown[*which], options.file));
}

void run(const Options& options, Console& console) {
    std::vector<Error> warnings;
    const auto cluster = read_cluster(options, warnings);
    if (!cluster) {
        return console.fail(cluster.error());
    }
    const auto* known = *cluster ? &**cluster : nullptr;
    auto fabrics =
        read_topology(options.file, known != nullptr ? known->topology_plugin : "", warnings);
    warn_of_topology(warnings, console);
    if (!fabrics) {
        return console.fail(fabrics.error());
    }
    std::vector<report::ShownFabric> shown;
    for (auto& fabric : *fabrics) {
        auto outline = fabric::make_outline(fabric, known);
        shown.push_back({std::move(fabric), std::move(outline)});
    }
    if (!options.svg.empty()) {
        const auto drawn = draw(options, shown);
        if (!drawn) {
            return console.fail(drawn.error());
        }
    }
    console.out << (options.json ? report::fabric_show_json(shown, options.file)
                                 : report::fabric_show_text(shown, options.file));
}

}  // namespace

void add_fabric_show(CLI::App& fabric, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command =
        fabric.add_subcommand("show", "A topology.conf or topology.yaml as table and tree");
    command->add_option("file", options->file, "topology.conf, or topology.yaml")->required();
    command->add_option(
        "--slurm-conf", options->slurm_conf,
        "Whose GPUs are counted (default: slurm.conf beside FILE, if there is one)");
    command->add_flag("--json", options->json, "Write JSON, schema railhead.fabric-show/1");
    auto* svg = command->add_option("--svg", options->svg, "Also draw it into this file");
    command->add_option("--name", options->name, "Which one of topology.yaml to draw")->needs(svg);
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
