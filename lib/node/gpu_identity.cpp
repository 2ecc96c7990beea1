#include "node/gpu_identity.hpp"

#include <unistd.h>

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

/// Far more than any node needs, and little to work on: the lists are the user's.
constexpr std::size_t most_devices = 4096;
constexpr std::size_t longest_list = std::size_t{64} << 10U;  // 64 KiB

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

bool is_too_long(const std::optional<std::string>& list) {
    return list && list->size() > longest_list;
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
        if (indices.size() + (*last - *first) >= most_devices) {
            return fail(Errc::bad_input,
                        fmt::format("the list names more than {} GPUs", most_devices));
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

Result<Positions> by_name(const Node& node, const std::vector<std::string_view>& words,
                          const GpuEnvironment& environment) {
    const bool one = environment.openable && environment.openable->size() == 1;
    Positions found;
    for (auto word : words) {
        if (word.starts_with("MIG-GPU-")) {
            word.remove_prefix(4);
            word = word.substr(0, word.find('/'));
        } else if (word.starts_with("MIG-") && one) {
            found.push_back(environment.openable->front());
            continue;
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

bool is_amd(const Node& node) {
    return !node.gpus.empty() && node.gpus.front().vendor == "amd";
}

/// The list that narrows what the program sees; of AMD's, OpenCL's where there is no other.
const std::optional<std::string>& visible_list(const Node& node, const GpuEnvironment& from) {
    if (!is_amd(node)) {
        return from.cuda_visible;
    }
    return from.rocr_visible ? from.rocr_visible : from.ordinal;
}

/// What the environment says, taken apart.
struct Words {
    bool shown = false;  ///< a visible-devices list is set
    std::vector<std::string_view> visible, slurm;

    Words(const Node& node, const GpuEnvironment& from) {
        const auto& list = visible_list(node, from);
        shown = list.has_value();
        visible = words_of(list ? std::string_view{*list} : "");
        slurm = words_of(from.slurm_gpus ? std::string_view{*from.slurm_gpus} : "");
    }
    [[nodiscard]] bool give_none() const { return shown ? visible.empty() : slurm.empty(); }
};

/// Whether CUDA's order of these devices is that of PCI: unless told so, the fastest is first.
bool in_pci_order(const Node& node, const Positions& devices, const GpuEnvironment& environment) {
    return environment.cuda_order.value_or("") == "PCI_BUS_ID" ||
           std::ranges::all_of(devices, [&](std::size_t device) {
               const auto& gpu = node.gpus[device];
               return gpu.vendor != "nvidia" || gpu.model == node.gpus[devices.front()].model;
           });
}

Result<Positions> if_in_pci_order(const Node& node, const Positions& among, Positions found,
                                  const GpuEnvironment& environment) {
    if (!in_pci_order(node, among, environment)) {
        return fail(Errc::unsupported,
                    "the GPUs are of several models and CUDA numbers the fastest first: set "
                    "CUDA_DEVICE_ORDER=PCI_BUS_ID");
    }
    return found;
}

/// These of `among`, by their places there.
Result<Positions> pick(const Positions& among, const std::vector<unsigned>& places) {
    Positions found;
    for (const auto place : places) {
        if (place >= among.size()) {
            return fail(Errc::not_found,
                        fmt::format("GPU {} is not one of the task's {}", place, among.size()));
        }
        found.push_back(among[place]);
    }
    return found;
}

/// By what the task can open, where some of the node's GPUs are hidden from it.
Result<Positions> by_openable(const Node& node, const Words& words,
                              const GpuEnvironment& environment) {
    const auto& openable = *environment.openable;
    if (!words.shown) {
        return if_in_pci_order(node, openable, openable, environment);
    }
    const auto places = parse_indices(words.visible);
    auto found = places ? pick(openable, *places) : Result<Positions>{tl::unexpect, places.error()};
    return found ? if_in_pci_order(node, openable, std::move(*found), environment) : found;
}

/// By Slurm's numbers, or those of the visible-devices list.
Result<Positions> by_numbers(const Node& node, const Words& words,
                             const GpuEnvironment& environment) {
    auto numbers = parse_indices(words.slurm.empty() ? words.visible : words.slurm);
    const auto seen = parse_indices(words.visible);
    if (!numbers) {
        return propagate(numbers);
    }
    if (!words.slurm.empty() && words.shown && (!seen || seen->size() != numbers->size())) {
        return fail(Errc::unsupported,
                    fmt::format("Slurm gave the GPUs {} but the environment shows {}",
                                printable(*environment.slurm_gpus),
                                printable(*visible_list(node, environment))));
    }
    auto found = by_number(node, *numbers);
    return found ? if_in_pci_order(node, *found, *found, environment) : found;
}

/// HIP's numbers count among those devices that ROCR shows.
Result<Positions> narrowed_by_hip(Positions found, const GpuEnvironment& environment) {
    if (!environment.hip_visible) {
        return found;
    }
    const auto places = parse_indices(words_of(*environment.hip_visible));
    return places ? pick(found, *places) : Result<Positions>{tl::unexpect, places.error()};
}

}  // namespace

Result<std::vector<std::size_t>> identify_gpus(const Node& node,
                                               const GpuEnvironment& environment) {
    if (is_too_long(environment.slurm_gpus) || is_too_long(visible_list(node, environment)) ||
        is_too_long(environment.hip_visible)) {
        return fail(Errc::bad_input,
                    fmt::format("a list of GPUs has more than {} bytes", longest_list));
    }
    const Words words{node, environment};
    if (node.gpus.empty() || words.give_none()) {
        return Positions{};
    }
    if (is_mixed(node)) {
        return fail(Errc::unsupported, "this node has GPUs of two vendors");
    }
    if (!words.visible.empty() && is_name(words.visible.front())) {
        auto named = by_name(node, words.visible, environment);
        return named ? without_repeats(node, *named, may_repeat(node, words.visible)) : named;
    }
    const bool hidden = environment.openable && environment.openable->size() < node.gpus.size();
    auto found =
        hidden ? by_openable(node, words, environment) : by_numbers(node, words, environment);
    if (found && is_amd(node)) {
        found = narrowed_by_hip(std::move(*found), environment);
    }
    return found ? without_repeats(node, *found, may_repeat(node, words.slurm)) : found;
}

bool gives_gpu(std::string_view list) {
    return list.size() > longest_list || !words_of(list).empty();
}

std::vector<std::string> device_words(std::string_view list) {
    if (list.size() > longest_list) {
        return {};
    }
    const auto words = words_of(list);
    if (words.empty() || is_name(words.front())) {
        return {words.begin(), words.end()};
    }
    std::vector<std::string> all;
    if (const auto numbers = parse_indices(words)) {
        for (const auto number : *numbers) {
            all.push_back(fmt::format("{}", number));
        }
    }
    return all;
}

std::vector<std::string> visible_words(const Node& node, const GpuEnvironment& environment) {
    const auto& list = visible_list(node, environment);
    const bool renumbered = is_amd(node) && environment.hip_visible;
    return list && !renumbered ? device_words(*list) : std::vector<std::string>{};
}

std::optional<std::vector<std::size_t>> find_openable(const Node& node,
                                                      const std::string& devices) {
    Positions found;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        const auto& minor = node.gpus[i].minor;
        if (node.gpus[i].vendor != "nvidia" || !minor) {
            return std::nullopt;
        }
        const auto file = fmt::format("{}/nvidia{}", devices, *minor);
        if (::access(file.c_str(), R_OK | W_OK) == 0) {
            found.push_back(i);
        }
    }
    return found.empty() ? std::nullopt : std::optional{std::move(found)};
}

}  // namespace railhead::node
