#include "fabric/outline.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace railhead::fabric {

namespace {

void widen(Extent& extent, std::uint64_t value, bool first) {
    extent.least = first ? value : std::min(extent.least, value);
    extent.most = first ? value : std::max(extent.most, value);
}

class Outliner {
 public:
    Outliner(const Fabric& fabric, const Cluster* cluster) : fabric_{fabric}, cluster_{cluster} {}

    Outline run() {
        out_.nodes = fabric_.nodes.size();
        look_up_gpus();
        if (fabric_.kind == Kind::tree || fabric_.kind == Kind::block) {
            set_levels();
            find_misfits();
            name_shapes();
            seen_.resize(count());
            out_.tops = groups_of(top_ones());
        }
        return std::move(out_);
    }

 private:
    [[nodiscard]] bool is_tree() const { return fabric_.kind == Kind::tree; }
    [[nodiscard]] std::uint32_t count() const {
        return static_cast<std::uint32_t>(is_tree() ? fabric_.switches.size()
                                                    : fabric_.blocks.size());
    }
    [[nodiscard]] unsigned level_of(std::uint32_t i) const {
        return is_tree() ? fabric_.switches[i].level : 0;
    }
    [[nodiscard]] const std::vector<std::uint32_t>& nodes_of(std::uint32_t i) const {
        return is_tree() ? fabric_.switches[i].nodes : fabric_.blocks[i].nodes;
    }
    [[nodiscard]] std::uint64_t children_of(std::uint32_t i) const {
        return level_of(i) > 0 ? fabric_.switches[i].children.size() : nodes_of(i).size();
    }
    [[nodiscard]] std::optional<std::uint64_t> gpus_of(std::uint32_t i) const {
        if (cluster_ == nullptr) {
            return std::nullopt;
        }
        std::uint64_t sum = 0;
        for (const auto node : nodes_of(i)) {
            sum += gpus_[node];
        }
        return sum;
    }

    void look_up_gpus();
    void set_levels();
    void find_misfits();
    void name_shapes();
    std::vector<std::uint32_t> top_ones() const;
    std::vector<OutlineGroup> groups_of(const std::vector<std::uint32_t>& ones);

    const Fabric& fabric_;
    const Cluster* cluster_;
    Outline out_;
    std::vector<std::uint32_t> gpus_;    ///< by node of the fabric
    std::vector<std::uint32_t> shapes_;  ///< by switch or block: equal where what is below is equal
    std::vector<bool> seen_;
};

void Outliner::look_up_gpus() {
    if (cluster_ == nullptr) {
        return;
    }
    std::uint64_t sum = 0;
    std::vector<bool> on_fabric(cluster_->nodes.size());
    for (const auto& name : fabric_.nodes) {
        const auto at = cluster_->find_node(name);
        gpus_.push_back(at ? cluster_->nodes[*at].gpu_total() : 0);
        sum += gpus_.back();
        if (at) {
            on_fabric[*at] = true;
        } else {
            out_.unknown.push_back(name);
        }
    }
    out_.gpus = sum;
    for (std::size_t i = 0; i < on_fabric.size(); ++i) {
        if (!on_fabric[i]) {
            out_.off_fabric.push_back(cluster_->nodes[i].name);
        }
    }
}

void Outliner::set_levels() {
    unsigned top = 0;
    for (std::uint32_t i = 0; i < count(); ++i) {
        top = std::max(top, level_of(i));
    }
    out_.levels.resize(top + 1U);
    for (std::uint32_t i = 0; i < count(); ++i) {
        auto& level = out_.levels[top - level_of(i)];
        const bool first = level.switches++ == 0;
        level.level = level_of(i);
        widen(level.children, children_of(i), first);
        widen(level.nodes, nodes_of(i).size(), first);
        if (const auto gpus = gpus_of(i)) {
            level.gpus = level.gpus.value_or(Extent{});
            widen(*level.gpus, *gpus, first);
        }
    }
}

void Outliner::find_misfits() {
    std::map<unsigned, std::map<std::uint64_t, std::uint32_t>> counts;  // by level, by children
    for (std::uint32_t i = 0; i < count(); ++i) {
        ++counts[level_of(i)][children_of(i)];
    }
    struct Usual {
        std::uint64_t children = 0;
        bool is_most = false;
    };
    std::map<unsigned, Usual> usual;
    for (const auto& [level, by_children] : counts) {
        // The last of the most frequent: of equally many the larger.
        std::uint32_t most = 0;
        std::uint32_t all = 0;
        for (const auto& [children, switches] : by_children) {
            all += switches;
            if (switches >= most) {
                most = switches;
                usual[level].children = children;
            }
        }
        usual[level].is_most = most > all / 2;
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
        const auto& [children, is_most] = usual[level_of(i)];
        if (children_of(i) != children) {
            out_.misfits.push_back({i, level_of(i), children_of(i), children, is_most});
        }
    }
}

/// Children have a lower level than their parents: level by level every shape below is known.
void Outliner::name_shapes() {
    using Shape = std::vector<std::uint64_t>;
    std::map<Shape, std::uint32_t> known;
    shapes_.resize(count());
    std::vector<std::uint32_t> order(count());
    for (std::uint32_t i = 0; i < count(); ++i) {
        order[i] = i;
    }
    std::ranges::stable_sort(order, {}, [this](std::uint32_t i) { return level_of(i); });
    for (const auto i : order) {
        Shape below;
        if (is_tree()) {
            for (const auto child : fabric_.switches[i].children) {
                below.push_back(shapes_[child]);
            }
        }
        std::ranges::sort(below);
        below.insert(below.end(), {nodes_of(i).size(), level_of(i), gpus_of(i).value_or(0)});
        shapes_[i] = known.emplace(std::move(below), known.size()).first->second;
    }
}

std::vector<std::uint32_t> Outliner::top_ones() const {
    if (is_tree()) {
        return fabric_.roots();
    }
    std::vector<std::uint32_t> all(count());
    for (std::uint32_t i = 0; i < count(); ++i) {
        all[i] = i;
    }
    return all;
}

std::vector<OutlineGroup> Outliner::groups_of(const std::vector<std::uint32_t>& ones) {
    std::vector<OutlineGroup> groups;
    std::map<std::uint32_t, std::size_t> by_shape;
    for (const auto i : ones) {
        if (seen_[i]) {
            continue;
        }
        seen_[i] = true;
        const auto [at, is_new] = by_shape.emplace(shapes_[i], groups.size());
        if (is_new) {
            groups.push_back({{}, level_of(i), children_of(i), nodes_of(i).size(), gpus_of(i), {}});
        }
        groups[at->second].members.push_back(i);
    }
    for (auto& group : groups) {
        std::vector<std::uint32_t> below;
        for (const auto member : group.members) {
            if (is_tree()) {
                const auto& children = fabric_.switches[member].children;
                below.insert(below.end(), children.begin(), children.end());
            }
        }
        group.below = groups_of(below);
    }
    return groups;
}

}  // namespace

const std::string& name_of(const Fabric& fabric, std::uint32_t which) {
    return fabric.kind == Kind::tree ? fabric.switches[which].name : fabric.blocks[which].name;
}

Outline make_outline(const Fabric& fabric, const Cluster* cluster) {
    return Outliner{fabric, cluster}.run();
}

}  // namespace railhead::fabric
