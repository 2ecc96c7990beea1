#include "rails/fingerprint.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace railhead::rails {

namespace {

using node::LinkLayer;
using node::Node;

std::string_view layer_word(LinkLayer layer) {
    return layer == LinkLayer::unknown ? "?" : to_string(layer);
}

/// One word where all rails say the same, else one for each; "?" where nothing is known.
std::string in_common(const std::vector<std::string>& words) {
    const bool same =
        std::ranges::all_of(words, [&](const auto& word) { return word == words[0]; });
    return words.empty() ? "?" : same ? words[0] : fmt::format("{}", fmt::join(words, ","));
}

std::string devices_word(const Node& node, const std::vector<std::size_t>& rails) {
    std::vector<std::string> words;
    for (const auto rail : rails) {
        const auto& kind = node.nics[rail].kind;
        words.push_back(kind.empty() ? "?" : kind);
    }
    return in_common(words);
}

/// Rails are of one class, so the rate that any shows is that of those that are down.
std::string rates_word(const Node& node, const std::vector<std::size_t>& rails) {
    std::optional<double> known;
    for (const auto rail : rails) {
        known = std::max(known, node.nics[rail].gbit_per_s);
    }
    std::vector<std::string> words;
    for (const auto rail : rails) {
        const auto own = node.nics[rail].gbit_per_s;
        words.push_back(known ? fmt::format("{:g}", own.value_or(*known)) : "?");
    }
    return in_common(words);
}

std::string layers_word(const Node& node, const std::vector<std::size_t>& rails) {
    auto known = LinkLayer::unknown;
    for (const auto rail : rails) {
        known = known == LinkLayer::unknown ? node.nics[rail].link_layer : known;
    }
    std::vector<std::string> words;
    for (const auto rail : rails) {
        const auto own = node.nics[rail].link_layer;
        words.emplace_back(layer_word(own == LinkLayer::unknown ? known : own));
    }
    return in_common(words);
}

std::string gpus_word(const RailPlan& plan) {
    std::vector<std::string> words;
    for (const auto& gpu : plan.gpus) {
        std::vector<std::size_t> positions;
        for (const auto nic : gpu.nics) {
            const auto rail = std::ranges::find(plan.rails, nic);
            positions.push_back(static_cast<std::size_t>(rail - plan.rails.begin()));
        }
        words.push_back(positions.empty()
                            ? "-"
                            : fmt::format("{}:{}", to_string(gpu.path), fmt::join(positions, "+")));
    }
    return words.empty() ? "-" : fmt::format("{}", fmt::join(words, "/"));
}

std::string fingerprint_of(std::string_view shape) {
    return fmt::format("{:016x}", fnv1a(shape));
}

/// Cuts off and gives what stands before the first `separator`; all when there is none.
std::string_view cut(std::string_view& text, std::string_view separator) {
    const auto at = text.find(separator);
    const auto first = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + separator.size());
    return first;
}

/// Cuts off "12: " before the fingerprint, and gives what it names.
std::string_view cut_label(std::string_view& line) {
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos || line.substr(0, colon).find(' ') < colon) {
        return {};
    }
    const auto label = line.substr(0, colon);
    line.remove_prefix(colon + 2);
    return label;
}

constexpr std::string_view gap = "  ";

}  // namespace

RailIdentity identify_rails(const Node& node, const RailPlan& plan, std::string name) {
    RailIdentity identity;
    identity.shape = fmt::format("rails={} device={} rate={} layer={} gpus={}", plan.rails.size(),
                                 devices_word(node, plan.rails), rates_word(node, plan.rails),
                                 layers_word(node, plan.rails), gpus_word(plan));
    identity.fingerprint = fingerprint_of(identity.shape);
    identity.list = plan.list;
    identity.node = std::move(name);
    return identity;
}

std::vector<std::pair<std::string_view, std::string_view>> shape_words(std::string_view shape) {
    std::vector<std::pair<std::string_view, std::string_view>> words;
    for (auto word : split_words(shape)) {
        const auto key = cut(word, "=");
        words.emplace_back(key, word);
    }
    return words;
}

std::string to_line(const RailIdentity& identity) {
    auto name = printable(identity.node);
    std::ranges::replace(name, ' ', '_');
    return fmt::format("{}{}{}{}{}{}", identity.fingerprint, gap,
                       identity.list.empty() ? "-" : identity.list, gap, identity.shape,
                       name.empty() ? "" : fmt::format("{}node={}", gap, name));
}

Result<RailIdentity> parse_identity(std::string_view line) {
    auto rest = trim(line);
    const auto label = trim(cut_label(rest));
    rest = trim(rest);
    RailIdentity identity;
    identity.fingerprint = cut(rest, gap);
    identity.list = cut(rest, gap);
    identity.shape = cut(rest, gap);
    constexpr std::string_view node_key = "node=";
    identity.node = rest.starts_with(node_key) ? rest.substr(node_key.size()) : label;
    if (identity.list == "-") {
        identity.list.clear();
    }
    if (identity.shape.empty() || identity.fingerprint != fingerprint_of(identity.shape)) {
        return fail(Errc::bad_input, fmt::format("'{}' is no line of railhead rails --fingerprint",
                                                 printable(line)));
    }
    return identity;
}

}  // namespace railhead::rails
