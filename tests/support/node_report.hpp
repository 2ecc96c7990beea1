// A node and what `railhead rails` says of it, for tests that compare the whole text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/node.hpp"
#include "rails/environment.hpp"
#include "rails/rail_plan.hpp"
#include "report/rails.hpp"

namespace railhead::test {

struct Seen {
    node::Node node;
    rails::RailPlan plan = rails::plan_rails(node);
    std::vector<std::size_t> nics =
        plan.gpus.empty() ? std::vector<std::size_t>{} : plan.gpus[0].nics;
    std::vector<rails::FileSetting> files{};
    rails::Lookup nothing = [](std::string_view) { return std::nullopt; };
    rails::EnvironmentPlan environment = rails::plan_environment(
        {.node = node, .plan = plan, .nics = nics, .files = files, .environment = nothing});

    [[nodiscard]] std::string text() const { return report::rails_text({node, plan, environment}); }
    [[nodiscard]] std::string json() const { return report::rails_json({node, plan, environment}); }
};

/// The report of a node, or the error as the command prints it.
[[nodiscard]] inline std::string seen_text(const Result<node::Node>& node) {
    return node ? Seen{*node}.text() : "error " + to_string(node.error()) + "\n";
}

}  // namespace railhead::test
