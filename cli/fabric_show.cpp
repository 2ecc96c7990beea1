// railhead fabric show: an existing topology as table, tree and picture.
#include "fabric_show.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "fabric/cluster.hpp"
#include "fabric/conf_tree.hpp"
#include "fabric/topology_yaml.hpp"
#include "output_file.hpp"
#include "report/fabric_show.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::string file;
    std::string slurm_conf;
    std::string name;
    std::string svg;
    bool json = false;
};

bool is_yaml(std::string_view file) {
    return file.ends_with(".yaml") || file.ends_with(".yml");
}

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

Result<std::vector<fabric::Fabric>> read_fabrics(const Options& options, std::string_view plugin,
                                                 std::vector<Error>& warnings) {
    const auto text = read_file(options.file);
    if (!text) {
        return tl::unexpected<Error>{text.error()};
    }
    if (is_yaml(options.file)) {
        return fabric::parse_topology_yaml(*text, options.file, &warnings);
    }
    auto fabric = fabric::parse_topology_conf(*text, options.file, &warnings);
    if (!fabric) {
        return propagate(fabric);
    }
    if (fabric->switches.empty() && fabric->blocks.empty()) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is no topology: it has neither SwitchName= nor BlockName= "
                                "lines; give a topology.conf or a topology.yaml",
                                printable(options.file)));
    }
    if (!fabric->switches.empty() && !fabric->blocks.empty()) {
        fabric::choose_kind(*fabric, plugin);
    }
    std::vector<fabric::Fabric> fabrics;
    fabrics.push_back(std::move(*fabric));
    return fabrics;
}

void warn(const std::vector<Error>& warnings, Console& console) {
    constexpr std::size_t most = 20;
    for (std::size_t i = 0; i < std::min(most, warnings.size()); ++i) {
        console.warn(warnings[i]);
    }
    if (warnings.size() > most) {
        console.warn({Errc::bad_input, fmt::format("and {} more", warnings.size() - most), {}});
    }
}

/// The one that was named, else the default one, else the first.
Result<const report::ShownFabric*> find_drawn(const std::vector<report::ShownFabric>& fabrics,
                                              const std::string& name) {
    const auto found = std::ranges::find_if(fabrics, [&](const report::ShownFabric& one) {
        return name.empty() ? one.fabric.is_default : one.fabric.name == name;
    });
    if (found != fabrics.end()) {
        return &*found;
    }
    if (!name.empty() || fabrics.empty()) {
        return fail(Errc::not_found, fmt::format("no topology \"{}\" to draw", printable(name)));
    }
    return &fabrics.front();
}

Result<> draw(const Options& options, const std::vector<report::ShownFabric>& shown) {
    auto one = find_drawn(shown, options.name);
    if (!one) {
        return propagate(one);
    }
    return write_file(options.svg, report::fabric_show_svg(**one, options.file));
}

void run(const Options& options, Console& console) {
    std::vector<Error> warnings;
    const auto cluster = read_cluster(options, warnings);
    if (!cluster) {
        return console.fail(cluster.error());
    }
    const auto* known = *cluster ? &**cluster : nullptr;
    auto fabrics = read_fabrics(options, known != nullptr ? known->topology_plugin : "", warnings);
    warn(warnings, console);
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
