#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "report/json_parts.hpp"
#include "report/storage.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;
using plan::Basis;
using plan::Figure;
using plan::Loading;
using plan::Pays;
using plan::StoragePlan;
using plan::Store;
using plan::Transfer;

json transfer_json(const Transfer& transfer) {
    return {{"bytes", rounded(transfer.bytes)},
            {"bytes_per_s", rounded(transfer.bytes_per_s)},
            {"limit", transfer.limit == plan::Limit::store ? "store" : "nodes"},
            {"data_s", rounded(transfer.data_s)},
            {"files", transfer.files},
            {"files_per_s", or_null(transfer.files_per_s)},
            {"metadata_s", rounded(transfer.metadata_s)},
            {"s", rounded(transfer.total_s())}};
}

std::string_view pays_name(Pays pays) {
    switch (pays) {
        case Pays::yes:
            return "yes";
        case Pays::maybe:
            return "maybe";
        case Pays::no:
            break;
    }
    return "no";
}

json loading_json(const std::optional<Loading>& loading) {
    if (!loading) {
        return nullptr;
    }
    return {{"enough", loading->is_enough()},
            {"bytes_per_s", rounded(loading->bytes_per_s)},
            {"node_bytes_per_s", rounded(loading->node_bytes_per_s)},
            {"bandwidth_share", rounded(loading->store_share)},
            {"reads_per_s", rounded(loading->reads_per_s)},
            {"reads_share", or_null(loading->reads_share)},
            {"opens_per_s", rounded(loading->opens_per_s)},
            {"opens_share", or_null(loading->opens_share)},
            {"cores_per_node", rounded(loading->cores_per_node)},
            {"cores", loading->cores ? json(*loading->cores) : json(nullptr)},
            {"gpu_decoding_pays", pays_name(loading->gpu_decoding)},
            {"gds_pays", pays_name(loading->gds)}};
}

json levels_json(const StoragePlan& plan) {
    if (!plan.checkpoint.levels) {
        return nullptr;
    }
    const auto& levels = *plan.checkpoint.levels;
    return {{"local_copy_s", or_null(plan.local_copy_s)},
            {"interval_s", rounded(levels.pattern.interval_s)},
            {"local_per_store", levels.pattern.memory_per_storage},
            {"ettr", rounded(levels.ettr)}};
}

std::string_view unit_name(Basis::Unit unit) {
    switch (unit) {
        case Basis::Unit::bytes_per_s:
            return "bytes_per_s";
        case Basis::Unit::per_s:
            return "per_s";
        case Basis::Unit::bytes:
            return "bytes";
        case Basis::Unit::seconds:
            return "s";
        case Basis::Unit::count:
            break;
    }
    return "count";
}

json assumptions_json(const StoragePlan& plan) {
    auto list = json::array();
    for (const auto& basis : plan.bases) {
        list.push_back({{"what", basis.what},
                        {"value", rounded(basis.value)},
                        {"unit", unit_name(basis.unit)},
                        {"source", basis.source},
                        {"guess", basis.is_guess}});
    }
    for (const auto& assumption : plan.checkpoint.assumptions) {
        list.push_back(assumption_json(assumption));
    }
    return list;
}

json notes_json(const StoragePlan& plan) {
    auto list = json(plan.notes);
    for (const auto& note : plan.checkpoint.notes) {
        list.push_back(note);
    }
    return list;
}

json figure_json(const std::optional<Figure>& figure) {
    return figure ? json{{"value", rounded(figure->value)},
                         {"source", figure->source},
                         {"guess", figure->is_guess}}
                  : json(nullptr);
}

}  // namespace

std::string storage_json(const StoragePlan& plan) {
    const auto& about = plan.checkpoint;
    const auto& outcome = plan.is_own_interval ? *about.own : about.chosen;
    return document_text({{"schema", "railhead.storage/1"},
                          {"store", plan.store->name},
                          {"nodes", plan.nodes},
                          {"writers", plan.writers},
                          {"write_bytes_per_s", or_null(plan.write_bytes_per_s)},
                          {"read_bytes_per_s", or_null(plan.read_bytes_per_s)},
                          {"node_write_bytes_per_s", rounded(plan.node_write_bytes_per_s)},
                          {"node_read_bytes_per_s", rounded(plan.node_read_bytes_per_s)},
                          {"write", transfer_json(plan.write)},
                          {"cost_s", rounded(about.checkpoint.cost_s)},
                          {"background_s", rounded(about.checkpoint.background_s)},
                          {"interval_s", rounded(plan.interval_s)},
                          {"interval_by", plan.is_own_interval ? "given" : "recommended"},
                          {"interval_share", rounded(plan.share)},
                          {"fast_enough", plan.is_fast_enough()},
                          {"ettr", rounded(outcome.shares.useful)},
                          {"mtbf_s", rounded(about.failures.mtbf_s)},
                          {"two_levels", levels_json(plan)},
                          {"restart",
                           {{"replicas", plan.restart.replicas},
                            {"once", transfer_json(plan.restart.once)},
                            {"by_all", transfer_json(plan.restart.by_all)}}},
                          {"samples", loading_json(plan.loading)},
                          {"assumptions", assumptions_json(plan)},
                          {"notes", notes_json(plan)}});
}

std::string stores_json(const std::vector<Store>& stores) {
    auto list = json::array();
    for (const auto& store : stores) {
        list.push_back({{"name", store.name},
                        {"what", store.what},
                        {"unit", store.unit},
                        {"in_nodes", store.in_nodes},
                        {"metadata_by_unit", store.metadata_by_unit},
                        {"gds", store.gds},
                        {"client_write", figure_json(store.client_write)},
                        {"client_read", figure_json(store.client_read)},
                        {"client_reads", figure_json(store.client_reads)},
                        {"unit_write", figure_json(store.unit_write)},
                        {"unit_read", figure_json(store.unit_read)},
                        {"unit_reads", figure_json(store.unit_reads)},
                        {"creates", figure_json(store.creates)},
                        {"opens", figure_json(store.opens)}});
    }
    return document_text({{"schema", "railhead.stores/1"}, {"stores", list}});
}

}  // namespace railhead::report
