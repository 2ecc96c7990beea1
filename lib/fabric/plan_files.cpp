#include "fabric/plan_files.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace railhead::fabric {

namespace {

constexpr std::uint32_t release(std::uint32_t year, std::uint32_t month) {
    return year << 16U | month << 8U;
}
constexpr auto blocks_since = release(24, 5);  // BlockSizes; 23.11 has BlockLevels
constexpr auto yaml_since = release(25, 5);
constexpr auto unequal_blocks_since = release(25, 5);  // before: "children count lower than"

std::uint32_t divided_up(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint32_t>((a + b - 1) / b);
}

std::string release_text(std::uint32_t slurm) {
    return fmt::format("{}.{:02}", slurm >> 16U, slurm >> 8U & 0xFFU);
}

Kind kind_of(const Plan& plan, const PlanSite& site) {
    return site.kind.value_or(plan.design == Design::nvl72 ? Kind::block : Kind::tree);
}

/// prefix[001-127]; prefix1 alone.
std::string run_of(std::string_view prefix, std::uint64_t first, std::uint64_t last,
                   std::size_t width) {
    return first == last ? fmt::format("{}{:0{}}", prefix, first, width)
                         : fmt::format("{}[{:0{}}-{:0{}}]", prefix, first, width, last, width);
}

/// Nodes of number `i` of a level.
std::string nodes_of(const Plan& plan, const PlanSite& site, const PlannedLevel& level,
                     std::uint32_t i) {
    const auto first = i * level.nodes;
    const auto last = std::min<std::uint64_t>(first + level.nodes, plan.nodes);
    return run_of(site.node_prefix, first + 1, last, std::to_string(plan.nodes).size());
}

/// Children of number `i` of a level: those of the level below.
std::string children_of(const PlannedLevel& level, const PlannedLevel& below, std::uint32_t i) {
    const auto each = static_cast<std::uint32_t>(level.nodes / below.nodes);
    const auto first = std::uint64_t{i} * each;
    const auto last = std::min<std::uint64_t>(first + each, below.count);
    return run_of(below.word, first + 1, last, std::to_string(below.count).size());
}

PlannedLevel blocks_of(const Plan& plan) {
    const bool nvlink = plan.design == Design::nvl72;
    const std::uint64_t nodes = nvlink ? nvl72_nodes : plan.unit_nodes;
    return {"block", nodes, divided_up(plan.nodes, nodes)};
}

/// The base block and its doublings, up to one that holds all.
std::vector<std::uint64_t> block_sizes(const Plan& plan) {
    const auto blocks = blocks_of(plan);
    // One block that is not full: Slurm takes no base block larger than it.
    std::vector<std::uint64_t> sizes{std::min<std::uint64_t>(blocks.nodes, plan.nodes)};
    for (std::uint64_t times = 2; times / 2 < blocks.count; times *= 2) {
        sizes.push_back(blocks.nodes * times);
    }
    return sizes;
}

std::string tree_conf(const Plan& plan, const PlanSite& site) {
    std::string text;
    const auto levels = planned_levels(plan);
    for (std::size_t n = 0; n < levels.size(); ++n) {
        for (std::uint32_t i = 0; i < levels[n].count; ++i) {
            text += fmt::format("SwitchName={} {}\n", levels[n].name(i),
                                n == 0 ? "Nodes=" + nodes_of(plan, site, levels[n], i)
                                       : "Switches=" + children_of(levels[n], levels[n - 1], i));
        }
    }
    return text;
}

std::string block_conf(const Plan& plan, const PlanSite& site) {
    std::string text;
    const auto blocks = blocks_of(plan);
    for (std::uint32_t i = 0; i < blocks.count; ++i) {
        text +=
            fmt::format("BlockName={} Nodes={}\n", blocks.name(i), nodes_of(plan, site, blocks, i));
    }
    return text + fmt::format("BlockSizes={}\n", fmt::join(block_sizes(plan), ","));
}

std::string tree_yaml(const Plan& plan, const PlanSite& site) {
    std::string text = "  tree:\n    switches:\n";
    const auto levels = planned_levels(plan);
    for (auto n = levels.size(); n-- > 0;) {
        for (std::uint32_t i = 0; i < levels[n].count; ++i) {
            text += fmt::format(
                "      - switch: {}\n        {}\n", levels[n].name(i),
                n == 0 ? fmt::format("nodes: \"{}\"", nodes_of(plan, site, levels[n], i))
                       : fmt::format("children: \"{}\"", children_of(levels[n], levels[n - 1], i)));
        }
    }
    return text;
}

std::string block_yaml(const Plan& plan, const PlanSite& site) {
    auto text = fmt::format("  block:\n    block_sizes: [{}]\n    blocks:\n",
                            fmt::join(block_sizes(plan), ", "));
    const auto blocks = blocks_of(plan);
    for (std::uint32_t i = 0; i < blocks.count; ++i) {
        text += fmt::format("      - block: {}\n        nodes: \"{}\"\n", blocks.name(i),
                            nodes_of(plan, site, blocks, i));
    }
    return text;
}

/// What the files are of, as a comment.
std::string heading(const Plan& plan) {
    return fmt::format("# {} fabric of {}, {}: railhead fabric plan.\n", to_string(plan.design),
                       count_of(plan.nodes, "node"), count_of(plan.gpus(), "GPU"));
}

PlannedFile topology_file(const Plan& plan, const PlanSite& site) {
    const bool block = kind_of(plan, site) == Kind::block;
    auto text = heading(plan);
    if (block) {
        text += plan.design == Design::nvl72 ? "# A block is an NVLink domain.\n"
                                             : "# A block is a scalable unit.\n";
    } else {
        text +=
            "# One switch stands for all leaf switches of a scalable unit: they reach the same "
            "nodes.\n";
    }
    if (!site.yaml) {
        return {"topology.conf", text + (block ? block_conf(plan, site) : tree_conf(plan, site))};
    }
    text += "- topology: fabric\n  cluster_default: true\n";
    return {"topology.yaml", text + (block ? block_yaml(plan, site) : tree_yaml(plan, site))};
}

std::string gres_of(const Plan& plan, const PlanSite& site) {
    return fmt::format("gpu:{}{}{}", site.gpu_type, site.gpu_type.empty() ? "" : ":",
                       plan.gpus_per_node);
}

/// The hardware of a node, as far as it was told.
std::string hardware_of(const PlanSite& site) {
    std::string text;
    const auto add = [&text](std::string_view key, const auto& value) {
        if (value) {
            text += fmt::format(" {}={}", key, *value);
        }
    };
    add("Sockets", site.sockets);
    add("CoresPerSocket", site.cores_per_socket);
    add("ThreadsPerCore", site.threads_per_core);
    add("RealMemory", site.memory_mb);
    return text;
}

PlannedFile nodes_file(const Plan& plan, const PlanSite& site) {
    auto text = heading(plan) +
                "# In slurm.conf: Include nodes.conf.  The names are to be in DNS or /etc/hosts "
                "before: slurmctld\n"
                "# tries one that is not for ten seconds.\n";
    if (!site.sockets || !site.cores_per_socket || !site.memory_mb) {
        text +=
            "# Slurm takes what NodeName does not tell for one CPU and 1 MB: `slurmd -C` on a "
            "node\n"
            "# prints its Sockets, CoresPerSocket, ThreadsPerCore and RealMemory.\n";
    }
    text += "GresTypes=gpu\n";
    if (!site.yaml) {  // topology.yaml says the kind itself
        text += fmt::format("TopologyPlugin=topology/{}\n", to_string(kind_of(plan, site)));
    }
    const auto nodes = planned_nodes(plan, site);
    text += fmt::format("NodeName={}{} Gres={} State=UNKNOWN\n", nodes, hardware_of(site),
                        gres_of(plan, site));
    text += fmt::format("PartitionName={} Nodes={} Default=YES MaxTime=INFINITE State=UP\n",
                        site.partition, nodes);
    return {"nodes.conf", std::move(text)};
}

PlannedFile gres_file(const Plan& plan, const PlanSite& site) {
    const auto devices = run_of("/dev/nvidia", 0, plan.gpus_per_node - 1, 1);
    return {"gres.conf",
            heading(plan) +
                "# Cores= of each GPU: `railhead rails` on a node shows which CPUs are near it.\n" +
                fmt::format("NodeName={} Name=gpu{} File={}\n", planned_nodes(plan, site),
                            site.gpu_type.empty() ? "" : " Type=" + site.gpu_type, devices)};
}

std::string price_text(const Plan& plan) {
    if (plan.design == Design::nvl72) {
        return "# Measure what a wider span costs, and write it: slowdown or bus_bandwidth.\n";
    }
    std::vector<double> levels{plan.leaf_oversubscription};
    if (plan.pods > 1) {
        levels.push_back(plan.leaf_oversubscription * plan.core_oversubscription);
    }
    constexpr double some = 1.005;  // less is the rounding of ports
    if (levels.back() < some) {
        return "# As much goes up from each leaf as down: by bandwidth alone a wider span costs "
               "nothing.\n"
               "# The guess of the default stands for longer ways and uneven load; measure your "
               "own.\n";
    }
    std::vector<std::string> shown;
    for (const auto level : levels) {
        shown.push_back(fmt::format("{:.2f}", level));
    }
    return fmt::format(
        "# Of the uplinks of a leaf{}: the worst case, all nodes sending at once.\n"
        "oversubscription = [{}]\n"
        "# A guess: the share of a step that is communication and not hidden.\n"
        "communication = 0.25\n",
        levels.size() > 1 ? ", and from pod to pod" : "", fmt::join(shown, ", "));
}

PlannedFile policy_file(const Plan& plan, const PlanSite& site) {
    auto text = heading(plan) +
                "# railhead.toml(5) has every key.  Begin by looking: no job is changed.\n"
                "mode = \"observe\"\n\n[placement]\n" +
                price_text(plan);
    text += fmt::format("\n[[node_type]]\nname = \"{}\"\nnodes = \"{}\"\n",
                        site.gpu_type.empty() ? "gpu" : site.gpu_type, planned_nodes(plan, site));
    text +=
        fmt::format("# The {} of a node, as ibv_devices calls them:\n#rails = [\"mlx5_0\", ...]\n",
                    count_of(plan.nics_per_node, "rail"));
    if (plan.design == Design::rail_only) {
        text += "# There is no way from one rail to another.\nrail_only = true\n";
    }
    return {"railhead.toml", std::move(text)};
}

bool is_plain(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
    });
}

Result<> check_names(const PlanSite& site) {
    const auto refuse = [](std::string_view what, std::string_view name, std::string_view rule) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is no {}: {}", printable(name), what, rule));
    };
    constexpr std::string_view letters = "letters, digits, \"-\", \"_\" and \".\"";
    if (!is_plain(site.node_prefix) ||
        (site.node_prefix.back() >= '0' && site.node_prefix.back() <= '9')) {
        return refuse("name for nodes", site.node_prefix,
                      "it is of letters, digits, \"-\", \"_\" and \".\", and a number follows it");
    }
    if (!is_plain(site.partition) || equals_ignoring_case(site.partition, "default")) {
        return refuse("name of a partition", site.partition, letters);
    }
    if (!site.gpu_type.empty() && !is_plain(site.gpu_type)) {
        return refuse("type of GPU", site.gpu_type, letters);
    }
    return {};
}

Result<> check_slurm(const Plan& plan, const PlanSite& site) {
    const auto slurm = site.slurm.value_or(release(99, 0));
    const auto refuse = [&](std::string_view what) {
        return fail(Errc::unsupported, fmt::format("Slurm {} {}", release_text(slurm), what));
    };
    if (site.yaml && slurm < yaml_since) {
        return refuse("does not read topology.yaml, which came with 25.05: leave out --yaml");
    }
    if (kind_of(plan, site) != Kind::block) {
        return {};
    }
    if (slurm < blocks_since) {
        return refuse(
            "has no topology/block with BlockSizes, which came with 24.05: write "
            "--topology tree");
    }
    const auto blocks = blocks_of(plan);
    const auto last = plan.nodes - (blocks.count - 1) * blocks.nodes;
    if (slurm < unequal_blocks_since && blocks.count > 1 && last < blocks.nodes) {
        return refuse(
            fmt::format("takes no block that is smaller than the base block, as 25.05 "
                        "does: the last one has {} of {} nodes; plan {} nodes, or write "
                        "--topology tree",
                        last, blocks.nodes, blocks.count * blocks.nodes));
    }
    return {};
}

}  // namespace

std::string PlannedLevel::name(std::uint32_t i) const {
    return count == 1 && (word == "spine" || word == "core")
               ? word
               : run_of(word, i + 1, i + 1, std::to_string(count).size());
}

std::vector<PlannedLevel> planned_levels(const Plan& plan) {
    std::vector<PlannedLevel> levels;
    const auto add = [&](std::string word, std::uint64_t nodes) {
        if (levels.empty() || (nodes > levels.back().nodes && nodes < plan.nodes)) {
            levels.push_back({std::move(word), nodes, divided_up(plan.nodes, nodes)});
        }
    };
    if (plan.design == Design::nvl72) {
        add("nvl", nvl72_nodes);
    }
    add(plan.design == Design::spine_leaf ? "leaf" : "su", plan.unit_nodes);
    if (plan.tiers > 2) {
        add("pod", std::uint64_t{plan.unit_nodes} * plan.pod_units);
    }
    if (levels.back().count > 1) {
        levels.push_back(
            {plan.tiers > 2 ? "core" : "spine", levels.back().nodes * levels.back().count, 1});
    }
    return levels;
}

std::string planned_nodes(const Plan& plan, const PlanSite& site) {
    return run_of(site.node_prefix, 1, plan.nodes, std::to_string(plan.nodes).size());
}

Result<std::vector<PlannedFile>> plan_files(const Plan& plan, const PlanSite& site) {
    for (const auto& done : {check_names(site), check_slurm(plan, site)}) {
        if (!done) {
            return tl::unexpected<Error>{done.error()};
        }
    }
    std::vector<PlannedFile> files;
    files.push_back(topology_file(plan, site));
    files.push_back(nodes_file(plan, site));
    files.push_back(gres_file(plan, site));
    files.push_back(policy_file(plan, site));
    return files;
}

}  // namespace railhead::fabric
