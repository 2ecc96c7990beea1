#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/diagnosis_json.hpp"
#include "report/json_parts.hpp"
#include "report/page.hpp"

namespace railhead::report {

namespace {

using diagnose::Facts;
using json = nlohmann::ordered_json;

/// Columns in place of rows: names of fields once, not for each of 16,384 ranks.
template <class Row, class Value>
json column(const std::vector<Row>& rows, Value value) {
    auto values = json::array();
    for (const auto& row : rows) {
        values.push_back(value(row));
    }
    return values;
}

std::string_view unit_of(training::Measure measure) {
    switch (measure) {
        case training::Measure::none:
            return "";
        case training::Measure::step_s:
            return "s a step";
        case training::Measure::seconds_a_token_gpu:
            return "s a token of a GPU";
        case training::Measure::seconds_a_sample:
            return "s a sample";
    }
    return "";
}

json levels_json(const training::LogSummary& summary) {
    return column(summary.levels, [](const training::Level& level) {
        return json{{"first", level.first}, {"last", level.last}, {"time", rounded(level.time)}};
    });
}

json slow_json(const training::SlowSteps& slow) {
    return {{"count", slow.count},
            {"lost_share", rounded(slow.lost_share)},
            {"every", or_null(slow.every)}};
}

json spikes_json(const training::LogSummary& summary) {
    return column(summary.spikes, [](const training::LossSpike& spike) {
        return json{{"iteration", spike.iteration},
                    {"line", spike.line},
                    {"before", rounded(spike.before)},
                    {"loss", rounded(spike.loss)}};
    });
}

json steps_json(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return nullptr;
    }
    const auto& summary = training->summary;
    const auto& samples = training->run().series.samples();
    using training::Sample;
    const bool has_loss = std::ranges::any_of(
        samples, [](const Sample& sample) { return std::isfinite(sample.loss); });
    return {{"file", facts.sources.name(training->file)},
            {"unit", unit_of(summary.measure)},
            {"lines", summary.lines},
            {"stride", training->run().series.stride()},
            {"warm_up", summary.warm_up},
            {"median", summary.timed > 0 ? rounded(summary.time.median) : json(nullptr)},
            {"trend_share", rounded(summary.trend_share)},
            {"slow", slow_json(summary.slow)},
            {"levels", levels_json(summary)},
            {"spikes", spikes_json(summary)},
            {"iteration", column(samples, [](const Sample& one) { return json(one.iteration); })},
            {"line", column(samples, [](const Sample& one) { return json(one.line); })},
            {"time", column(samples, [](const Sample& one) { return rounded(one.time); })},
            {"loss", has_loss ? column(samples, [](const Sample& one) { return rounded(one.loss); })
                              : json(nullptr)},
            {"marks", column(samples, [](const Sample& one) { return json(one.marks); })}};
}

/// A size, to the byte.
json whole(double bytes) {
    return static_cast<std::uint64_t>(bytes);
}

json prediction_json(const fabric::Prediction& one) {
    constexpr double giga = 1e9;
    auto way = std::string{name_of(one.algorithm)};
    way += ' ';
    way += name_of(one.protocol);
    return json::array({whole(one.bytes), rounded(one.time_us),
                        rounded(one.busbw_bytes_per_s / giga), std::move(way)});
}

json model_json(const fabric::CollectiveAnswer& answer) {
    auto assumed = json::array();
    for (const auto& one : answer.assumed) {
        assumed.push_back({{"what", one.what}, {"value", one.value}, {"source", one.source}});
    }
    return {{"collective", name_of(answer.model.collective())},
            {"curve", column(answer.curve, prediction_json)},
            {"rows",
             column(answer.compared,
                    [](const fabric::Compared& one) { return prediction_json(one.predicted); })},
            {"ceiling", answer.ceiling ? rounded(answer.ceiling->busbw_gb_per_s) : json(nullptr)},
            {"ceiling_of", answer.ceiling ? json(answer.ceiling->configuration) : json(nullptr)},
            {"assumed", std::move(assumed)},
            {"notes", answer.notes}};
}

json table_json(const Facts& facts, const ModelledTable& one) {
    const auto& table = one.measured->table;
    auto rows = json::array();
    for (const auto& row : table.rows) {
        if (row.time_us > 0) {  // as the model's rows
            rows.push_back({whole(row.bytes), rounded(row.time_us), rounded(row.busbw_gb_per_s)});
        }
    }
    return {{"file", facts.sources.name(one.measured->file)},
            {"device", table.device},
            {"nccl", table.nccl_version},
            {"ranks", table.ranks},
            {"hosts", table.hosts},
            {"average", or_null(table.average_busbw_gb_per_s)},
            {"rows", std::move(rows)},
            {"model", one.model ? model_json(*one.model) : json(nullptr)},
            {"no_model", one.model ? json(nullptr) : json(one.model.error().message)}};
}

json placed_json(const Page& page) {
    const auto& placed = page.placed;
    using fabric::PlacedNode;
    return {{"topology", page.topology.empty() ? json(nullptr) : json(page.topology)},
            {"kind", to_string(placed.kind)},
            {"span", placed.span},
            {"least", placed.least},
            {"job_nodes", placed.job_nodes},
            {"off_fabric", placed.off_fabric},
            {"leaves", placed.leaves},
            {"node", column(placed.nodes, [](const PlacedNode& one) { return json(one.name); })},
            {"leaf", column(placed.nodes,
                            [](const PlacedNode& one) {
                                return one.leaf == fabric::no_leaf ? json(-1) : json(one.leaf);
                            })},
            {"in_job",
             column(placed.nodes, [](const PlacedNode& one) { return json(one.in_job ? 1 : 0); })}};
}

/// For each host of the log the number of its node on the page; -1: none.
std::vector<std::int64_t> nodes_of_hosts(const diagnose::NcclLog& log,
                                         const fabric::Placed& placed) {
    std::unordered_map<std::string_view, std::int64_t> numbers;
    for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
        numbers.emplace(placed.nodes[i].name, static_cast<std::int64_t>(i));
    }
    std::vector<std::int64_t> nodes;
    for (const std::string_view host : log.hosts) {
        auto found = numbers.find(host);
        if (found == numbers.end()) {
            found = numbers.find(host.substr(0, host.find('.')));
        }
        nodes.push_back(found == numbers.end() ? -1 : found->second);
    }
    return nodes;
}

json warnings_json(const Facts& facts, const diagnose::NcclLog& log) {
    auto warnings = json::array();
    for (const auto& one : log.warnings) {
        warnings.push_back({{"kind", name_of(one.kind)},
                            {"text", one.first.text},
                            {"at", place_of(facts.sources, one.first)},
                            {"lines", one.lines},
                            {"follows", one.is_consequence()},
                            {"harmless", one.kind == diagnose::WarningKind::notice}});
    }
    return warnings;
}

json files_json(const diagnose::Sources& sources) {
    auto names = json::array();
    for (std::uint32_t i = 0; i < sources.size(); ++i) {
        names.push_back(sources.name(i));
    }
    return names;
}

json ranks_json(const Facts& facts, const fabric::Placed& placed) {
    if (!facts.nccl || facts.nccl->ranks.empty()) {
        return nullptr;
    }
    const auto& log = *facts.nccl;
    const auto nodes = nodes_of_hosts(log, placed);
    using diagnose::NcclRank;
    using diagnose::PathClass;
    const auto connections = [&log](PathClass path) {
        return column(log.ranks,
                      [path](const NcclRank& one) { return json(one.connections(path)); });
    };
    return {{"world", log.world()},
            {"absent", log.absent_ranks()},
            {"files", files_json(facts.sources)},
            {"warnings", warnings_json(facts, log)},
            {"rank", column(log.ranks, [](const NcclRank& one) { return json(one.rank); })},
            {"node",
             column(log.ranks, [&nodes](const NcclRank& one) { return json(nodes[one.host]); })},
            {"gpu", column(log.ranks, [](const NcclRank& one) { return json(one.device); })},
            {"nics",
             column(log.ranks, [](const NcclRank& one) { return json(std::popcount(one.nics)); })},
            {"p2p", connections(PathClass::p2p)},
            {"shm", connections(PathClass::shm)},
            {"net", connections(PathClass::net)},
            {"gdr", connections(PathClass::net_gdr)},
            {"init_s", column(log.ranks, [](const NcclRank& one) { return rounded(one.init_s); })},
            {"warned", column(log.ranks, [](const NcclRank& one) { return json(one.warnings); })},
            {"first", column(log.ranks,
                             [](const NcclRank& one) {
                                 return one.first_warning == diagnose::nothing
                                            ? json(-1)
                                            : json(one.first_warning);
                             })},
            {"file", column(log.ranks, [](const NcclRank& one) { return json(one.file); })},
            {"line",
             column(log.ranks, [](const NcclRank& one) { return json(one.first_warning_line); })}};
}

/// JSON has these three within strings alone; as escapes they are no markup wherever they stand.
std::string without_markup(const std::string& text) {
    std::string safe;
    safe.reserve(text.size() + text.size() / 16);
    for (const char one : text) {
        switch (one) {
            case '<':
                safe += "\\u003c";
                break;
            case '>':
                safe += "\\u003e";
                break;
            case '&':
                safe += "\\u0026";
                break;
            default:
                safe += one;
        }
    }
    return safe;
}

}  // namespace

std::vector<std::string> hosts_of(const Facts& facts) {
    std::vector<std::string> hosts;
    if (facts.nccl) {
        for (const auto& host : facts.nccl->hosts) {
            if (!host.empty()) {
                hosts.push_back(host);
            }
        }
    }
    return hosts;
}

std::string page_data(const Page& page) {
    const auto& facts = *page.report->facts;
    const json document = {
        {"schema", "railhead.report/1"},
        {"title", page.title},
        {"made_by", page.made_by},
        {"diagnosis", diagnosis_document(*page.report)},
        {"steps", steps_json(facts)},
        {"tables", column(page.tables,
                          [&facts](const ModelledTable& one) { return table_json(facts, one); })},
        {"placement", placed_json(page)},
        {"ranks", ranks_json(facts, page.placed)}};
    return without_markup(document.dump(-1, ' ', true, json::error_handler_t::replace));
}

}  // namespace railhead::report
