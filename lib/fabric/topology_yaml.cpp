#include "fabric/topology_yaml.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/builder.hpp"
#include "fabric/yaml_file.hpp"
#include "fabric/yaml_reader.hpp"

namespace railhead::fabric {

namespace {

using Shape = Yaml::Shape;
using Keys = std::initializer_list<std::string_view>;

void warn_about_keys(YamlReader& reader, const Yaml& map, Keys known) {
    reader.warn_about_keys(map, std::span{known.begin(), known.size()});
}

Result<Fabric> read_tree(YamlReader& reader, const Yaml& tree) {
    warn_about_keys(reader, tree, {"switches"});
    FabricBuilder builder{reader.where(tree), reader.warnings()};
    auto switches = reader.maps_of(tree, "switches");
    if (!switches) {
        return propagate(switches);
    }
    for (const auto& item : *switches) {
        warn_about_keys(reader, item, {"switch", "nodes", "children"});
        auto entry = reader.entry_of(item, "switch");
        if (!entry) {
            return propagate(entry);
        }
        if (entry->nodes && entry->children) {
            reader.warn(item, fmt::format("switch {} has nodes and children: Slurm leaves the "
                                          "children out",
                                          shown(entry->name.value)));
        }
        if (auto added = builder.add_switch(*entry); !added) {
            return propagate(added);
        }
    }
    return builder.finish();
}

Result<Fabric> read_blocks(YamlReader& reader, const Yaml& block) {
    warn_about_keys(reader, block, {"block_sizes", "blocks"});
    FabricBuilder builder{reader.where(block), reader.warnings()};
    auto blocks = reader.maps_of(block, "blocks");
    if (!blocks) {
        return propagate(blocks);
    }
    for (const auto& item : *blocks) {
        warn_about_keys(reader, item, {"block", "nodes"});
        auto entry = reader.entry_of(item, "block");
        if (!entry) {
            return propagate(entry);
        }
        if (auto added = builder.add_block(*entry); !added) {
            return propagate(added);
        }
    }
    auto sizes = reader.words_of(block, "block_sizes");
    if (!sizes) {
        return propagate(sizes);
    }
    if (auto set = builder.set_block_sizes(*sizes); !set) {
        return propagate(set);
    }
    return builder.finish();
}

/// How many nodes a ring or torus has.
Result<std::size_t> count_nodes(const Entry& entry) {
    if (!entry.nodes) {
        return std::size_t{0};
    }
    auto nodes = expand(*entry.nodes);
    return nodes ? Result<std::size_t>{nodes->size()} : propagate(nodes);
}

Result<> check_rings(YamlReader& reader, const Yaml& ring) {
    auto rings = reader.maps_of(ring, "rings");
    if (!rings) {
        return propagate(rings);
    }
    for (const auto& item : *rings) {
        warn_about_keys(reader, item, {"ring", "nodes"});
        auto entry = reader.entry_of(item, "ring");
        if (!entry) {
            return propagate(entry);
        }
        if (entry->name.value.empty()) {
            return reader.fail_at(item, "ring without a name");
        }
        if (auto nodes = count_nodes(*entry); !nodes) {
            return propagate(nodes);
        }
    }
    return {};
}

/// The product of x, y and z.
Result<std::uint64_t> places_of(YamlReader& reader, const Yaml& torus) {
    const auto* dims = torus.find("dims");
    if (dims == nullptr || dims->shape != Shape::map) {
        return reader.fail_at(dims != nullptr ? *dims : torus,
                              "\"dims\" is to be a map of x, y and z");
    }
    std::uint64_t places = 1;
    for (const std::string_view axis : {"x", "y", "z"}) {
        const auto* value = dims->find(axis);
        const auto size =
            value != nullptr ? parse_number<std::uint16_t>(value->word) : std::nullopt;
        if (!size || *size == 0) {
            return reader.fail_at(value != nullptr ? *value : *dims,
                                  fmt::format("\"{}\" is to be a number above zero", axis));
        }
        places *= *size;
    }
    return places;
}

Result<> check_torus(YamlReader& reader, const Yaml& torus) {
    warn_about_keys(reader, torus, {"name", "nodes", "dims", "placements"});
    auto entry = reader.entry_of(torus, "name");
    if (!entry) {
        return propagate(entry);
    }
    auto nodes = count_nodes(*entry);
    if (!nodes) {
        return propagate(nodes);
    }
    auto places = places_of(reader, torus);
    if (!places) {
        return propagate(places);
    }
    if (torus.find("placements") != nullptr) {
        if (auto shapes = reader.maps_of(torus, "placements"); !shapes) {
            return propagate(shapes);
        }
    }
    if (*places != *nodes) {
        return reader.fail_at(
            torus, fmt::format("torus {} has {} places and {}: make them equal",
                               shown(entry->name.value), *places, count_of(*nodes, "node")));
    }
    return {};
}

Result<> check_tori(YamlReader& reader, const Yaml& torus3d) {
    auto tori = reader.maps_of(torus3d, "toruses");
    if (!tori) {
        return propagate(tori);
    }
    for (const auto& torus : *tori) {
        if (auto fine = check_torus(reader, torus); !fine) {
            return fine;
        }
    }
    return {};
}

/// The value that says which kind a topology is of.
struct KindValue {
    Kind kind = Kind::none;
    const Yaml* value = nullptr;
};

/// Whether a value claims its kind: an empty map does not, nor does "flat: false".
Result<bool> claims(YamlReader& reader, Kind kind, const Yaml& value) {
    if (kind == Kind::flat && value.shape == Shape::word) {
        return reader.flag_of(value);
    }
    if (value.shape != Shape::map) {
        return reader.wrong_shape(value, "a map");
    }
    return !value.items.empty();
}

/// In Slurm's order, which decides which of two kinds is the one too many.
Result<KindValue> find_kind(YamlReader& reader, const Yaml& topology, std::string_view name) {
    KindValue only;
    for (const auto kind : {Kind::block, Kind::flat, Kind::ring, Kind::torus3d, Kind::tree}) {
        const auto* value = topology.find(to_string(kind));
        auto claimed = value != nullptr ? claims(reader, kind, *value) : Result<bool>{false};
        if (!claimed) {
            return propagate(claimed);
        }
        if (*claimed && only.value != nullptr) {
            return reader.fail_at(*value, fmt::format("\"{}\" beside \"{}\": a topology is of one "
                                                      "kind",
                                                      value->key, only.value->key));
        }
        only = *claimed ? KindValue{kind, value} : only;
    }
    const auto* flat = topology.find("flat");
    if (only.value == nullptr && flat != nullptr && flat->shape == Shape::map) {
        return KindValue{Kind::flat, flat};  // "flat: {}", where there is nothing else
    }
    if (only.value == nullptr) {
        return reader.fail_at(topology, fmt::format("topology {} is of no kind: give it a tree, "
                                                    "block, flat, ring or torus3d",
                                                    shown(name)));
    }
    return only;
}

Result<Fabric> read_kind(YamlReader& reader, const KindValue& found) {
    Result<> fine;
    switch (found.kind) {
        case Kind::tree: return read_tree(reader, *found.value);
        case Kind::block: return read_blocks(reader, *found.value);
        case Kind::ring: fine = check_rings(reader, *found.value); break;
        case Kind::torus3d: fine = check_tori(reader, *found.value); break;
        case Kind::flat:
        case Kind::none: break;
    }
    if (!fine) {
        return propagate(fine);
    }
    Fabric fabric;
    fabric.kind = found.kind;
    return fabric;
}

Result<Fabric> read_topology(YamlReader& reader, const Yaml& topology) {
    if (topology.shape != Shape::map) {
        return reader.wrong_shape(topology, "a map, as every topology");
    }
    warn_about_keys(reader, topology,
                    {"topology", "cluster_default", "block", "flat", "ring", "torus3d", "tree"});
    auto name = reader.field_of(topology, "topology");
    if (!name) {
        return propagate(name);
    }
    const auto* marked = topology.find("cluster_default");
    auto is_default = marked != nullptr ? reader.flag_of(*marked) : Result<bool>{false};
    if (!is_default) {
        return propagate(is_default);
    }
    const auto called = *name ? (*name)->value : std::string_view{};
    auto kind = find_kind(reader, topology, called);
    if (!kind) {
        return propagate(kind);
    }
    auto fabric = read_kind(reader, *kind);
    if (fabric) {
        fabric->name = called;
        fabric->is_default = *is_default;
    }
    return fabric;
}

/// Of two topologies of one name, or two defaults, Slurm takes the first.
void warn_about_doubles(YamlReader& reader, std::span<const Fabric> fabrics,
                        std::span<const Yaml> topologies) {
    for (std::size_t i = 1; i < fabrics.size(); ++i) {
        const auto before = fabrics.first(i);
        const auto& fabric = fabrics[i];
        if (std::ranges::find(before, fabric.name, &Fabric::name) != before.end()) {
            reader.warn(topologies[i],
                        fmt::format("topology {} is defined twice: Slurm takes the first",
                                    shown(fabric.name)));
        }
        if (fabric.is_default && std::ranges::any_of(before, &Fabric::is_default)) {
            reader.warn(
                topologies[i],
                fmt::format("topology {} is a second cluster_default: Slurm takes the first",
                            shown(fabric.name)));
        }
    }
}

Result<std::vector<Fabric>> read_file(YamlReader& reader, const Yaml& root) {
    if (root.shape == Shape::word) {
        return reader.wrong_shape(root, "a list of topologies");
    }
    const auto topologies = root.shape == Shape::map ? std::span{&root, 1} : std::span{root.items};
    std::vector<Fabric> fabrics;
    for (const auto& topology : topologies) {
        auto fabric = read_topology(reader, topology);
        if (!fabric) {
            return propagate(fabric);
        }
        fabrics.push_back(std::move(*fabric));
    }
    if (fabrics.empty()) {
        reader.warn(root, "no topology in this file: slurmctld does not start with it");
    }
    warn_about_doubles(reader, fabrics, topologies);
    return fabrics;
}

}  // namespace

Result<std::vector<Fabric>> parse_topology_yaml(std::string_view text, const std::string& file,
                                                std::vector<Error>* warnings) {
    std::vector<Error> unheard;
    YamlReader reader{file, warnings != nullptr ? *warnings : unheard};
    bool more = false;
    auto root = parse_yaml(text, file, more);
    if (!root) {
        return propagate(root);
    }
    if (more) {
        reader.warn(*root, "a second document: Slurm reads the first alone");
    }
    return read_file(reader, *root);
}

}  // namespace railhead::fabric
