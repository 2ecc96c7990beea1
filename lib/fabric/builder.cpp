#include "fabric/builder.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "job/hostlist.hpp"

namespace railhead::fabric {

namespace {

/// Aggregated blocks go up to 2^15 base blocks.
constexpr std::uint32_t max_doubling = 1U << 15U;

tl::unexpected<Error> fail_at(const Field& field, std::string message) {
    return fail(Errc::bad_input, std::move(message), field.where);
}

/// Up to a few names of a list, for a message.
std::string shown_list(std::span<const std::string> names) {
    const auto text = job::compress_hostlist(names);
    constexpr std::size_t most = 120;
    return printable(text.substr(0, most)) + (text.size() > most ? "…" : "");
}

}  // namespace

std::string shown(std::string_view text) {
    constexpr std::size_t most = 60;
    return fmt::format("\"{}{}\"", printable(text.substr(0, most)), text.size() > most ? "…" : "");
}

Result<std::vector<std::string>> expand(const Field& list) {
    auto names = job::expand_hostlist(list.value);
    if (!names) {
        return fail_at(list, fmt::format("{}: {}", list.key, names.error().message));
    }
    return names;
}

/// The indices of the nodes named, new ones added to the fabric; ascending, no duplicates.  None
/// where nothing is said.
Result<std::vector<std::uint32_t>> FabricBuilder::add_nodes(const std::optional<Field>& list) {
    if (!list) {
        return {};
    }
    auto names = expand(*list);
    if (!names) {
        return propagate(names);
    }
    references_ += names->size();
    if (references_ > max_references) {
        return fail_at(*list, "more nodes in this file than any cluster has");
    }
    std::vector<std::uint32_t> indices;
    indices.reserve(names->size());
    for (auto& name : *names) {
        const auto [at, fresh] =
            nodes_.try_emplace(std::move(name), static_cast<std::uint32_t>(fabric_.nodes.size()));
        if (fresh) {
            fabric_.nodes.push_back(at->first);
        }
        indices.push_back(at->second);
    }
    std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    return indices;
}

Result<> FabricBuilder::claim(Names& names, const Field& name) {
    if (name.value.empty()) {
        return fail_at(name, fmt::format("{} without a name", name.key));
    }
    if (!names.try_emplace(std::string{name.value}, 0).second) {
        return fail_at(name, fmt::format("{} is defined twice", shown(name.value)));
    }
    return {};
}

void FabricBuilder::set_kind(Kind kind, const Position& where) {
    if (fabric_.kind == Kind::none) {
        fabric_.kind = kind;
    } else if (fabric_.kind != kind && fabric_.switches.empty() != fabric_.blocks.empty()) {
        warn("switches and blocks in one file: slurmctld refuses it", where);
    }
}

Result<> FabricBuilder::add_switch(const Entry& entry) {
    set_kind(Kind::tree, entry.name.where);
    if (auto mine = claim(switches_, entry.name); !mine) {
        return mine;
    }
    auto nodes = add_nodes(entry.nodes);
    if (!nodes) {
        return propagate(nodes);
    }
    if (!entry.nodes && entry.children) {
        auto names = expand(*entry.children);
        if (!names) {
            return propagate(names);
        }
        child_lists_.push_back({static_cast<std::uint32_t>(fabric_.switches.size()),
                                std::move(*names), entry.children->where});
    }
    auto& added = fabric_.switches.emplace_back();
    added.name = entry.name.value;
    added.nodes = std::move(*nodes);
    return {};
}

Result<> FabricBuilder::add_block(const Entry& entry) {
    set_kind(Kind::block, entry.name.where);
    if (auto mine = claim(blocks_, entry.name); !mine) {
        return mine;
    }
    auto nodes = add_nodes(entry.nodes);
    if (!nodes) {
        return propagate(nodes);
    }
    auto& added = fabric_.blocks.emplace_back();
    added.name = entry.name.value;
    added.nodes = std::move(*nodes);
    return {};
}

/// The first is the base block, the others are doublings of it.
Result<> FabricBuilder::set_block_sizes(std::span<const Field> sizes) {
    fabric_.block_sizes.clear();
    for (const auto& field : sizes) {
        set_kind(Kind::block, field.where);
        const auto size = parse_number<std::uint32_t>(trim(field.value));
        const auto base = fabric_.block_sizes.empty() ? size.value_or(0) : fabric_.block_sizes[0];
        if (!size || *size == 0 || *size % base != 0 || !std::has_single_bit(*size / base) ||
            *size / base > max_doubling) {
            return fail_at(field, fmt::format("{}: {} is not the first size times 1, 2, 4, …",
                                              field.key, shown(field.value)));
        }
        fabric_.block_sizes.push_back(*size);
    }
    std::ranges::sort(fabric_.block_sizes);
    return {};
}

/// Without sizes, Slurm takes the first block's as the base and allows 2 to 16 of them.
void FabricBuilder::set_default_sizes() {
    const auto first =
        std::ranges::find_if(fabric_.blocks, [](const Block& b) { return !b.nodes.empty(); });
    if (fabric_.block_sizes.empty() && first != fabric_.blocks.end()) {
        for (std::uint32_t factor = 1; factor <= 16; factor *= 2) {
            fabric_.block_sizes.push_back(factor * static_cast<std::uint32_t>(first->nodes.size()));
        }
    }
}

void FabricBuilder::warn_about_shared_nodes() {
    std::vector<std::uint8_t> homes(fabric_.nodes.size());
    std::vector<std::string> shared;
    for (const auto leaf : fabric_.leaves()) {
        for (const auto node : leaf) {
            if (homes[node] < 2 && ++homes[node] == 2) {
                shared.push_back(fabric_.nodes[node]);
            }
        }
    }
    if (!shared.empty()) {
        warn(fmt::format("{} under more than one {}: {}", count_of(shared.size(), "node"),
                         level_word(fabric_.kind, 0, 1), shown_list(shared)),
             where_);
    }
}

void FabricBuilder::warn_about_networks() {
    std::vector<std::string> roots;
    for (const auto index : fabric_.roots()) {
        const auto& root = fabric_.switches[index];
        if (root.nodes.size() == fabric_.nodes.size()) {
            return;
        }
        if (!root.nodes.empty()) {
            roots.push_back(
                fmt::format("{} ({})", printable(root.name), count_of(root.nodes.size(), "node")));
        }
    }
    if (roots.size() > 1) {
        const auto total = roots.size();
        roots.resize(std::min<std::size_t>(total, 6));
        warn(fmt::format("no switch joins all nodes, a job stays within one of these: {}{}",
                         fmt::join(roots, ", "), total > roots.size() ? ", …" : ""),
             where_);
    }
}

Result<Fabric> FabricBuilder::finish() {
    if (auto joined = join_switches(fabric_, child_lists_); !joined) {
        return propagate(joined);
    }
    set_default_sizes();
    if (fabric_.leaves().empty()) {
        fabric_.kind = Kind::none;
        warn("no switch or block with nodes: this is no topology", where_);
    }
    warn_about_shared_nodes();
    if (fabric_.kind == Kind::tree) {
        warn_about_networks();
    }
    return std::move(fabric_);
}

}  // namespace railhead::fabric
