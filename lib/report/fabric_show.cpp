#include "report/fabric_show.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "job/hostlist.hpp"
#include "report/fabric_plan.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using fabric::Extent;
using fabric::Fabric;
using fabric::Kind;
using fabric::Outline;
using fabric::OutlineGroup;

constexpr std::size_t width = 80;
constexpr std::size_t name_width = 34;
constexpr std::size_t most_lines = 60;  // of a tree
constexpr std::size_t most_misfits = 20;

/// `text` of at most `most` columns, "..." at its end where it is longer.
std::string clipped(std::string_view text, std::size_t most) {
    const auto shown = printable(text);
    return columns(shown) <= most ? shown : shown.substr(0, most - 3) + "...";
}

std::string extent_text(const Extent& extent) {
    return extent.least == extent.most
               ? grouped(extent.least)
               : fmt::format("{}-{}", grouped(extent.least), grouped(extent.most));
}

std::string level_name(Kind kind, unsigned level) {
    if (kind == Kind::block) {
        return "block";
    }
    return level == 0 ? "0, leaf" : std::to_string(level);
}

std::string levels_table(const ShownFabric& shown) {
    const auto& [fabric, outline] = shown;
    const bool block = fabric.kind == Kind::block;
    std::vector<std::string> heading{"level", block ? "blocks" : "switches", "children of one",
                                     "nodes below one"};
    if (outline.gpus) {
        heading.emplace_back("GPUs below one");
    }
    Table table{std::move(heading)};
    for (const auto& level : outline.levels) {
        std::vector<std::string> row{
            level_name(fabric.kind, level.level), grouped(level.switches),
            fmt::format("{} {}", extent_text(level.children),
                        level.level > 0 ? level.children.most == 1 ? "switch" : "switches"
                        : level.children.most == 1 ? "node"
                                                   : "nodes"),
            extent_text(level.nodes)};
        if (level.gpus) {
            row.push_back(extent_text(*level.gpus));
        }
        table.add(std::move(row));
    }
    return table.text();
}

std::vector<std::string> names_of(const Fabric& fabric, const std::vector<std::uint32_t>& which) {
    std::vector<std::string> names;
    for (const auto i : which) {
        names.push_back(name_of(fabric, i));
    }
    return names;
}

/// The nodes below all of a group.
std::string nodes_of(const Fabric& fabric, const OutlineGroup& group) {
    std::vector<std::string> names;
    for (const auto i : group.members) {
        const auto& nodes =
            fabric.kind == Kind::tree ? fabric.switches[i].nodes : fabric.blocks[i].nodes;
        for (const auto node : nodes) {
            names.push_back(fabric.nodes[node]);
        }
    }
    return job::compress_hostlist(names);
}

/// Lines of a tree: equal switches are one line, what hangs below them stands under it.
class Tree {
 public:
    explicit Tree(const Fabric& fabric) : fabric_{fabric} {}

    std::string text(const std::vector<OutlineGroup>& tops) {
        add(tops, 0);
        std::string out;
        for (const auto& [name, size, nodes] : lines_) {
            const auto line = nodes.empty()
                                  ? fmt::format("{:<{}}  {}", name, name_width, size)
                                  : fmt::format("{:<{}}  {:<20}  ", name, name_width, size);
            const auto rest = width - std::min(width, columns(line));
            constexpr std::size_t least = 8;  // less tells nothing
            out += clipped(line + (rest >= least ? clipped(nodes, rest) : ""), width);
            out.erase(out.find_last_not_of(' ') + 1);
            out += '\n';
        }
        if (left_out_ > 0) {
            out += fmt::format("... and {} that are no two alike: --json lists them all\n",
                               count_of(left_out_, "more line"));
        }
        return out;
    }

 private:
    struct Line {
        std::string name, size, nodes;
    };

    void add(const std::vector<OutlineGroup>& groups, std::size_t depth) {
        for (const auto& group : groups) {
            if (lines_.size() >= most_lines) {
                ++left_out_;
            } else {
                lines_.push_back(line_of(group, depth));
            }
            add(group.below, depth + 1);
        }
    }

    [[nodiscard]] Line line_of(const OutlineGroup& group, std::size_t depth) const {
        const auto names = names_of(fabric_, group.members);
        const auto indent = std::string(2 * std::min<std::size_t>(depth, 8), ' ');
        const auto count = group.members.size();
        return {indent + clipped(job::compress_hostlist(names), name_width - indent.size()),
                count == 1
                    ? grouped_count(group.nodes, "node")
                    : fmt::format("{} x {}", grouped(count), grouped_count(group.nodes, "node")),
                group.below.empty() ? nodes_of(fabric_, group) : std::string{}};
    }

    const Fabric& fabric_;
    std::vector<Line> lines_;
    std::size_t left_out_ = 0;
};

std::string misfits_text(const ShownFabric& shown) {
    const auto& [fabric, outline] = shown;
    std::string out;
    const auto count = outline.misfits.size();
    for (std::size_t i = 0; i < std::min(count, most_misfits); ++i) {
        const auto& misfit = outline.misfits[i];
        const auto word = misfit.level > 0 ? "switch" : "node";
        const auto facts = fmt::format(": {}, {} {} have {}", count_of(misfit.children, word),
                                       misfit.is_most ? "most" : "other",
                                       level_word(fabric.kind, misfit.level, 2), misfit.usual);
        const auto room = width - 2 - columns(facts);
        out += fmt::format("  {}{}\n", clipped(name_of(fabric, misfit.which), room), facts);
    }
    if (count > most_misfits) {
        out += fmt::format("  ... and {} more\n", count - most_misfits);
    }
    return out.empty() ? out : "\nUnlike the others of their level\n" + out;
}

std::string strangers_text(const std::vector<std::string>& nodes, std::string_view what) {
    if (nodes.empty()) {
        return {};
    }
    const auto text = fmt::format("\n{} {}: ", count_of(nodes.size(), "node"), what);
    return text + clipped(job::compress_hostlist(nodes), width - text.size() + 1) + "\n";
}

std::string title_of(const ShownFabric& shown, std::string_view file) {
    const auto& [fabric, outline] = shown;
    auto what = fabric.name.empty() ? std::string{file} : fabric.name;
    auto facts =
        fmt::format(": {}{}, {}", to_string(fabric.kind), fabric.is_default ? " (default)" : "",
                    grouped_count(outline.nodes, "node"));
    if (outline.gpus) {
        facts += ", " + grouped_count(*outline.gpus, "GPU");
    }
    // Of a path the end says more.
    const auto room = width - columns(facts);
    what = printable(what);
    return (what.size() > room ? "..." + what.substr(what.size() - room + 3) : what) + facts;
}

std::string text_of(const ShownFabric& shown, std::string_view file) {
    const auto& [fabric, outline] = shown;
    auto out = title_of(shown, file) + "\n";
    if (outline.levels.empty()) {
        return out + (fabric.kind == Kind::none
                          ? "It has no node: Slurm places jobs as if all nodes were alike.\n"
                          : "Its nodes are not read: no job is planned for this kind.\n");
    }
    out += '\n' + levels_table(shown);
    if (fabric.kind == Kind::block) {
        const auto sizes = fmt::format("BlockSizes {} nodes", fmt::join(fabric.block_sizes, ", "));
        out += clipped(sizes, width) + "\n";
    }
    out += '\n' + Tree{fabric}.text(outline.tops);
    if (fabric.kind == Kind::tree &&
        outline.tops.size() + outline.tops.front().members.size() > 2) {
        const auto networks = fabric.roots().size();
        out += fmt::format("\n{} have no switch above them.\n", grouped_count(networks, "switch"));
    }
    out += misfits_text(shown);
    out += strangers_text(outline.unknown, "that slurm.conf does not have");
    return out + strangers_text(outline.off_fabric, "of slurm.conf on no switch");
}

}  // namespace

std::string fabric_show_text(std::span<const ShownFabric> fabrics, std::string_view file) {
    std::string out;
    for (const auto& shown : fabrics) {
        out += (out.empty() ? "" : "\n") + text_of(shown, file);
    }
    constexpr std::string_view none = ": no topology in it";
    return out.empty() ? fmt::format("{}{}\n", clipped(file, width - none.size()), none) : out;
}

}  // namespace railhead::report
