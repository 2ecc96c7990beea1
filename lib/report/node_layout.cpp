#include "report/node_layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace railhead::report {

namespace {

using node::Node;
using node::Path;

constexpr double most_width = 1200;
constexpr double least_width = 420;  // for a panel's name
constexpr double cell_width = 92;
constexpr double cell_height = 40;
constexpr double gap = 10;
constexpr double pad = 12;
constexpr double heading = 22;    // a panel's, a group's
constexpr double link_room = 54;  // between the GPUs and the NICs of a group
constexpr double tag_room = 16;   // below a NIC: which rail it is

/// Sets that grow together; devices are GPUs first, then NICs.
class Sets {
 public:
    explicit Sets(std::size_t count) : parent_(count) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }
    std::size_t find(std::size_t item) const {
        while (parent_[item] != item) {
            item = parent_[item];
        }
        return item;
    }
    void join(std::size_t a, std::size_t b) {
        const auto of_a = find(a);
        const auto of_b = find(b);
        parent_[std::max(of_a, of_b)] = std::min(of_a, of_b);
    }

 private:
    std::vector<std::size_t> parent_;
};

/// Joins devices whose path is `least` to `most` and that `take` lets through.
template <class Take>
void join_by(const Node& node, Sets& sets, Path least, Path most, const Take& take) {
    const auto gpus = node.gpus.size();
    const auto join = [&](std::size_t a, std::size_t b, Path path) {
        if (path >= least && path <= most && take(a) && take(b)) {
            sets.join(a, b);
        }
    };
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
            join(gpu, gpus + nic, node.paths[gpu][nic]);
        }
        for (std::size_t other = 0; other < gpus && !node.links.empty(); ++other) {
            if (other != gpu) {
                join(gpu, other, node.links[gpu][other].path);
            }
        }
    }
}

std::vector<std::size_t> sizes_of(const Sets& sets, std::size_t count) {
    std::vector<std::size_t> sizes(count);
    for (std::size_t i = 0; i < count; ++i) {
        ++sizes[sets.find(i)];
    }
    return sizes;
}

std::optional<unsigned> numa_of(const Node& node, const DeviceGroup& group) {
    for (const auto gpu : group.gpus) {
        if (node.gpus[gpu].numa) {
            return node.gpus[gpu].numa;
        }
    }
    for (const auto nic : group.nics) {
        if (node.nics[nic].numa) {
            return node.nics[nic].numa;
        }
    }
    return std::nullopt;
}

double width_of(const DeviceGroup& group) {
    const auto columns = static_cast<double>(std::max(group.gpus.size(), group.nics.size()));
    return 2 * pad + columns * cell_width + (columns - 1) * gap;
}

/// How high the groups of a panel are: no higher than the rows that it has.
double group_height(const Panel& panel) {
    const auto any = [&](auto member) {
        return std::ranges::any_of(
            panel.groups, [member](const auto& group) { return !(group.*member).empty(); });
    };
    const bool gpus = any(&DeviceGroup::gpus);
    const bool nics = any(&DeviceGroup::nics);
    return heading + (gpus ? cell_height : 0) + (gpus && nics ? link_room : 0) +
           (nics ? cell_height + tag_room : 0) + pad;
}

/// Cells of a row, centred in the group.
void place_row(const Box& group, double y, const std::vector<std::size_t>& devices,
               std::vector<Box>& boxes) {
    const auto count = static_cast<double>(devices.size());
    auto x = group.middle() - (count * cell_width + (count - 1) * gap) / 2;
    for (const auto device : devices) {
        boxes[device] = {x, y, cell_width, cell_height};
        x += cell_width + gap;
    }
}

/// Places the groups of a panel in lines.
void place(NodeLayout& layout, Panel& panel, double top) {
    panel.box = {pad, top, 0, 0};
    const auto height = group_height(panel);
    double x = panel.box.x + pad;
    double y = top + heading;
    for (auto& group : panel.groups) {
        const auto width = width_of(group);
        if (x > panel.box.x + pad && x + width > most_width) {
            x = panel.box.x + pad;
            y += height + gap;
        }
        group.box = {x, y, width, height};
        place_row(group.box, y + heading, group.gpus, layout.gpus);
        place_row(group.box, group.box.bottom() - pad - tag_room - cell_height, group.nics,
                  layout.nics);
        x += width + gap;
        panel.box.width = std::max(panel.box.width, group.box.right() + pad - panel.box.x);
    }
    panel.box.height = y + height + pad - top;
}

}  // namespace

std::vector<DeviceGroup> group_devices(const Node& node) {
    const auto gpus = node.gpus.size();
    const auto count = gpus + node.nics.size();
    Sets sets{count};
    join_by(node, sets, Path::pix, Path::pxb, [](std::size_t) { return true; });
    const auto switched = sizes_of(sets, count);
    std::vector<bool> alone(count);
    for (std::size_t i = 0; i < count; ++i) {
        alone[i] = switched[sets.find(i)] == 1;
    }
    join_by(node, sets, Path::phb, Path::phb, [&](std::size_t device) { return alone[device]; });

    const auto sizes = sizes_of(sets, count);
    std::map<std::size_t, DeviceGroup> groups;  // by the first device
    for (std::size_t i = 0; i < count; ++i) {
        auto& group = groups[sets.find(i)];
        (i < gpus ? group.gpus : group.nics).push_back(i < gpus ? i : i - gpus);
        group.joint = !alone[i]                 ? Joint::pcie_switch
                      : sizes[sets.find(i)] > 1 ? Joint::host_bridge
                                                : Joint::none;
    }
    std::vector<DeviceGroup> all;
    for (auto& [first, group] : groups) {
        group.numa = numa_of(node, group);
        all.push_back(std::move(group));
    }
    return all;
}

NodeLayout lay_out(const Node& node, double top) {
    NodeLayout layout;
    layout.gpus.resize(node.gpus.size());
    layout.nics.resize(node.nics.size());
    std::map<std::pair<bool, unsigned>, Panel> panels;
    for (auto& group : group_devices(node)) {
        auto& panel = panels[{!group.numa, group.numa.value_or(0)}];
        panel.numa = group.numa;
        panel.groups.push_back(std::move(group));
    }
    double y = top;
    layout.width = least_width;
    for (auto& [order, panel] : panels) {
        place(layout, panel, y);
        y = panel.box.bottom() + gap;
        layout.width = std::max(layout.width, panel.box.right() + pad);
        layout.panels.push_back(std::move(panel));
    }
    for (auto& panel : layout.panels) {
        panel.box.width = layout.width - pad - panel.box.x;
    }
    layout.height = y;
    return layout;
}

}  // namespace railhead::report
