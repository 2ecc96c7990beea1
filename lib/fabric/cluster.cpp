#include "fabric/cluster.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace railhead::fabric {

std::uint32_t NodeFacts::gpu_total() const {
    std::uint32_t sum = 0;
    for (const auto& [type, count] : gpus) {
        sum += count;
    }
    return sum;
}

std::optional<std::uint32_t> Cluster::find_node(std::string_view wanted) const {
    const auto name_of = [this](std::uint32_t index) {
        return std::string_view{nodes[index].name};
    };
    const auto at = std::ranges::lower_bound(by_name, wanted, {}, name_of);
    if (at == by_name.end() || name_of(*at) != wanted) {
        return std::nullopt;
    }
    return *at;
}

const Partition* Cluster::find_partition(std::string_view wanted) const {
    const auto at = std::ranges::find(partitions, wanted, &Partition::name);
    return at == partitions.end() ? nullptr : &*at;
}

const Partition* Cluster::default_partition() const {
    const auto at = std::ranges::find(partitions, true, &Partition::is_default);
    return at == partitions.end() ? nullptr : &*at;
}

std::optional<std::string_view> find_parameter(std::string_view list, std::string_view key) {
    for (const auto part : split(list, ',')) {
        const auto equals = part.find('=');
        if (equals_ignoring_case(trim(part.substr(0, equals)), key)) {
            return equals == std::string_view::npos ? std::string_view{}
                                                    : trim(part.substr(equals + 1));
        }
    }
    return std::nullopt;
}

}  // namespace railhead::fabric
