#include "node/gpu_identity.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::node {

namespace {

using Positions = std::vector<std::size_t>;

/// More than any node has; a range that is longer is a mistake.
constexpr unsigned most_gpus = 1024;

bool means_no_gpu(std::string_view word) {
    return word.empty() || word == "-1" || word == "NoDevFiles" || word == "none" || word == "void";
}

/// The words of a visible-devices list; CUDA stops at the first one that means "none".
std::vector<std::string_view> words_of(std::string_view list) {
    std::vector<std::string_view> words;
    for (const auto part : split(list, ',')) {
        const auto word = trim(part);
        if (word == "-1") {
            break;
        }
        if (!means_no_gpu(word)) {
            words.push_back(word);
        }
    }
    return words;
}

bool is_name(std::string_view word) {
    return word.starts_with("GPU-") || word.starts_with("MIG-");
}

Result<std::vector<unsigned>> parse_indices(const std::vector<std::string_view>& words) {
    std::vector<unsigned> indices;
    for (const auto word : words) {
        const auto dash = word.find('-');
        const auto first = parse_number<unsigned>(word.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : parse_number<unsigned>(word.substr(dash + 1));
        if (!first || !last || *last < *first || *last >= most_gpus) {
            return fail(Errc::bad_input, fmt::format("'{}' is not a GPU number", printable(word)));
        }
        for (auto index = *first; index <= *last; ++index) {
            indices.push_back(index);
        }
    }
    return indices;
}

/// Whether the GPU has this number: ROCm's own where the node knows it, else PCI order.
bool has_number(const Gpu& gpu, unsigned number) {
    return gpu.rocm_indices.empty() ? gpu.index == number
                                    : std::ranges::count(gpu.rocm_indices, number) > 0;
}

Result<Positions> by_number(const Node& node, const std::vector<unsigned>& numbers) {
    Positions found;
    for (const auto number : numbers) {
        const auto gpu = std::ranges::find_if(
            node.gpus, [&](const Gpu& candidate) { return has_number(candidate, number); });
        if (gpu == node.gpus.end()) {
            return fail(Errc::not_found, fmt::format("GPU {} is not one of this node's {}", number,
                                                     node.gpus.size()));
        }
        found.push_back(static_cast<std::size_t>(gpu - node.gpus.begin()));
    }
    return found;
}

Result<std::size_t> by_uuid(const Node& node, std::string_view uuid) {
    const auto fits = [&](const Gpu& gpu) {
        return !gpu.uuid.empty() && std::string_view{gpu.uuid}.starts_with(uuid);
    };
    const auto first = std::ranges::find_if(node.gpus, fits);
    if (first == node.gpus.end() || std::ranges::count_if(node.gpus, fits) != 1) {
        return fail(Errc::not_found,
                    fmt::format("'{}' names {} of this node's GPUs", printable(uuid),
                                first == node.gpus.end() ? "none" : "several"));
    }
    return static_cast<std::size_t>(first - node.gpus.begin());
}

Result<Positions> by_name(const Node& node, const std::vector<std::string_view>& words) {
    Positions found;
    for (auto word : words) {
        if (word.starts_with("MIG-GPU-")) {
            word.remove_prefix(4);
            word = word.substr(0, word.find('/'));
        } else if (word.starts_with("MIG-")) {
            return fail(Errc::unsupported,
                        fmt::format("'{}' does not tell which GPU it is part of", printable(word)));
        } else if (!word.starts_with("GPU-")) {
            return fail(Errc::bad_input,
                        fmt::format("'{}' stands among UUIDs but is none", printable(word)));
        }
        auto position = by_uuid(node, word);
        if (!position) {
            return propagate(position);
        }
        found.push_back(*position);
    }
    return found;
}

Result<Positions> without_repeats(const Node& node, const Positions& positions, bool partitions) {
    Positions unique;
    for (const auto position : positions) {
        if (std::ranges::count(unique, position) == 0) {
            unique.push_back(position);
        } else if (!partitions) {
            return fail(Errc::bad_input,
                        fmt::format("GPU {} is listed twice", node.gpus[position].index));
        }
    }
    return unique;
}

/// Whether several numbers or names may stand for one device: MIG, and MI300 in parts.
bool may_repeat(const Node& node, const std::vector<std::string_view>& words) {
    return std::ranges::any_of(words, [](auto word) { return word.starts_with("MIG-"); }) ||
           std::ranges::any_of(node.gpus, [](const Gpu& g) { return g.rocm_indices.size() > 1; });
}

bool is_mixed(const Node& node) {
    return std::ranges::any_of(
        node.gpus, [&](const Gpu& gpu) { return gpu.vendor != node.gpus.front().vendor; });
}

}  // namespace

Result<std::vector<std::size_t>> identify_gpus(const Node& node,
                                               const GpuEnvironment& environment) {
    if (node.gpus.empty()) {
        return Positions{};
    }
    const auto& visible =
        node.gpus.front().vendor == "amd" ? environment.rocr_visible : environment.cuda_visible;
    const auto visible_words = words_of(visible ? std::string_view{*visible} : "");
    const auto slurm_words =
        words_of(environment.slurm_gpus ? std::string_view{*environment.slurm_gpus} : "");
    const bool told = visible || environment.slurm_gpus;
    if (!told || (visible_words.empty() && (visible || slurm_words.empty()))) {
        return Positions{};
    }
    if (is_mixed(node)) {
        return fail(Errc::unsupported, "this node has GPUs of two vendors");
    }
    if (!visible_words.empty() && is_name(visible_words.front())) {
        auto named = by_name(node, visible_words);
        return named ? without_repeats(node, *named, may_repeat(node, visible_words)) : named;
    }

    auto numbers = parse_indices(slurm_words.empty() ? visible_words : slurm_words);
    const auto seen = parse_indices(visible_words);
    if (!numbers) {
        return propagate(numbers);
    }
    if (!slurm_words.empty() && visible && (!seen || seen->size() != numbers->size())) {
        return fail(Errc::unsupported,
                    fmt::format("Slurm gave the GPUs {} but the environment shows {}",
                                printable(*environment.slurm_gpus), printable(*visible)));
    }
    auto positions = by_number(node, *numbers);
    return positions ? without_repeats(node, *positions, may_repeat(node, slurm_words)) : positions;
}

}  // namespace railhead::node
