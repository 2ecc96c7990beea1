#include "report/lemons.hpp"

#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/json_parts.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using diagnose::FailureCount;
using diagnose::LemonAnswer;
using json = nlohmann::ordered_json;

constexpr double day_s = 86400;

std::string power_text(const LemonAnswer& answer) {
    if (!answer.power) {
        return "no failure was seen: nothing can be told";
    }
    const auto& power = *answer.power;
    auto text = fmt::format(
        "a single lemon at {:g} times the fleet's rate is found with {:.0f} %; one at {:.3g} times "
        "nine times in ten. It takes {} of a node in {:.3g} days, its median exposure",
        power.times, power.chance * 100, power.times_found, count_of(power.needed, "failure"),
        power.exposure_s / day_s);
    if (power.chance < 0.9) {
        text += power.exposure_needed_s
                    ? fmt::format(". This window is short: {:.3g} days a node would find it nine "
                                  "times in ten",
                                  *power.exposure_needed_s / day_s)
                    : std::string{". This window is too short"};
    }
    return text;
}

}  // namespace

std::string lemons_text(const LemonAnswer& answer, const FailureCount& count) {
    const auto& definition = diagnose::text_of(count.question.definition);
    Table table;
    table.add({"Failures", fmt::format("{} of {} in {:.6g} node-days: {:.3g} per 1000 node-days",
                                       answer.failures, count_of(answer.nodes, "node"),
                                       answer.exposure_s / day_s, answer.per_1000_node_days)});
    table.add({"Counted", fmt::format("{}: {}", definition.name, definition.counted)});
    if (count.unattributed > 0) {
        table.add({"Not counted", fmt::format("{} of no known node",
                                              count_of(count.unattributed, "failure"))});
    }
    table.add({"Test", fmt::format("each node against the others, exact binomial tail; at most "
                                   "{:g} % of those named are to be false (Benjamini and Hochberg "
                                   "1995)",
                                   answer.false_discovery_rate * 100)});
    table.add({"Power", power_text(answer)});
    auto text = table.text() + "\n";
    if (answer.lemons.empty()) {
        return text + "No node stands out.\n";
    }
    Table lemons{{"Node", "failures", "days", "per 1000 days", "others", "chance"}};
    for (const auto& lemon : answer.lemons) {
        lemons.add({printable(lemon.count.node), fmt::format("{}", lemon.count.failures),
                    fmt::format("{:.1f}", lemon.count.exposure_s / day_s),
                    fmt::format("{:.3g}", lemon.per_1000_node_days),
                    fmt::format("{:.3g}", lemon.rest_per_1000_node_days),
                    fmt::format("{:.1e}", lemon.chance)});
    }
    return text + lemons.text();
}

std::string lemons_json(const LemonAnswer& answer, const FailureCount& count) {
    const auto& definition = diagnose::text_of(count.question.definition);
    auto lemons = json::array();
    for (const auto& lemon : answer.lemons) {
        lemons.push_back({{"node", lemon.count.node},
                          {"failures", lemon.count.failures},
                          {"exposure_days", rounded(lemon.count.exposure_s / day_s)},
                          {"per_1000_node_days", rounded(lemon.per_1000_node_days)},
                          {"others_per_1000_node_days", rounded(lemon.rest_per_1000_node_days)},
                          {"chance", rounded(lemon.chance)}});
    }
    json power = nullptr;
    if (answer.power) {
        power = {{"median_exposure_days", rounded(answer.power->exposure_s / day_s)},
                 {"failures_needed", answer.power->needed},
                 {"times", rounded(answer.power->times)},
                 {"chance", rounded(answer.power->chance)},
                 {"times_found", rounded(answer.power->times_found)},
                 {"days_needed", answer.power->exposure_needed_s
                                     ? rounded(*answer.power->exposure_needed_s / day_s)
                                     : json(nullptr)}};
    }
    return document_text({{"schema", "railhead.lemons/1"},
                          {"definition", {{"name", definition.name},
                                          {"counted", definition.counted},
                                          {"exposure", definition.exposure}}},
                          {"false_discovery_rate", rounded(answer.false_discovery_rate)},
                          {"nodes", answer.nodes},
                          {"failures", answer.failures},
                          {"of_no_known_node", count.unattributed},
                          {"node_days", rounded(answer.exposure_s / day_s)},
                          {"per_1000_node_days", rounded(answer.per_1000_node_days)},
                          {"power", power},
                          {"lemons", lemons}});
}

}  // namespace railhead::report
