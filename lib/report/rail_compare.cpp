#include "report/rail_compare.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "job/hostlist.hpp"

namespace railhead::report {

namespace {

using rails::RailIdentity;
using rails::shape_words;
using Nodes = std::vector<RailIdentity>;

/// The nodes of each fingerprint, the largest group first.
std::vector<Nodes> group(const Nodes& nodes) {
    std::vector<Nodes> groups;
    std::set<std::tuple<std::string, std::string, std::string>> seen;
    for (const auto& node : nodes) {
        if (!node.node.empty() && !seen.insert({node.node, node.fingerprint, node.list}).second) {
            continue;
        }
        auto found = std::ranges::find_if(groups, [&](const Nodes& members) {
            return members.front().fingerprint == node.fingerprint;
        });
        if (found == groups.end()) {
            found = groups.insert(groups.end(), Nodes{});
        }
        found->push_back(node);
    }
    std::ranges::stable_sort(groups, std::greater<>{}, &Nodes::size);
    return groups;
}

std::string names(const Nodes& nodes) {
    std::vector<std::string> known;
    for (const auto& node : nodes) {
        if (!node.node.empty()) {
            known.push_back(printable(node.node));
        }
    }
    return job::compress_hostlist(known);
}

std::string_view word(std::string_view shape, std::string_view key) {
    const auto words = shape_words(shape);
    const auto found =
        std::ranges::find_if(words, [&](const auto& pair) { return pair.first == key; });
    return found == words.end() ? std::string_view{} : found->second;
}

/// "8 rails of 400 Gb/s InfiniBand (15b3:1021)".
std::string summary(std::string_view shape) {
    const auto count = parse_number<std::uint64_t>(word(shape, "rails")).value_or(0);
    return count == 0
               ? "no rails"
               : fmt::format("{} of {} Gb/s {} ({})", count_of(count, "rail"), word(shape, "rate"),
                             word(shape, "layer"), word(shape, "device"));
}

/// The names of `list` that `other` has not.
std::string without(const std::string& list, const std::string& other) {
    const auto others = split(other, ',');
    std::vector<std::string_view> left;
    for (const auto name : split(list, ',')) {
        if (!name.empty() && std::ranges::find(others, name) == others.end()) {
            left.push_back(name);
        }
    }
    return fmt::format("{}", fmt::join(left, ","));
}

/// A line for each GPU that is other, at most `most_shown`.
std::string gpu_differences(std::string_view own, std::string_view usual) {
    constexpr std::size_t most_shown = 4;
    const auto own_gpus = split(own, '/');
    const auto usual_gpus = split(usual, '/');
    if (own_gpus.size() != usual_gpus.size()) {
        return fmt::format("    {}, most have {}\n", count_of(own_gpus.size(), "GPU"),
                           usual_gpus.size());
    }
    std::string text;
    std::size_t count = 0;
    for (std::size_t gpu = 0; gpu < own_gpus.size(); ++gpu) {
        if (own_gpus[gpu] != usual_gpus[gpu] && ++count <= most_shown) {
            text += fmt::format("    GPU {}: path and rail {}, most have {}\n", gpu, own_gpus[gpu],
                                usual_gpus[gpu]);
        }
    }
    return count <= most_shown
               ? text
               : fmt::format("{}    and {} more\n", text, count_of(count - most_shown, "GPU"));
}

/// What is other about a group, a line each; gives at least one line.
std::string differences(const RailIdentity& own, const RailIdentity& usual) {
    std::string text;
    for (const auto& [key, value] : shape_words(own.shape)) {
        const auto expected = word(usual.shape, key);
        if (value == expected) {
            continue;
        }
        text += key == "gpus" ? gpu_differences(value, expected)
                              : fmt::format("    {}: {}, most have {}\n", key, value, expected);
    }
    if (word(own.shape, "rails") != word(usual.shape, "rails")) {
        const auto missing = without(usual.list, own.list);
        const auto extra = without(own.list, usual.list);
        text += missing.empty() ? "" : fmt::format("    missing by name: {}\n", missing);
        text += extra.empty() ? "" : fmt::format("    others have not: {}\n", extra);
    }
    return text;
}

/// Nodes of one group by their list of names, the largest first; "" when all have the same.
std::string other_names(const Nodes& nodes) {
    std::map<std::string_view, Nodes> lists;
    for (const auto& node : nodes) {
        lists[node.list].push_back(node);
    }
    if (lists.size() < 2) {
        return {};
    }
    std::string text =
        "    The same hardware under other names. NCCL_IB_HCA differs from node to node then, "
        "which\n"
        "    NCCL takes; a list that a site declares for all of them (nics) would not fit.\n";
    for (const auto& [list, members] : lists) {
        text += fmt::format("    {}: {}\n", names(members), printable(list));
    }
    return text;
}

}  // namespace

RailComparison compare_rails(const std::vector<RailIdentity>& nodes) {
    const auto groups = group(nodes);
    RailComparison comparison;
    comparison.is_same = groups.size() == 1;
    std::size_t count = 0;
    for (const auto& members : groups) {
        count += members.size();
    }
    comparison.text =
        comparison.is_same
            ? fmt::format("{}, the same rails\n", count_of(count, "node"))
            : fmt::format("{}, {} kinds of rails\n", count_of(count, "node"), groups.size());
    for (const auto& members : groups) {
        const auto& first = members.front();
        comparison.text +=
            fmt::format("\n{}  {}: {}\n    {}\n", first.fingerprint,
                        count_of(members.size(), "node"), names(members), summary(first.shape));
        if (&members != &groups.front()) {
            comparison.text += differences(first, groups.front().front());
        }
        comparison.text += other_names(members);
    }
    return comparison;
}

}  // namespace railhead::report
