#include <nlohmann/json.hpp>

#include "job/hostlist.hpp"
#include "report/fabric_show.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;

json extent_json(const fabric::Extent& extent) {
    return {{"least", extent.least}, {"most", extent.most}};
}

json levels_json(const fabric::Outline& outline) {
    auto out = json::array();
    for (const auto& level : outline.levels) {
        out.push_back({{"level", level.level},
                       {"switches", level.switches},
                       {"children", extent_json(level.children)},
                       {"nodes", extent_json(level.nodes)},
                       {"gpus", level.gpus ? extent_json(*level.gpus) : json(nullptr)}});
    }
    return out;
}

std::string hosts(const fabric::Fabric& fabric, const std::vector<std::uint32_t>& nodes) {
    std::vector<std::string> names;
    for (const auto node : nodes) {
        names.push_back(fabric.nodes[node]);
    }
    return job::compress_hostlist(names);
}

json switches_json(const fabric::Fabric& fabric) {
    auto out = json::array();
    for (const auto& s : fabric.switches) {
        auto children = json::array();
        for (const auto child : s.children) {
            children.push_back(fabric.switches[child].name);
        }
        out.push_back({{"name", s.name},
                       {"level", s.level},
                       {"children", std::move(children)},
                       {"node_count", s.nodes.size()},
                       {"nodes", hosts(fabric, s.nodes)}});
    }
    return out;
}

json blocks_json(const fabric::Fabric& fabric) {
    auto out = json::array();
    for (const auto& block : fabric.blocks) {
        out.push_back({{"name", block.name},
                       {"node_count", block.nodes.size()},
                       {"nodes", hosts(fabric, block.nodes)}});
    }
    return out;
}

json misfits_json(const ShownFabric& shown) {
    auto out = json::array();
    for (const auto& misfit : shown.outline.misfits) {
        out.push_back({{"name", name_of(shown.fabric, misfit.which)},
                       {"level", misfit.level},
                       {"children", misfit.children},
                       {"usual", misfit.usual}});
    }
    return out;
}

json fabric_json(const ShownFabric& shown) {
    const auto& [fabric, outline] = shown;
    return {{"name", fabric.name},
            {"default", fabric.is_default},
            {"kind", to_string(fabric.kind)},
            {"nodes", outline.nodes},
            {"gpus", outline.gpus ? json(*outline.gpus) : json(nullptr)},
            {"levels", levels_json(outline)},
            {"switches", switches_json(fabric)},
            {"blocks", blocks_json(fabric)},
            {"block_sizes", fabric.block_sizes},
            {"unlike", misfits_json(shown)},
            {"off_fabric", outline.off_fabric},
            {"not_in_slurm_conf", outline.unknown}};
}

}  // namespace

std::string fabric_show_json(std::span<const ShownFabric> fabrics, std::string_view file) {
    auto list = json::array();
    for (const auto& shown : fabrics) {
        list.push_back(fabric_json(shown));
    }
    const json out{
        {"schema", "railhead.fabric-show/1"}, {"file", file}, {"topologies", std::move(list)}};
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
