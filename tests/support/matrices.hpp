// What tests of rails on machines of the field share: matrices from text, and a plan as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "node/node.hpp"
#include "rails/rail_plan.hpp"

namespace railhead::test::matrices {

using node::LinkLayer;
using node::Path;

/// "PIX NODE / NODE PIX": a row a GPU.
inline std::vector<std::vector<Path>> matrix(std::string_view text) {
    std::vector<std::vector<Path>> rows;
    for (const auto row : railhead::split(text, '/')) {
        auto& paths = rows.emplace_back();
        for (const auto word : railhead::split_words(row)) {
            for (const auto path : {Path::pix, Path::pxb, Path::phb, Path::node, Path::sys}) {
                if (to_string(path) == word) {
                    paths.push_back(path);
                }
            }
        }
    }
    return rows;
}

/// A machine of two sockets whose switches have so many GPUs and NICs each.
struct Switches {
    unsigned gpus = 8, gpus_each = 1, nics = 8, nics_each = 1;
    Path near = Path::pix, socket = Path::node;
};

inline std::vector<std::vector<Path>> matrix(const Switches& shape) {
    const auto switches = shape.gpus / shape.gpus_each;
    std::vector<std::vector<Path>> rows;
    for (unsigned gpu = 0; gpu < shape.gpus; ++gpu) {
        auto& row = rows.emplace_back();
        for (unsigned nic = 0; nic < shape.nics; ++nic) {
            const auto of_gpu = gpu / shape.gpus_each;
            const auto of_nic = nic / shape.nics_each;
            const bool together = of_gpu * 2 / switches == of_nic * 2 / switches;
            row.push_back(of_gpu == of_nic ? shape.near : together ? shape.socket : Path::sys);
        }
    }
    return rows;
}

/// More NICs on socket 0, below no switch of a GPU.
inline void add_far(node::Node& node, unsigned count, double gbit_per_s, LinkLayer layer) {
    for (; count > 0; --count) {
        auto nic = node.nics[0];
        nic.name = fmt::format("far{}", count);
        nic.gbit_per_s = gbit_per_s;
        nic.link_layer = layer;
        node.nics.push_back(nic);
        for (std::size_t gpu = 0; gpu < node.paths.size(); ++gpu) {
            node.paths[gpu].push_back(gpu < node.paths.size() / 2 ? Path::node : Path::sys);
        }
    }
}

/// Names as a driver gives them, "{}" being the number, and its PCI device.
inline node::Node named(node::Node node, std::string_view pattern, const std::string& kind) {
    for (std::size_t i = 0; i < node.nics.size(); ++i) {
        node.nics[i].name = fmt::format(fmt::runtime(pattern), i);
        node.nics[i].kind = kind;
    }
    return node;
}

/// "0 1 / 2": the positions of each GPU's NICs.
inline std::string pairs(const rails::RailPlan& plan) {
    std::vector<std::string> gpus;
    for (const auto& gpu : plan.gpus) {
        gpus.push_back(fmt::format("{}", fmt::join(gpu.nics, " ")));
    }
    return fmt::format("{}", fmt::join(gpus, " / "));
}

inline std::string rails_text(const rails::RailPlan& plan) {
    return fmt::format("{}", fmt::join(plan.rails, " "));
}

/// The one reason for which all NICs that are no rails are left out.
inline std::string reason(const rails::RailPlan& plan) {
    std::string text;
    for (const auto& left_out : plan.left_out) {
        text = text.empty() || text == left_out.reason ? left_out.reason : "several";
    }
    return text;
}

}  // namespace railhead::test::matrices
