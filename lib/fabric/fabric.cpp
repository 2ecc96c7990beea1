#include "fabric/fabric.hpp"

#include <cstddef>

namespace railhead::fabric {

namespace {

bool is_leaf(const Switch& s) {
    return s.level == 0 && !s.nodes.empty();
}

}  // namespace

std::vector<std::span<const std::uint32_t>> Fabric::leaves() const {
    std::vector<std::span<const std::uint32_t>> sets;
    if (kind == Kind::tree) {
        for (const auto& s : switches) {
            if (is_leaf(s)) {
                sets.emplace_back(s.nodes);
            }
        }
    } else if (kind == Kind::block) {
        for (const auto& block : blocks) {
            if (!block.nodes.empty()) {
                sets.emplace_back(block.nodes);
            }
        }
    }
    return sets;
}

std::string_view Fabric::leaf_name(std::size_t i) const {
    for (const auto& s : switches) {
        if (kind == Kind::tree && is_leaf(s) && i-- == 0) {
            return s.name;
        }
    }
    for (const auto& block : blocks) {
        if (kind == Kind::block && !block.nodes.empty() && i-- == 0) {
            return block.name;
        }
    }
    return {};
}

std::vector<std::uint32_t> Fabric::roots() const {
    std::vector<bool> is_child(switches.size());
    for (const auto& s : switches) {
        for (const auto child : s.children) {
            is_child[child] = true;
        }
    }
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < switches.size(); ++i) {
        if (!is_child[i]) {
            indices.push_back(i);
        }
    }
    return indices;
}

}  // namespace railhead::fabric
