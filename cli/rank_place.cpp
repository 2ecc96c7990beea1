#include "rank_place.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "node/gpu_identity.hpp"

namespace railhead::cli {

namespace {

/// A device that the process sees; without a place where it is not one of the map's.
struct Seen {
    std::string word;
    const GpuPlace* place = nullptr;
};

/// The beginning of a list, for a message: the environment may have 128 KiB of it.
std::string shown(const std::string& list) {
    constexpr std::size_t most = 60;
    return printable(list.substr(0, most)) + (list.size() > most ? "..." : "");
}

/// Whether the map has the words by which a list names its GPUs.
bool knows_words(const std::vector<GpuPlace>& map) {
    return std::ranges::none_of(map, &std::string::empty, &GpuPlace::visible);
}

/// The list that narrows; CUDA's where both are set, unless only ROCm's was narrowed.
const std::optional<std::string>& narrowing_list(const std::vector<GpuPlace>& map,
                                                 const VisibleLists& visible) {
    const auto is_whole = [&](const std::optional<std::string>& list) {
        return node::device_words(*list).size() == map.size();
    };
    const bool rocr =
        !visible.cuda || (visible.rocr && is_whole(visible.cuda) && !is_whole(visible.rocr));
    return rocr ? visible.rocr : visible.cuda;
}

Result<std::vector<Seen>> by_list(const std::vector<GpuPlace>& map, const VisibleLists& visible) {
    const auto& list = narrowing_list(map, visible);
    std::vector<Seen> seen;
    if (!list || !knows_words(map)) {
        for (const auto& place : map) {
            seen.push_back({place.visible, &place});
        }
        return seen;
    }
    for (const auto& word : node::device_words(*list)) {
        const auto place = std::ranges::find(map, word, &GpuPlace::visible);
        seen.push_back({word, place == map.end() ? nullptr : &*place});
    }
    if (seen.empty()) {
        return fail(Errc::bad_input, fmt::format("\"{}\" is no list of devices", shown(*list)));
    }
    return seen;
}

/// Those of `seen` that HIP's numbers leave.  Where the map has no words it may be of HIP's devices
/// already, and then a list of fewer of them does not tell which.
Result<std::vector<Seen>> narrowed_by_hip(const std::vector<GpuPlace>& map, std::vector<Seen> seen,
                                          const std::string& hip) {
    const auto words = node::device_words(hip);
    if (!knows_words(map) && words.size() == map.size()) {
        return seen;
    }
    std::vector<Seen> kept;
    for (const auto& word : words) {
        const auto number = parse_number<std::size_t>(word);
        kept.push_back(number && *number < seen.size() ? seen[*number] : Seen{word});
    }
    if (kept.empty() || !knows_words(map)) {
        return fail(kept.empty() ? Errc::bad_input : Errc::not_found,
                    fmt::format("HIP_VISIBLE_DEVICES={} does not tell which of the task's GPUs",
                                shown(hip)));
    }
    return kept;
}

Result<std::vector<Seen>> seen_devices(const std::vector<GpuPlace>& map,
                                       const VisibleLists& visible) {
    auto seen = by_list(map, visible);
    const bool narrowed = seen && seen->size() == 1;
    return seen && visible.hip && !narrowed ? narrowed_by_hip(map, std::move(*seen), *visible.hip)
                                            : seen;
}

}  // namespace

std::optional<std::string> find_empty_list(const VisibleLists& visible) {
    for (const auto& [name, list] :
         {std::pair{"CUDA", &visible.cuda}, {"ROCR", &visible.rocr}, {"HIP", &visible.hip}}) {
        if (*list && !node::gives_gpu(**list)) {
            return fmt::format("{}_VISIBLE_DEVICES={}", name, shown(**list));
        }
    }
    return std::nullopt;
}

Result<GpuPlace> find_place(const std::vector<GpuPlace>& map, const Result<LocalRank>& rank,
                            const VisibleLists& visible) {
    auto seen = seen_devices(map, visible);
    if (!seen) {
        return propagate(seen);
    }
    if (seen->size() > 1 && !rank) {
        return tl::unexpected{rank.error()};
    }
    const auto at = seen->size() > 1 ? rank->rank : 0;
    if (at >= seen->size()) {
        return fail(Errc::not_found, fmt::format("local rank {} is beyond the {} GPUs that it sees",
                                                 at, seen->size()));
    }
    const auto& [word, place] = (*seen)[at];
    if (place == nullptr) {
        return fail(Errc::not_found, fmt::format("GPU {} is not one of the task's", shown(word)));
    }
    return *place;
}

std::optional<unsigned> first_without_place(const std::vector<GpuPlace>& map,
                                            const VisibleLists& visible) {
    const auto seen = seen_devices(map, visible);
    if (!seen) {
        return 0;
    }
    if (seen->size() == 1) {
        return std::nullopt;
    }
    const auto first = std::ranges::find(*seen, nullptr, &Seen::place);
    return static_cast<unsigned>(first - seen->begin());
}

}  // namespace railhead::cli
