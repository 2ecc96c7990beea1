#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "report/collective.hpp"
#include "report/json_parts.hpp"

namespace railhead::report {

namespace {

using fabric::CollectiveAnswer;
using fabric::Prediction;
using json = nlohmann::ordered_json;

constexpr double micro = 1e-6;
constexpr double giga = 1e9;

/// Sizes are whole, and not rounded: 1 GiB is 1073741824.
json bytes_json(double bytes) {
    return static_cast<std::uint64_t>(std::round(bytes));
}

json prediction_json(const Prediction& prediction) {
    return {{"bytes", bytes_json(prediction.bytes)},
            {"algorithm", name_of(prediction.algorithm)},
            {"protocol", name_of(prediction.protocol)},
            {"time_s", rounded(prediction.time_us * micro)},
            {"nccl_guess_s", rounded(prediction.tuner_us * micro)},
            {"latency_s", rounded(prediction.latency_us * micro)},
            {"wire_bytes_per_s", rounded(prediction.wire_bytes_per_s)},
            {"algbw_bytes_per_s", rounded(prediction.algbw_bytes_per_s)},
            {"busbw_bytes_per_s", rounded(prediction.busbw_bytes_per_s)}};
}

json system_json(const fabric::System& system) {
    return {{"nodes", system.nodes},
            {"gpus_per_node", system.gpus_per_node},
            {"generation", name_of(system.generation)},
            {"nvlink_bytes_per_s", rounded(system.nvlink_bytes_per_s)},
            {"pcie_bytes_per_s", rounded(system.pcie_bytes_per_s)},
            {"scale_up_usable_bytes_per_s", rounded(system.scale_up_bytes_per_s())},
            {"nics_per_node", system.nodes > 1 ? json(system.nics_per_node) : json(nullptr)},
            {"nic_bytes_per_s", system.nodes > 1 ? rounded(system.nic_bytes_per_s) : json(nullptr)},
            {"network_usable_bytes_per_s",
             system.nodes > 1 ? rounded(system.network_bytes_per_s()) : json(nullptr)},
            {"network_latency_s", rounded(system.network_latency_us * micro)},
            {"network_step_s",
             system.network_step_us > 0 ? rounded(system.network_step_us * micro) : json(nullptr)},
            {"nvls", system.nvls},
            {"sharp", system.sharp},
            {"channels", system.channel_count()}};
}

json settings_json(const CollectiveAnswer& answer) {
    auto list = json::array();
    for (const auto& setting : answer.settings) {
        list.push_back({{"name", setting.name},
                        {"gives", setting.gives ? prediction_json(*setting.gives) : json(nullptr)},
                        {"advice", setting.advice}});
    }
    return list;
}

json compared_json(const CollectiveAnswer& answer) {
    auto list = json::array();
    for (const auto& one : answer.compared) {
        list.push_back({{"bytes", bytes_json(one.measured.bytes)},
                        {"measured_s", rounded(one.measured.time_us * micro)},
                        {"measured_busbw_bytes_per_s", rounded(one.measured.busbw_gb_per_s * giga)},
                        {"time_s", rounded(one.predicted.time_us * micro)},
                        {"error", rounded(one.error())}});
    }
    return list;
}

json taken_json(const CollectiveAnswer& answer) {
    auto list = json::array();
    for (const auto& taken : answer.taken) {
        list.push_back({{"from_bytes", bytes_json(taken.bytes)},
                        {"algorithm", name_of(taken.algorithm)},
                        {"protocol", name_of(taken.protocol)}});
    }
    return list;
}

}  // namespace

std::string collective_json(const CollectiveAnswer& answer) {
    auto curve = json::array();
    for (const auto& point : answer.curve) {
        curve.push_back(prediction_json(point));
    }
    auto assumed = json::array();
    for (const auto& figure : answer.assumed) {
        assumed.push_back(
            {{"what", figure.what}, {"value", figure.value}, {"source", figure.source}});
    }
    const bool has_wires = answer.wires.scale_up_s > 0 || answer.wires.network_s > 0;
    const json document{
        {"schema", "railhead.allreduce/1"},
        {"collective", name_of(answer.model.collective())},
        {"system", system_json(answer.model.system())},
        {"at", prediction_json(answer.at_bytes)},
        {"wires", has_wires ? json{{"scale_up_s", rounded(answer.wires.scale_up_s)},
                                   {"network_s", rounded(answer.wires.network_s)}}
                            : json(nullptr)},
        {"ceiling", answer.ceiling ? json{{"configuration", answer.ceiling->configuration},
                                          {"busbw_bytes_per_s",
                                           rounded(answer.ceiling->busbw_gb_per_s * giga)}}
                                   : json(nullptr)},
        {"ring_before_tree_from_bytes",
         answer.crossover ? bytes_json(*answer.crossover) : json(nullptr)},
        {"curve", curve},
        {"taken", taken_json(answer)},
        {"settings", settings_json(answer)},
        {"measured", compared_json(answer)},
        {"assumptions", assumed},
        {"notes", answer.notes}};
    return document_text(document);
}

}  // namespace railhead::report
