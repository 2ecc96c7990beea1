#include "gpu_map.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "node/gpu_identity.hpp"

namespace railhead::cli {

namespace {

using nlohmann::json;

/// A text of the object; "" where it is absent.
std::string text_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::optional<unsigned> number_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned()
               ? std::optional{found->get<unsigned>()}
               : std::nullopt;
}

Result<GpuPlace> parse_place(const json& object) {
    GpuPlace place;
    const auto index = object.is_object() ? number_of(object, "index") : std::nullopt;
    auto cpus = parse_cpu_list(object.is_object() ? text_of(object, "cpus") : "");
    if (!index || !cpus) {
        return fail(Errc::bad_input,
                    "RAILHEAD_GPU_MAP has an element without \"index\" or with "
                    "\"cpus\" that are no list");
    }
    place.visible = text_of(object, "visible");
    place.index = *index;
    place.pci = text_of(object, "pci");
    place.numa = number_of(object, "numa");
    place.cpus = std::move(*cpus);
    if (const auto node = number_of(object, "memory")) {
        place.memory.policy = text_of(object, "memory_policy") == "bind"
                                  ? affinity::MemoryPolicy::bind
                                  : affinity::MemoryPolicy::prefer;
        place.memory.nodes.add(*node);
    }
    place.nics = text_of(object, "nic");
    place.path = text_of(object, "path");
    return place;
}

/// The word of the list that stands for this rank: the only one, or the rank's.
std::optional<std::string> word_of(const std::vector<std::string>& words,
                                   std::optional<unsigned> rank) {
    if (words.size() == 1) {
        return words.front();
    }
    return rank && *rank < words.size() ? std::optional{words[*rank]} : std::nullopt;
}

}  // namespace

Result<std::vector<GpuPlace>> parse_gpu_map(std::string_view text) {
    constexpr bool throws = false;
    const auto map = json::parse(text, nullptr, throws);
    if (!map.is_array() || map.empty()) {
        return fail(Errc::bad_input, "RAILHEAD_GPU_MAP is not what Railhead writes");
    }
    std::vector<GpuPlace> places;
    for (const auto& object : map) {
        auto place = parse_place(object);
        if (!place) {
            return propagate(place);
        }
        places.push_back(std::move(*place));
    }
    return places;
}

Result<GpuPlace> find_place(const std::vector<GpuPlace>& map, std::optional<unsigned> rank,
                            const std::optional<std::string>& visible) {
    const bool known = std::ranges::none_of(map, &std::string::empty, &GpuPlace::visible);
    const auto words = visible ? node::device_words(*visible) : std::vector<std::string>{};
    if (known && !words.empty()) {
        const auto word = word_of(words, rank);
        const auto place = word ? std::ranges::find(map, *word, &GpuPlace::visible) : map.end();
        if (place != map.end()) {
            return *place;
        }
        return fail(Errc::not_found,
                    word   ? fmt::format("GPU {} is not one of the task's", printable(*word))
                    : rank ? fmt::format("local rank {} is beyond the {} GPUs that it sees", *rank,
                                         words.size())
                           : std::string{"no local rank"});
    }
    if (!rank) {
        return fail(Errc::not_found, "no local rank");
    }
    if (*rank >= map.size()) {
        return fail(Errc::not_found,
                    fmt::format("local rank {} is beyond the task's {} GPUs", *rank, map.size()));
    }
    return map[*rank];
}

}  // namespace railhead::cli
