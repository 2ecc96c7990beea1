#include "report/rails_svg.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/node_layout.hpp"
#include "report/svg.hpp"

namespace railhead::report {

namespace {

using node::Node;
using node::Path;
using rails::RailPlan;

constexpr double title_height = 48;
constexpr double legend_height = 34;
constexpr double detour_room = 60;
constexpr std::size_t colours = 8;

/// Hues that colour-blind eyes tell apart; red is kept for what is wrong.
constexpr std::string_view style = R"(text{font:12px system-ui,sans-serif;fill:#1f2937}
.c{text-anchor:middle}.b{font-weight:600}.s{font-size:10px;fill:#4b5563}.h{font-size:15px;font-weight:600}
.page{fill:#fff}.panel{fill:#f8fafc;stroke:#cbd5e1}.group{fill:#eef2f7;stroke:#94a3b8}.loose{fill:none;stroke:none}
.gpu{fill:#fff;stroke:#475569;stroke-width:1.5}.nic{fill:#fff;stroke-width:2.5}.out{fill:#f1f5f9;stroke:#94a3b8;stroke-dasharray:3 3}
.bad{stroke:#dc2626;stroke-width:2.5}.line{fill:none;stroke-width:3}.far{fill:none;stroke:#dc2626;stroke-width:3.5;stroke-dasharray:7 4}
.warn{fill:#dc2626;font-weight:600}
.r0{stroke:#0072b2}.r1{stroke:#e69f00}.r2{stroke:#009e73}.r3{stroke:#cc79a7}.r4{stroke:#56b4e9}.r5{stroke:#8c6d1f}.r6{stroke:#6a51a3}.r7{stroke:#117a8b}
@media (prefers-color-scheme:dark){text{fill:#e5e7eb}.s{fill:#9ca3af}.page{fill:#0f172a}.panel{fill:#131d33;stroke:#334155}
.group{fill:#1e293b;stroke:#64748b}.gpu,.nic{fill:#0f172a}.gpu{stroke:#94a3b8}.out{fill:#1e293b;stroke:#64748b}.bad,.far{stroke:#f87171}.warn{fill:#f87171}
.r0{stroke:#4da3dc}.r5{stroke:#c2a24d}.r6{stroke:#a491d3}.r7{stroke:#3fb6c8}.r2{stroke:#2fc79a}}
)";

/// The place of a NIC among the rails.
std::optional<std::size_t> rail_of(const RailPlan& plan, std::size_t nic) {
    const auto at = std::ranges::find(plan.rails, nic);
    return at == plan.rails.end()
               ? std::nullopt
               : std::optional{static_cast<std::size_t>(at - plan.rails.begin())};
}

/// Whether a GPU has no direct link though others have.
bool lost_its_links(const Node& node, std::size_t gpu) {
    const auto linked = [](const std::vector<node::GpuLink>& row) {
        return std::ranges::any_of(row, [](const auto& link) { return link.direct > 0; });
    };
    return !node.links.empty() && !linked(node.links[gpu]) &&
           std::ranges::any_of(node.links, linked);
}

/// Near enough not to be marked: no rail of the node is nearer to any GPU than this kind of path.
bool is_near(const RailPlan& plan, Path path) {
    auto best = Path::sys;
    for (const auto& gpu : plan.gpus) {
        best = gpu.nics.empty() ? best : std::min(best, gpu.path);
    }
    return path <= std::max(best, Path::pxb);
}

class Picture {
 public:
    Picture(const Node& node, const RailPlan& plan)
        : node_{node}, plan_{plan}, layout_{lay_out(node, title_height)} {}

    std::string draw() {
        const auto width = std::max(layout_.width + (any_detour() ? detour_room : 0), 560.0);
        const auto height = layout_.height + legend_height;
        svg_.rect({0, 0, width, height}, "page");
        svg_.text(12, 22, "h", title());
        svg_.text(12, 40, "s", summary());
        draw_frames();
        draw_lines();
        draw_gpus();
        draw_nics();
        svg_.text(12, layout_.height + 18, any_far_ ? "warn" : "s",
                  any_far_
                      ? "Dashed red: no rail is near this GPU; what it sends takes a longer way."
                      : "Each GPU sends through a rail as near as any on this node.");
        return svg_.file(width, height, title(), style);
    }

 private:
    /// Of a file only the name: a picture is passed on.
    [[nodiscard]] std::string title() const {
        return "Rails of " + node_.source.substr(node_.source.rfind('/') + 1);
    }

    /// Whether a line between these leaves its panel.
    [[nodiscard]] bool is_detour(std::size_t gpu, std::size_t nic) const {
        const auto has = [](const Box& box, const Box& inner) {
            return inner.y >= box.y && inner.bottom() <= box.bottom();
        };
        return std::ranges::none_of(layout_.panels, [&](const Panel& panel) {
            return has(panel.box, layout_.gpus[gpu]) && has(panel.box, layout_.nics[nic]);
        });
    }

    [[nodiscard]] bool any_detour() const {
        for (std::size_t gpu = 0; gpu < plan_.gpus.size(); ++gpu) {
            if (std::ranges::any_of(plan_.gpus[gpu].nics,
                                    [&](std::size_t nic) { return is_detour(gpu, nic); })) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] std::string summary() const {
        return fmt::format("{}, {} of {} as rails", count_of(node_.gpus.size(), "GPU"),
                           plan_.rails.size(), count_of(node_.nics.size(), "NIC"));
    }

    void draw_frames() {
        for (const auto& panel : layout_.panels) {
            svg_.rect(panel.box, "panel");
            svg_.text(panel.box.x + 12, panel.box.y + 16, "b", panel_name(panel));
            for (const auto& group : panel.groups) {
                if (group.joint != Joint::none) {
                    svg_.rect(group.box, "group");
                    svg_.text(group.box.x + 8, group.box.y + 14, "s",
                              group.joint == Joint::pcie_switch ? "PCIe switch" : "host bridge");
                }
            }
        }
    }

    [[nodiscard]] std::string panel_name(const Panel& panel) const {
        if (!panel.numa) {
            return "no NUMA node told";
        }
        const auto* numa = node_.find_numa(*panel.numa);
        const auto socket =
            numa != nullptr && numa->socket ? fmt::format(", socket {}", *numa->socket) : "";
        const auto cpus =
            numa != nullptr && !numa->cpus.empty() ? ", CPUs " + to_string(numa->cpus) : "";
        return fmt::format("NUMA node {}{}{}", *panel.numa, socket, cpus);
    }

    void draw_lines() {
        for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu) {
            for (const auto nic : plan_.gpus[gpu].nics) {
                draw_line(gpu, nic);
            }
        }
    }

    void draw_line(std::size_t gpu, std::size_t nic) {
        const auto path = plan_.gpus[gpu].path;
        const bool near = is_near(plan_, path);
        any_far_ = any_far_ || !near;
        const auto& from = layout_.gpus[gpu];
        const auto& to = layout_.nics[nic];
        const auto classes = near ? "line " + colour_of(nic) : std::string{"far"};
        const auto tip = fmt::format("GPU {} to {}: {}", node_.gpus[gpu].index,
                                     node_.nics[nic].name, to_string(path));
        if (is_detour(gpu, nic)) {
            // Each a little further out, so that lines to one NIC can be told apart.
            const auto right = layout_.width + 16 + 14 * static_cast<double>(detours_++ % 8);
            svg_.detour(from.right(), from.y + from.height / 2, to.right(), to.y + to.height / 2,
                        right, classes, tip);
        } else {
            svg_.curve(from.middle(), from.bottom(), to.middle(), to.y, classes, tip);
        }
    }

    [[nodiscard]] std::string colour_of(std::size_t nic) const {
        return fmt::format("r{}", rail_of(plan_, nic).value_or(0) % colours);
    }

    void draw_gpus() {
        for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu) {
            const auto& box = layout_.gpus[gpu];
            const bool lost = lost_its_links(node_, gpu);
            svg_.rect(box, lost ? "gpu bad" : "gpu",
                      lost ? node_.gpus[gpu].model + ": no NVLink, though others have"
                           : node_.gpus[gpu].model);
            svg_.text(box.middle(), box.y + 17, "c b",
                      fmt::format("GPU {}", node_.gpus[gpu].index));
            svg_.text(box.middle(), box.y + 32, "c s",
                      lost ? "no NVLink" : to_string(node_.gpus[gpu].pci));
        }
    }

    void draw_nics() {
        for (std::size_t nic = 0; nic < node_.nics.size(); ++nic) {
            const auto& box = layout_.nics[nic];
            const auto& facts = node_.nics[nic];
            const auto rail = rail_of(plan_, nic);
            const auto reason = std::ranges::find(plan_.left_out, nic, &rails::LeftOut::nic);
            svg_.rect(box, rail ? "nic " + colour_of(nic) : "out",
                      reason == plan_.left_out.end() ? facts.kind : "no rail: " + reason->reason);
            svg_.text(box.middle(), box.y + 17, "c b", facts.name);
            svg_.text(box.middle(), box.y + 32, "c s",
                      facts.gbit_per_s ? fmt::format("{:g} Gb/s", *facts.gbit_per_s)
                                       : to_string(facts.pci));
            svg_.text(box.middle(), box.bottom() + 13, "c s",
                      rail ? fmt::format("rail {}", *rail) : "no rail");
        }
    }

    const Node& node_;
    const RailPlan& plan_;
    NodeLayout layout_;
    Svg svg_;
    bool any_far_ = false;
    unsigned detours_ = 0;
};

}  // namespace

std::string rails_svg(const Node& node, const RailPlan& plan) {
    return Picture{node, plan}.draw();
}

}  // namespace railhead::report
