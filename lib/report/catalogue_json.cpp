#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "report/catalogue.hpp"
#include "report/json_parts.hpp"
#include "training/flops.hpp"
#include "training/parameters.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;

/// A count, exact as far as a double is.
json whole(double count) {
    constexpr double exact = 9e15;  // 2^53
    return count < exact ? json(static_cast<std::uint64_t>(count)) : rounded(count);
}

json accelerator_json(const training::Accelerator& row) {
    auto precisions = json::object();
    for (const auto precision : training::precisions()) {
        if (const auto peak = row.peak_tflops(precision)) {
            const auto* highest = row.highest(precision);
            precisions[std::string{to_string(precision)}] = {
                {"peak_tflops", rounded(*peak)},
                {"matmul_tflops", or_null(row.measured_tflops(precision))},
                {"highest_mfu", highest != nullptr ? rounded(highest->share) : json(nullptr)},
                {"highest_mfu_source", highest != nullptr ? json(highest->source) : json(nullptr)},
                {"highest_mfu_convention", highest != nullptr && !highest->convention.empty()
                                               ? json(highest->convention)
                                               : json(nullptr)}};
        }
    }
    return {{"name", row.name},
            {"aliases", row.aliases},
            {"precisions", precisions},
            {"memory_bytes", whole(row.memory_bytes)},
            {"memory_as_sold", row.memory_as_sold},
            {"memory_bytes_per_s", rounded(row.memory_bytes_per_s)},
            {"scale_up_bytes_per_s", or_null(row.scale_up_bytes_per_s)},
            {"pcie_bytes_per_s", or_null(row.pcie_bytes_per_s)},
            {"power_w", or_null(row.power_w)},
            {"per_node", row.per_node},
            {"unverified", row.unverified},
            {"source", row.source},
            {"note", row.note}};
}

json nic_json(const training::Nic& row) {
    return {{"name", row.name},
            {"aliases", row.aliases},
            {"port_bytes_per_s", rounded(row.port_bytes_per_s())},
            {"per_node", row.per_node},
            {"usual_node", row.usual_node},
            {"measured_bytes_per_s", or_null(row.measured_bytes_per_s)},
            {"source", row.source},
            {"note", row.note}};
}

json parameters_json(const training::Shape& row) {
    const auto parameters = training::count_parameters(row);
    return {{"total", whole(parameters.total())},
            {"active", whole(parameters.active())},
            {"embedding", whole(parameters.embedding)},
            {"positions", whole(parameters.positions)},
            {"attention", whole(parameters.attention)},
            {"mlp", whole(parameters.mlp)},
            {"experts", whole(parameters.experts)},
            {"routers", whole(parameters.routers)},
            {"norms", whole(parameters.norms)},
            {"biases", whole(parameters.biases)},
            {"output", whole(parameters.output)},
            {"published", or_null(row.published_parameters)}};
}

json flops_json(const training::Shape& row) {
    auto list = json::array();
    for (const auto& convention : training::conventions()) {
        if (const auto flops = training::flops_per_token(row, convention)) {
            list.push_back({{"convention", convention.name},
                            {"flops_per_token", rounded(flops->total())},
                            {"attention", rounded(flops->attention)},
                            {"formula", convention.formula},
                            {"besides", training::counted_besides(row, convention)},
                            {"source", convention.source}});
        }
    }
    return list;
}

json experts_json(const training::Experts& experts) {
    return {{"count", experts.count},
            {"active", experts.active},
            {"shared", experts.shared},
            {"ffn", experts.ffn},
            {"dense_layers", experts.dense_layers}};
}

json latent_json(const training::Latent& latent) {
    return {{"query_rank", latent.query_rank},
            {"key_value_rank", latent.key_value_rank},
            {"rope_head", latent.rope_head},
            {"plain_head", latent.plain_head},
            {"value_head", latent.value_head}};
}

json model_json(const training::Shape& row) {
    return {{"name", row.name},
            {"aliases", row.aliases},
            {"layers", row.layers},
            {"mtp_layers", row.mtp_layers},
            {"hidden", row.hidden},
            {"heads", row.heads},
            {"kv_heads", row.kv_heads()},
            {"head", row.head_width()},
            {"ffn", row.ffn},
            {"mlp", row.mlp == training::Mlp::gated ? "gated" : "plain"},
            {"vocabulary", row.vocabulary},
            {"sequence", row.sequence},
            {"window", row.window},
            {"window_layers", row.window_layers},
            {"tied", row.tied},
            {"experts", row.experts ? experts_json(*row.experts) : json(nullptr)},
            {"latent", row.latent ? latent_json(*row.latent) : json(nullptr)},
            {"parameters", parameters_json(row)},
            {"flops", flops_json(row)},
            {"tokens", or_null(row.tokens)},
            {"source", row.source}};
}

template <class Row, class Write>
json rows_json(const std::vector<Row>& rows, const Write& write) {
    auto list = json::array();
    for (const auto& row : rows) {
        list.push_back(write(row));
    }
    return list;
}

}  // namespace

std::string catalogue_json(const training::Catalogue& catalogue) {
    return document_text({{"schema", "railhead.catalog/1"},
                          {"accelerators", rows_json(catalogue.accelerators, accelerator_json)},
                          {"nics", rows_json(catalogue.nics, nic_json)},
                          {"models", rows_json(catalogue.models, model_json)}});
}

}  // namespace railhead::report
