// What tests of a launch's environment share: a launch to change, and what it sets as texts.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rails/environment.hpp"
#include "rails/own_marks.hpp"
#include "rails/rail_plan.hpp"
#include "support/nodes.hpp"

namespace railhead::test::launches {

constexpr auto pix = node::Path::pix;
constexpr auto sys = node::Path::sys;

using Variables = std::map<std::string, std::string, std::less<>>;

inline rails::Lookup lookup_in(const Variables& variables) {
    return [variables](std::string_view name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional{found->second};
    };
}

/// A launch of a task with all that it refers to; a test changes what it is about.
struct Case {
    node::Node node = node_with({{pix, sys}, {sys, pix}});
    std::vector<std::string> declared;
    std::vector<std::size_t> nics{1};
    std::vector<rails::FileSetting> files;
    Variables variables;
    std::optional<rails::NodeType> type;
    bool per_task = true;

    /// The answer of `ask` to the launch.
    template <class Ask>
    auto asked(const Ask& ask) const {
        const auto plan = rails::plan_rails(node, declared);
        const auto lookup = lookup_in(variables);
        return ask(rails::Launch{.node = node,
                                 .plan = plan,
                                 .nics = nics,
                                 .files = files,
                                 .environment = lookup,
                                 .type = type ? &*type : nullptr,
                                 .declared_by = declared.empty() ? "" : "the site",
                                 .per_task = per_task});
    }
    [[nodiscard]] rails::EnvironmentPlan plan() const { return asked(&rails::plan_environment); }
};

/// "NAME=value" for what is set, "-NAME" for what is taken away, "NAME<owner" for what is kept.
inline std::set<std::string> texts(const rails::EnvironmentPlan& plan) {
    std::set<std::string> all;
    for (const auto& [name, value] : plan.changes) {
        if (name != rails::own_marks) {
            all.insert(value ? name + "=" + *value : "-" + name);
        }
    }
    for (const auto& [name, by] : plan.kept) {
        all.insert(name + "<" + by);
    }
    return all;
}

/// The environment of a task that was given `plan`.
inline Variables applied(Variables variables, const rails::EnvironmentPlan& plan) {
    for (const auto& [name, value] : plan.changes) {
        if (value) {
            variables[name] = *value;
        } else {
            variables.erase(name);
        }
    }
    return variables;
}

inline rails::NodeType type_h100() {
    rails::NodeType type;
    type.name = "h100";
    return type;
}

using Texts = std::set<std::string>;

}  // namespace railhead::test::launches
