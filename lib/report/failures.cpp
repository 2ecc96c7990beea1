#include "report/failures.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/json_parts.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using diagnose::FailureCount;
using diagnose::FailureRateAnswer;
using json = nlohmann::ordered_json;

std::string rate_text(double per_1000_node_days) {
    constexpr double many = 1000;  // from here on three digits would need an exponent
    return per_1000_node_days < many ? fmt::format("{:.3g}", per_1000_node_days)
                                     : fmt::format("{:.0f}", per_1000_node_days);
}

std::string left_out_text(const FailureCount& count) {
    std::string text;
    const auto add = [&text](std::uint64_t number, std::string_view what, std::string_view why) {
        if (number > 0) {
            text += fmt::format("{}{} {}", text.empty() ? "" : "; ", count_of(number, what), why);
        }
    };
    add(count.left_out, "attempt",
        count.question.min_gpus > 0
            ? fmt::format("that never ran or had fewer than {} GPUs", count.question.min_gpus)
            : std::string{"that never ran"});
    add(count.repeated, "job", "more that the same failures ended");
    add(count.planned, "event", "of nodes that was planned");
    add(count.reversed, "record", "with its end before its start");
    return text;
}

std::string rate_line(const FailureRateAnswer& answer) {
    const auto per = std::string_view{"per 1000 node-days"};
    if (answer.count.failures.empty()) {
        return fmt::format("none was seen: at most {} {} (97.5 %, exact Poisson)",
                           rate_text(answer.high), per);
    }
    return fmt::format("{} {}; 95 %: {} to {} (exact Poisson interval, Garwood 1936)",
                       rate_text(answer.per_1000_node_days), per, rate_text(answer.low),
                       rate_text(answer.high));
}

std::string gang_line(const FailureRateAnswer& answer) {
    const auto& gang = answer.gang;
    if (!gang.high_s) {
        return fmt::format("of {}: an MTBF of at least {}", count_of(answer.gang_nodes, "node"),
                           time_text(gang.low_s));
    }
    return fmt::format("of {}: an MTBF of {}; 95 %: {} to {}", count_of(answer.gang_nodes, "node"),
                       time_text(gang.mtbf_s), time_text(gang.low_s), time_text(*gang.high_s));
}

std::string published_text() {
    Table table{{"Published", "per 1000 node-days", "what counts as a failure, and where"}};
    for (const auto& rate : checkpoint::published_rates()) {
        table.add({std::string{rate.name}, rate_text(rate.per_1000_node_days),
                   fmt::format("{}; {}", rate.counted, rate.source)});
    }
    return table.text();
}

}  // namespace

std::string mtbf_text(const FailureRateAnswer& answer) {
    const auto& count = answer.count;
    const auto& definition = diagnose::text_of(count.question.definition);
    Table table;
    table.add({"Failures",
               fmt::format("{} in {:.6g} node-days{}", count.failures.size(), answer.node_days,
                           count.unattributed > 0
                               ? fmt::format("; {} of no known node", count.unattributed)
                               : std::string{})});
    table.add({"Counted", fmt::format("{}: {}", definition.name, definition.counted)});
    table.add({"Exposure", fmt::format("{}: {}, from {} to {}", definition.exposure,
                                       count_of(count.nodes.size(), "node"),
                                       moment_text(count.first_s), moment_text(count.last_s))});
    if (const auto left_out = left_out_text(count); !left_out.empty()) {
        table.add({"Not counted", left_out});
    }
    table.add({"Rate", rate_line(answer)});
    if (answer.gang_nodes > 0) {
        table.add({"Gang", gang_line(answer)});
    }
    auto text = table.text() + "\n" + published_text();
    if (!count.failures.empty()) {
        text +=
            fmt::format("\nFor the checkpoint interval: railhead ckpt --nodes {} --rate {} ...\n",
                        answer.gang_nodes > 0 ? fmt::format("{}", answer.gang_nodes) : "N",
                        rate_text(answer.per_1000_node_days));
    }
    return text;
}

std::string mtbf_json(const FailureRateAnswer& answer, const diagnose::Sources& sources) {
    const auto& count = answer.count;
    const auto& definition = diagnose::text_of(count.question.definition);
    auto failures = json::array();
    for (const auto& failure : count.failures) {
        failures.push_back(
            {{"node", failure.node.empty() ? json(nullptr) : json(failure.node)},
             {"at", failure.at_s},
             {"job", failure.job.empty() ? json(nullptr) : json(failure.job)},
             {"by", failure.node.empty() ? json(nullptr) : json(failure.how)},
             {"reason", failure.reason},
             {"source", place_of(sources, {failure.from.file, failure.from.line, {}})}});
    }
    auto published = json::array();
    for (const auto& rate : checkpoint::published_rates()) {
        published.push_back({{"name", rate.name},
                             {"per_1000_node_days", rounded(rate.per_1000_node_days)},
                             {"counted", rate.counted},
                             {"source", rate.source}});
    }
    const bool has_any = !count.failures.empty();
    json gang = nullptr;
    if (answer.gang_nodes > 0) {
        gang = {{"nodes", answer.gang_nodes},
                {"mtbf_s", has_any ? rounded(answer.gang.mtbf_s) : json(nullptr)},
                {"low_s", rounded(answer.gang.low_s)},
                {"high_s", or_null(answer.gang.high_s)}};
    }
    return document_text(
        {{"schema", "railhead.mtbf/1"},
         {"definition",
          {{"name", definition.name},
           {"counted", definition.counted},
           {"exposure", definition.exposure}}},
         {"min_gpus", count.question.min_gpus},
         {"from", count.first_s},
         {"to", count.last_s},
         {"nodes", count.nodes.size()},
         {"node_days", rounded(answer.node_days)},
         {"attempts", count.attempts},
         {"not_counted",
          {{"attempts", count.left_out},
           {"repeated", count.repeated},
           {"planned_events", count.planned},
           {"end_before_start", count.reversed}}},
         {"failures", count.failures.size()},
         {"of_no_known_node", count.unattributed},
         {"per_1000_node_days",
          {{"estimate", has_any ? rounded(answer.per_1000_node_days) : json(nullptr)},
           {"low", rounded(answer.low)},
           {"high", rounded(answer.high)},
           {"confidence", answer.confidence},
           {"interval", "exact Poisson, Garwood 1936"}}},
         {"gang", gang},
         {"list", failures},
         {"published", published}});
}

}  // namespace railhead::report
