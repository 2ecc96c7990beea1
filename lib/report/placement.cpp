#include "report/placement.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "job/hostlist.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;

std::string verdict(const policy::Placement& placement) {
    if (placement.kind == fabric::Kind::none) {
        return "cannot be told: no switches and no blocks are known";
    }
    if (!placement.off_fabric.empty()) {
        return fmt::format("cannot be told: the topology does not name {}",
                           printable(job::compress_hostlist(placement.off_fabric)));
    }
    const auto minimal = placement.is_minimal();
    if (!minimal) {
        return "cannot be told: no one network could hold as many nodes";
    }
    return *minimal ? "minimal" : "wider than need be";
}

std::string levels_text(const policy::Placement& placement) {
    Table table{{"level", "span", "least"}};
    for (const auto& level : placement.levels) {
        table.add({fabric::level_word(placement.kind, level.level, 2),
                   fmt::format("{}", level.span),
                   level.least > 0 ? fmt::format("{}", level.least) : "-"});
    }
    return table.text(2);
}

std::string leaves_text(const policy::Placement& placement) {
    Table table{{fabric::level_word(placement.kind, 0, 1), "nodes", ""}};
    for (const auto& leaf : placement.leaves) {
        table.add({printable(leaf.name), fmt::format("{}", leaf.nodes.size()),
                   printable(job::compress_hostlist(leaf.nodes))});
    }
    return table.text(2);
}

std::string job_text(const PlacedJob& job) {
    auto out = job.job.empty() ? std::string{} : fmt::format("job {}\n", printable(job.job));
    Table table;
    if (!job.placement) {
        table.add({"placement",
                   fmt::format("none: the job is {} and has no nodes", printable(job.state))});
        return out + table.text(2);
    }
    const auto& placement = *job.placement;
    table.add({"nodes",
               fmt::format("{} in partition \"{}\": {}", count_of(placement.nodes.size(), "node"),
                           printable(placement.partition),
                           printable(job::compress_hostlist(placement.nodes)))});
    table.add({"placement", verdict(placement)});
    out += table.text(2);
    return placement.leaves.empty()
               ? out
               : fmt::format("{}\n{}\n{}", out, levels_text(placement), leaves_text(placement));
}

json job_json(const PlacedJob& job) {
    const auto or_null = [](const std::string& text) { return text.empty() ? json{} : json(text); };
    json out{{"job", or_null(job.job)}, {"state", or_null(job.state)}};
    if (!job.placement) {
        out["minimal"] = nullptr;
        return out;
    }
    const auto& placement = *job.placement;
    const auto minimal = placement.is_minimal();
    json levels = json::array();
    for (const auto& level : placement.levels) {
        levels.push_back({{"level", level.level},
                          {"span", level.span},
                          {"least", level.least > 0 ? json(level.least) : json{}}});
    }
    json leaves = json::array();
    for (const auto& leaf : placement.leaves) {
        leaves.push_back({{"name", leaf.name}, {"nodes", leaf.nodes}});
    }
    out["minimal"] = minimal ? json(*minimal) : json{};
    out["partition"] = placement.partition;
    out["nodes"] = placement.nodes;
    out["levels"] = std::move(levels);
    out["leaves"] = std::move(leaves);
    out["off_fabric"] = placement.off_fabric;
    return out;
}

}  // namespace

std::string placement_text(std::span<const PlacedJob> jobs) {
    std::string out;
    for (const auto& job : jobs) {
        out += (out.empty() ? "" : "\n") + job_text(job);
    }
    return out;
}

std::string placement_json(std::span<const PlacedJob> jobs) {
    json list = json::array();
    for (const auto& job : jobs) {
        list.push_back(job_json(job));
    }
    const json out{{"schema", "railhead.placement/1"}, {"jobs", std::move(list)}};
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
