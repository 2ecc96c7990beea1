#include "gpu_map.hpp"

#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace railhead::cli {

namespace {

using nlohmann::json;

tl::unexpected<Error> fail_key(const char* key) {
    return fail(Errc::bad_input,
                fmt::format("RAILHEAD_GPU_MAP has a \"{}\" that Railhead does not write", key));
}

/// Reads the members of one object; remembers the first that is not as the plugin writes it.
class Members {
 public:
    explicit Members(const json& object) : object_{object} {}

    /// "" where it is absent.
    std::string text(const char* key) {
        const auto found = object_.find(key);
        if (found == object_.end()) {
            return {};
        }
        if (!found->is_string()) {
            wrong_ = key;
            return {};
        }
        return found->get<std::string>();
    }

    std::optional<unsigned> number(const char* key,
                                   std::uint64_t most = std::numeric_limits<unsigned>::max()) {
        const auto found = object_.find(key);
        if (found == object_.end()) {
            return std::nullopt;
        }
        if (!found->is_number_unsigned() || found->get<std::uint64_t>() > most) {
            wrong_ = key;
            return std::nullopt;
        }
        return found->get<unsigned>();
    }

    [[nodiscard]] const char* wrong() const { return wrong_; }

 private:
    const json& object_;
    const char* wrong_ = nullptr;  ///< a key
};

/// The memory of a GPU; nothing when the policy's word is not the plugin's.
std::optional<affinity::Memory> parse_memory(Members& members) {
    affinity::Memory memory;
    const auto node = members.number("memory", affinity::MemoryNodes::limit - 1);
    const auto policy = members.text("memory_policy");
    if (policy != "bind" && policy != "prefer" && (node || !policy.empty())) {
        return std::nullopt;
    }
    if (node) {
        memory.policy =
            policy == "bind" ? affinity::MemoryPolicy::bind : affinity::MemoryPolicy::prefer;
        memory.nodes.add(*node);
    }
    return memory;
}

Result<GpuPlace> parse_place(const json& object) {
    if (!object.is_object() || !object.contains("index")) {
        return fail(Errc::bad_input, "RAILHEAD_GPU_MAP has an element without \"index\"");
    }
    Members members{object};
    GpuPlace place;
    place.visible = members.text("visible");
    place.index = members.number("index").value_or(0);
    place.pci = members.text("pci");
    place.numa = members.number("numa");
    place.nics = members.text("nic");
    place.path = members.text("path");
    auto cpus = parse_cpu_list(members.text("cpus"));
    auto memory = parse_memory(members);
    if (members.wrong() != nullptr || !cpus || !memory) {
        return fail_key(members.wrong() != nullptr ? members.wrong()
                        : !cpus                    ? "cpus"
                                                   : "memory_policy");
    }
    place.cpus = std::move(*cpus);
    place.memory = std::move(*memory);
    return place;
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

}  // namespace railhead::cli
