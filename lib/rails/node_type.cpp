#include "rails/node_type.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "job/hostlist.hpp"

namespace railhead::rails {

const NodeType* find_node_type(const std::vector<NodeType>& types, std::string_view node_name) {
    const auto found = std::ranges::find_if(
        types, [&](const NodeType& type) { return job::hostlist_has(type.nodes, node_name); });
    return found == types.end() ? nullptr : &*found;
}

std::string called(const NodeType& type) {
    return fmt::format("node type \"{}\"", type.name);
}

Declared declared_rails(const NodeType* type, const std::vector<std::string>& nics) {
    if (type != nullptr && !type->rails.empty()) {
        return {type->rails, called(*type)};
    }
    return nics.empty() ? Declared{} : Declared{nics, "nics= of plugstack.conf"};
}

}  // namespace railhead::rails
