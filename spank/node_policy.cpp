#include "node_policy.hpp"

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "policy/load_policy.hpp"

namespace railhead::spank {

namespace {

/// The errors of the policy in one line.
std::string one_line(const std::vector<Error>& errors) {
    auto text = printable(to_string(errors.front()));
    if (errors.size() > 1) {
        text += fmt::format(", and {}", count_of(errors.size() - 1, "more error"));
    }
    return text + ": going on without the policy";
}

}  // namespace

NodePolicy read_node_policy(const rails::PluginArguments& arguments, const std::string& node_name) {
    auto places = policy::default_places();
    if (!arguments.policy.empty()) {
        places.policy = arguments.policy;
    }
    const auto owner = policy::trusted_owner(places.slurm_conf);
    const auto loaded = policy::load_policy(
        places, [owner](const std::string& path) { return read_trusted_file(path, owner); });
    NodePolicy result;
    if (!loaded.errors.empty()) {
        result.trouble = one_line(loaded.errors);
    } else if (loaded.policy) {
        if (const auto* type = rails::find_node_type(loaded.policy->node_types, node_name)) {
            result.type = *type;
        }
    }
    return result;
}

}  // namespace railhead::spank
