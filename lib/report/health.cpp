#include "report/health.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/table.hpp"

namespace railhead::report {

std::string healthy_line(const node::Node& node, const rails::RailPlan& plan) {
    return fmt::format("healthy: {}, {}", count_of(node.gpus.size(), "GPU"),
                       count_of(plan.rails.size(), "rail"));
}

std::string health_text(const HealthReport& report) {
    Table table;
    for (const auto& [severity, nic, what, remedy] : report.findings) {
        table.add({std::string{to_string(severity)}, nic.empty() ? "node" : printable(nic),
                   printable(fmt::format("{}: {}", what, remedy))});
    }
    return table.empty() ? std::string{} : table.text(2);
}

std::string health_json(const HealthReport& report) {
    auto findings = nlohmann::ordered_json::array();
    for (const auto& [severity, nic, what, remedy] : report.findings) {
        findings.push_back(
            {{"severity", to_string(severity)}, {"nic", nic}, {"what", what}, {"remedy", remedy}});
    }
    auto rails = nlohmann::ordered_json::array();
    for (const auto rail : report.plan.rails) {
        rails.push_back(rails::device_port(report.node.nics[rail]));
    }
    const nlohmann::ordered_json json{{"schema", "railhead.health/1"},
                                      {"healthy", report.healthy},
                                      {"line", report.line},
                                      {"gpus", report.node.gpus.size()},
                                      {"rails", rails},
                                      {"findings", findings}};
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
