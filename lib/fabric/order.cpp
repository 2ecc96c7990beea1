#include "fabric/order.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/levels.hpp"

namespace railhead::fabric {

namespace {

/// The path of each leaf of a tree: its network, the groups that it is in, itself.
std::vector<std::vector<std::string>> tree_paths(const Fabric& fabric) {
    std::vector<std::vector<std::string>> paths(fabric.leaves().size());
    const auto networks = find_networks(fabric);
    for (std::size_t i = 0; i < networks.size(); ++i) {
        for (const auto leaf : networks[i]) {
            if (paths[leaf].empty()) {
                paths[leaf].push_back(fmt::format("network {}", i));
            }
        }
    }
    const auto levels = find_levels(fabric);
    for (std::size_t leaf = 0; leaf < paths.size(); ++leaf) {
        for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
            paths[leaf].push_back(
                fmt::format("level {} group {}", level->level, level->group_of[leaf]));
        }
        paths[leaf].emplace_back(fabric.leaf_name(leaf));
    }
    return paths;
}

/// The path of each block with nodes: Slurm joins neighbours in the file, those without nodes
/// counted, block_sizes[i] nodes together.
std::vector<std::vector<std::string>> block_paths(const Fabric& fabric) {
    std::vector<std::vector<std::string>> paths;
    const auto& sizes = fabric.block_sizes;
    for (std::size_t block = 0; block < fabric.blocks.size(); ++block) {
        if (fabric.blocks[block].nodes.empty()) {
            continue;
        }
        auto& path = paths.emplace_back();
        for (auto size = sizes.rbegin(); size != sizes.rend() && *size > sizes.front(); ++size) {
            const auto together = *size / sizes.front();
            path.push_back(fmt::format("{} nodes, {}", *size, block / together));
        }
        path.push_back(fabric.blocks[block].name);
    }
    return paths;
}

/// One line of addresses; `words` has one to three.
Result<Place> parse_address(std::span<const std::string_view> words, const Position& where) {
    Place place{std::string{words[0]}, {}, words.size() > 1};
    if (!place.known) {
        return place;
    }
    const auto address = words[1];
    if (address == words[0]) {
        return place;  // a flat topology
    }
    if (!address.ends_with(words[0]) ||
        !address.substr(0, address.size() - words[0].size()).ends_with('.')) {
        return fail(Errc::bad_input,
                    fmt::format("the address \"{}\" does not end with its node, \".{}\"",
                                printable(address), printable(words[0])),
                    where);
    }
    // Switch names may hold dots: a split name makes more steps, but no other neighbours.
    for (const auto part : split(address.substr(0, address.size() - words[0].size() - 1), '.')) {
        place.path.emplace_back(part);
    }
    if (words.size() > 2) {
        const auto steps = static_cast<std::size_t>(std::ranges::count(words[2], '.'));
        if (steps == 0 || steps > place.path.size()) {
            return fail(Errc::bad_input,
                        fmt::format("the pattern \"{}\" is not that of the address \"{}\"",
                                    printable(words[2]), printable(address)),
                        where);
        }
    }
    return place;
}

}  // namespace

std::vector<Place> places_in(const Fabric& fabric, std::span<const std::string> nodes) {
    const auto paths = fabric.kind == Kind::block ? block_paths(fabric) : tree_paths(fabric);
    std::unordered_map<std::string_view, std::size_t> leaf_of;
    const auto leaves = fabric.leaves();
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        for (const auto node : leaves[leaf]) {
            leaf_of.emplace(fabric.nodes[node], leaf);
        }
    }
    std::vector<Place> places;
    for (const auto& node : nodes) {
        const auto leaf = leaf_of.find(node);
        const bool known = leaf != leaf_of.end();
        places.push_back({node, known ? paths[leaf->second] : std::vector<std::string>{}, known});
    }
    return places;
}

Result<std::vector<Place>> parse_addresses(std::string_view text, const std::string& file) {
    std::vector<Place> places;
    std::unordered_map<std::string, std::size_t> index;
    unsigned number = 0;
    for (const auto line : split(text, '\n')) {
        const Position where{file, ++number, 1};
        const auto words = split_words(trim(line));
        if (words.empty()) {
            continue;
        }
        if (words.size() > 3) {
            return fail(Errc::bad_input, "expected \"node address [pattern]\"", where);
        }
        auto place = parse_address(words, where);
        if (!place) {
            return propagate(place);
        }
        const auto [known, is_new] = index.emplace(place->node, places.size());
        if (is_new) {
            places.push_back(std::move(*place));
        } else if (places[known->second].path != place->path) {
            return fail(
                Errc::bad_input,
                fmt::format("node \"{}\" has another address above", printable(place->node)),
                where);
        }
    }
    return places;
}

std::vector<Place> rank_order(std::vector<Place> places) {
    // Each step of a path becomes the number of its first appearance below the steps above it.
    using Step = std::pair<std::size_t, std::string_view>;  // the number above, the name
    std::map<Step, std::size_t> numbers;
    std::vector<std::pair<std::vector<std::size_t>, std::size_t>> keys;  // and index in places
    for (std::size_t i = 0; i < places.size(); ++i) {
        std::vector<std::size_t> key{places[i].known ? 0U : 1U};
        std::size_t above = 0;
        for (const std::string_view name : places[i].path) {
            above = numbers.emplace(Step{above, name}, numbers.size() + 1).first->second;
            key.push_back(above);
        }
        keys.emplace_back(std::move(key), i);
    }
    std::ranges::sort(keys);
    std::vector<Place> ordered;
    for (const auto& [key, i] : keys) {
        ordered.push_back(std::move(places[i]));
    }
    return ordered;
}

}  // namespace railhead::fabric
