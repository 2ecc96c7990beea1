#include "rails/rail_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railhead::rails {

namespace {

using node::LinkLayer;
using node::Nic;
using node::Node;
using node::Path;
using Positions = std::vector<std::size_t>;

Positions all_nics(const Node& node) {
    Positions all(node.nics.size());
    for (std::size_t nic = 0; nic < all.size(); ++nic) {
        all[nic] = nic;
    }
    return all;
}

/// Moves the candidates for which `reason` gives a text to `left_out`.
template <class Reason>
void leave_out(Positions& candidates, std::vector<LeftOut>& left_out, const Reason& reason) {
    std::erase_if(candidates, [&](std::size_t nic) {
        auto text = reason(nic);
        if (!text.empty()) {
            left_out.push_back({nic, std::move(text)});
            return true;
        }
        return false;
    });
}

// ---- near ---------------------------------------------------------------------------------

Path nearest_path(const Node& node, std::size_t nic) {
    auto best = Path::sys;
    for (const auto& row : node.paths) {
        best = std::min(best, row[nic]);
    }
    return best;
}

void keep_near(const Node& node, Positions& candidates, std::vector<LeftOut>& left_out) {
    auto limit = Path::sys;
    for (const auto nic : candidates) {
        limit = std::min(limit, nearest_path(node, nic));
    }
    limit = std::max(limit, Path::pxb);  // PIX and PXB are both "below one host bridge"
    leave_out(candidates, left_out, [&](std::size_t nic) {
        const auto path = nearest_path(node, nic);
        return path <= limit ? std::string{}
                             : fmt::format("{} to the nearest GPU, rails have {} or better",
                                           to_string(path), to_string(limit));
    });
}

// ---- fast ---------------------------------------------------------------------------------

template <class Member>
double highest(const Node& node, const Positions& nics, Member member) {
    double best = 0;
    for (const auto nic : nics) {
        best = std::max(best, (node.nics[nic].*member).value_or(0));
    }
    return best;
}

void keep_fast(const Node& node, Positions& candidates, std::vector<LeftOut>& left_out) {
    const auto rate = highest(node, candidates, &Nic::gbit_per_s);
    const auto same_device_as_a_fast_one = [&node, rate, all = candidates](const Nic& nic) {
        return std::ranges::any_of(all, [&](std::size_t other) {
            return node.nics[other].gbit_per_s == rate && node.nics[other].kind == nic.kind;
        });
    };
    if (rate > 0) {
        leave_out(candidates, left_out, [&](std::size_t position) -> std::string {
            const auto& nic = node.nics[position];
            if (nic.gbit_per_s ? *nic.gbit_per_s >= rate : same_device_as_a_fast_one(nic)) {
                return {};
            }
            return nic.gbit_per_s
                       ? fmt::format("{:g} Gb/s, rails have {:g} Gb/s", *nic.gbit_per_s, rate)
                       : fmt::format("unknown rate and another device than the rails ({})",
                                     nic.kind);
        });
        return;
    }
    const auto link = highest(node, candidates, &Nic::pcie_gbyte_per_s);
    leave_out(candidates, left_out, [&](std::size_t position) {
        const auto own = node.nics[position].pcie_gbyte_per_s;
        return !own || 2 * *own >= link
                   ? std::string{}
                   : fmt::format("PCIe link of {:.1f} GB/s, rails have {:.1f} GB/s", *own, link);
    });
}

// ---- one link layer -----------------------------------------------------------------------

std::string_view name_of(LinkLayer layer) {
    switch (layer) {
        case LinkLayer::infiniband:
            return "InfiniBand";
        case LinkLayer::ethernet:
            return "Ethernet";
        default:
            return "other";
    }
}

void keep_one_layer(const Node& node, Positions& candidates, std::vector<LeftOut>& left_out) {
    const auto count = [&](LinkLayer layer) {
        return std::ranges::count(candidates, layer,
                                  [&](std::size_t nic) { return node.nics[nic].link_layer; });
    };
    const auto infiniband = count(LinkLayer::infiniband);
    const auto ethernet = count(LinkLayer::ethernet);
    const auto chosen = ethernet > infiniband ? LinkLayer::ethernet : LinkLayer::infiniband;
    if (infiniband + ethernet == 0) {
        return;
    }
    leave_out(candidates, left_out, [&](std::size_t nic) {
        const auto layer = node.nics[nic].link_layer;
        return layer == chosen || layer == LinkLayer::unknown
                   ? std::string{}
                   : fmt::format("{}, rails are {}", name_of(layer), name_of(chosen));
    });
}

// ---- the site's own list ------------------------------------------------------------------

/// "mlx5_0" and "mlx5_0:1" both name port 1.
std::string with_port(const std::string& name) {
    return name.find(':') == std::string::npos ? name + ":1" : name;
}

void take_declared(const Node& node, const std::vector<std::string>& declared, RailPlan& plan) {
    std::vector<std::string> names;
    names.reserve(declared.size());
    for (const auto& name : declared) {
        names.push_back(with_port(name));
    }
    plan.list = fmt::format("{}", fmt::join(names, ","));
    plan.rails = all_nics(node);
    leave_out(plan.rails, plan.left_out, [&](std::size_t nic) -> std::string {
        const auto device = node.nics[nic].name + ":";
        const bool listed = std::ranges::any_of(
            names, [&](const std::string& name) { return name.starts_with(device); });
        return listed ? "" : "not in the site's list of rails";
    });
    for (const auto& name : names) {
        const auto device = name.substr(0, name.find(':'));
        if (std::ranges::find(node.nics, device, &Nic::name) == node.nics.end()) {
            plan.missing.push_back(device);
        }
    }
}

// ---- GPU to NIC ---------------------------------------------------------------------------

/// Port rate, or what the PCIe link carries, in Gbit/s; 0 where neither is known.
double bandwidth(const Nic& nic) {
    constexpr double bits_per_byte = 8;
    return nic.gbit_per_s.value_or(nic.pcie_gbyte_per_s.value_or(0) * bits_per_byte);
}

GpuRails near_rails(const Node& node, std::size_t gpu, const Positions& rails) {
    GpuRails found;
    double best = 0;
    for (const auto nic : rails) {
        const auto path = node.paths[gpu][nic];
        const auto rate = bandwidth(node.nics[nic]);
        if (found.near.empty() || path < found.path || (path == found.path && rate > best)) {
            found.near.clear();
            found.path = path;
            best = rate;
        }
        if (path == found.path && rate >= best) {
            found.near.push_back(nic);
        }
    }
    return found;
}

std::size_t nics_per_gpu(const std::vector<GpuRails>& gpus, const GpuRails& gpu) {
    const auto same = std::ranges::count(gpus, gpu.near, &GpuRails::near);
    const auto sharers = std::max<std::size_t>(1, static_cast<std::size_t>(same));
    return (gpu.near.size() + sharers - 1) / sharers;
}

/// Deals each GPU its share of its near rails.
void deal(std::vector<GpuRails>& gpus) {
    std::map<std::size_t, unsigned> uses;  // of each NIC, so far
    for (auto& gpu : gpus) {
        auto free = gpu.near;
        for (auto left = nics_per_gpu(gpus, gpu); left > 0; --left) {
            const auto least = std::ranges::min_element(
                free, {}, [&](std::size_t nic) { return uses[nic]; });  // the first of equals
            gpu.nics.push_back(*least);
            ++uses[*least];
            free.erase(least);
        }
        std::ranges::sort(gpu.nics);
    }
}

}  // namespace

RailPlan plan_rails(const Node& node, const std::vector<std::string>& declared) {
    RailPlan plan;
    if (!declared.empty()) {
        take_declared(node, declared, plan);
    } else if (node.gpus.empty()) {
        for (const auto nic : all_nics(node)) {
            plan.left_out.push_back({nic, "no GPU on this node"});
        }
    } else {
        plan.rails = all_nics(node);
        keep_near(node, plan.rails, plan.left_out);
        keep_fast(node, plan.rails, plan.left_out);
        keep_one_layer(node, plan.rails, plan.left_out);
        std::ranges::sort(plan.left_out, {}, &LeftOut::nic);
        plan.list = node.incomplete.empty() ? device_list(node, plan.rails) : "";
    }
    for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
        plan.gpus.push_back(near_rails(node, gpu, plan.rails));
    }
    if (!plan.rails.empty()) {
        deal(plan.gpus);
    }
    return plan;
}

std::string device_port(const Nic& nic) {
    return fmt::format("{}:{}", nic.name, nic.port);
}

std::string device_list(const Node& node, const std::vector<std::size_t>& nics) {
    std::vector<std::string> names;
    names.reserve(nics.size());
    for (const auto nic : nics) {
        names.push_back(device_port(node.nics[nic]));
    }
    return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace railhead::rails
