#include "node_source.hpp"

#include <array>
#include <chrono>
#include <utility>

#include "base/pipe.hpp"
#include "node/probe.hpp"

namespace railhead::cli {

namespace {

using node::SourceKind;

constexpr std::string_view standard_input = "-";

/// The file that was named, and the kind that it was named as.
std::pair<std::string, SourceKind> named(const NodeSource& source) {
    for (const auto& [file, kind] : {std::pair{source.topo_m, SourceKind::topo_m},
                                     std::pair{source.hwloc_xml, SourceKind::hwloc_xml},
                                     std::pair{source.nccl_xml, SourceKind::nccl_xml}}) {
        if (!file.empty()) {
            return {file, kind};
        }
    }
    return {source.file, SourceKind::unknown};
}

}  // namespace

bool NodeSource::is_live() const {
    return named(*this).first.empty();
}

std::array<CLI::Option*, 4> add_node_source(CLI::App& command, NodeSource& source,
                                            const std::string& name) {
    auto* any = command.add_option(
        name, source.file,
        "A recorded node, of any kind; - reads standard input (default: this machine)");
    auto* topo_m = command.add_option("--topo-m", source.topo_m, "The text of nvidia-smi topo -m");
    auto* hwloc = command.add_option("--hwloc-xml", source.hwloc_xml, "XML of lstopo");
    auto* nccl = command.add_option("--nccl-xml", source.nccl_xml, "NCCL's topology XML");
    const std::array options{any, topo_m, hwloc, nccl};
    for (auto* const option : options) {
        // An unset variable of a script, which shall not mean this machine.
        option->check([](const std::string& file) {
            return file.empty() ? std::string{"the name of the file is empty"} : std::string{};
        });
    }
    for (std::size_t i = 0; i < options.size(); ++i) {
        for (std::size_t j = i + 1; j < options.size(); ++j) {
            options[i]->excludes(options[j]);
        }
    }
    return options;
}

Result<node::Node> read_own_node(const NodeSource& source, const NodeSite& site) {
    return node::probe({.file = site.arguments.topology,
                        .root = source.root,
                        .limit = source.limit,
                        .owner = site.owner});
}

Result<node::Node> read_node(const NodeSource& source) {
    auto [file, kind] = named(source);
    node::ProbeOptions options;
    options.file = file;
    options.kind = kind;
    options.root = source.root;
    options.limit = source.limit;
    if (file.empty()) {
        return node::probe(options);
    }
    options.root = "/nonexistent";  // a recorded node is another machine
    if (file == standard_input) {
        constexpr int descriptor = 0;
        auto text = read_to_end(descriptor, std::chrono::steady_clock::time_point::max());
        if (!text) {
            return propagate(text);
        }
        options.file = "standard input";
        options.text = std::move(*text);
    }
    return node::probe(options);
}

}  // namespace railhead::cli
