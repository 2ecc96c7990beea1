#include "node_policy.hpp"

#include <utility>

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

const policy::Policy* SitePolicy::get() {
    if (!is_read_) {
        is_read_ = true;
        auto places = policy::default_places();
        if (!file_.empty()) {
            places.policy = file_;
        }
        const auto owner = policy::trusted_owner(places.slurm_conf);
        auto loaded = policy::load_policy(
            places, [owner](const std::string& path) { return read_trusted_file(path, owner); });
        if (!loaded.errors.empty()) {
            trouble_ = one_line(loaded.errors);
        } else {
            policy_ = std::move(loaded.policy);
        }
    }
    return policy_ ? &*policy_ : nullptr;
}

std::optional<rails::NodeType> type_of_node(SitePolicy& policy, const std::string& node_name) {
    const auto* site = policy.get();
    const auto* type =
        site == nullptr ? nullptr : rails::find_node_type(site->node_types, node_name);
    return type == nullptr ? std::nullopt : std::optional{*type};
}

}  // namespace railhead::spank
