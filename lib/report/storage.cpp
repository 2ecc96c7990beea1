#include "report/storage.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/checkpoint.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using plan::Basis;
using plan::Figure;
using plan::Limit;
using plan::Loading;
using plan::Pays;
using plan::StoragePlan;
using plan::Store;
using plan::Transfer;

std::string rate_text(double per_s) {
    return count_text(per_s) + "/s";
}

std::string limit_text(const Transfer& transfer) {
    return transfer.limit == Limit::store ? "the store is the limit" : "the nodes are the limit";
}

/// "14.2 s at 400 GB/s (the store is the limit) and 0.56 s to create 16384 files".
std::string transfer_text(const Transfer& transfer, std::string_view verb) {
    auto text = fmt::format("{} at {} ({})", time_text(transfer.data_s),
                            bandwidth_text(transfer.bytes_per_s), limit_text(transfer));
    if (transfer.files_per_s) {
        text += fmt::format(", and {} to {} {}", time_text(transfer.metadata_s), verb,
                            count_of(transfer.files, "file"));
    }
    return text;
}

std::string store_text(const StoragePlan& plan) {
    auto text = plan.store->name;
    if (!plan.store->what.empty()) {
        text += ": " + plan.store->what;
    }
    return text;
}

std::string speed_text(const StoragePlan& plan) {
    const auto whole = [](const std::optional<double>& rate) {
        return rate ? bandwidth_text(*rate) : std::string{"no limit known"};
    };
    const auto nodes =
        fmt::format("a node writes {} and reads {}", bandwidth_text(plan.node_write_bytes_per_s),
                    bandwidth_text(plan.node_read_bytes_per_s));
    return plan.store->in_nodes
               ? nodes + ", to its own drives"
               : fmt::format("writes {}, reads {}; {}", whole(plan.write_bytes_per_s),
                             whole(plan.read_bytes_per_s), nodes);
}

std::string verdict_text(const StoragePlan& plan) {
    return fmt::format("{}a checkpoint write takes {}, {} of an interval of {}",
                       plan.is_fast_enough()  ? ""
                       : plan.is_own_interval ? "impossible: "
                                              : "too slow: ",
                       time_text(plan.write.total_s()), share_text(plan.share),
                       time_text(plan.interval_s));
}

std::string interval_text(const StoragePlan& plan) {
    const auto& about = plan.checkpoint;
    const auto& outcome = plan.is_own_interval ? *about.own : about.chosen;
    const auto why = plan.is_own_interval ? "yours"
                     : about.reason == checkpoint::Reason::optimum
                         ? "the least is lost (Daly)"
                         : "as long as a write goes on in the background";
    return fmt::format("{} ({}); {} of the time is lost to checkpoints and failures",
                       time_text(plan.interval_s), why, share_text(outcome.shares.waste()));
}

std::string cost_text(const checkpoint::Checkpoint& what) {
    auto text = "training stands still for " + time_text(what.cost_s);
    if (what.background_s > 0) {
        text += fmt::format(", the write goes on for {}", time_text(what.background_s));
    }
    return text;
}

void add_levels(const StoragePlan& plan, Table& table) {
    if (!plan.checkpoint.levels) {
        return;
    }
    const auto& levels = *plan.checkpoint.levels;
    const auto k = levels.pattern.memory_per_storage;
    table.add({"Two levels",
               fmt::format("{}; to the nodes' drives every {}, {} to the store too: {} lost",
                           plan.local_copy_s ? "a copy there takes " + time_text(*plan.local_copy_s)
                                             : "copies as given",
                           time_text(levels.pattern.interval_s),
                           k == 1 ? std::string{"each"} : fmt::format("one in {}", k),
                           share_text(1 - levels.ettr))});
}

void add_restart(const StoragePlan& plan, Table& table) {
    const auto& restart = plan.restart;
    table.add({"Restart", fmt::format("{} read once: {}", bytes_text(restart.once.bytes),
                                      transfer_text(restart.once, "open"))});
    if (restart.replicas > 1) {
        table.add({"", fmt::format("{} where each of {} reads the weights: {}",
                                   bytes_text(restart.by_all.bytes),
                                   count_of(restart.replicas, "replica"),
                                   transfer_text(restart.by_all, "open"))});
    }
}

std::string pays_text(Pays pays, std::string_view why) {
    const auto word = pays == Pays::yes ? "pays" : pays == Pays::maybe ? "may pay" : "does not pay";
    return fmt::format("{}: {}", word, why);
}

void add_cores(const Loading& loading, Table& table) {
    if (!loading.cores) {
        table.add({"Decoding", "none on the CPU, as told: tokens, or samples ready to use"});
        return;
    }
    table.add({"Decoding", fmt::format("{} cores of {} in a node",
                                       count_text(loading.cores_per_node), *loading.cores)});
    table.add({"DALI", pays_text(loading.gpu_decoding,
                                 loading.gpu_decoding == Pays::yes
                                     ? "the cores of a node are too few to decode"
                                 : loading.gpu_decoding == Pays::maybe
                                     ? "decoding takes more than half of the cores of a node"
                                     : "the cores decode that with half of them to spare")});
}

std::string gds_text(const Loading& loading, const Store& store) {
    if (!store.gds) {
        return "this store is not read by it";
    }
    if (loading.cores_per_node > 0) {
        return "samples that the CPU decodes have to go through its memory";
    }
    return fmt::format("{} a node go through the CPU's memory, which hands on 50 GB/s (DGX-2)",
                       bandwidth_text(loading.carried_bytes_per_s()));
}

std::string loading_table(const StoragePlan& plan) {
    if (!plan.loading) {
        return {};
    }
    const auto& loading = *plan.loading;
    Table table;
    table.add({"Verdict", loading.is_enough() ? "samples come as fast as they are wanted"
                                              : "samples do not come as fast as they are wanted"});
    table.add(
        {"Bandwidth",
         fmt::format("{}, {} a node: {} of what is there", bandwidth_text(loading.bytes_per_s),
                     bandwidth_text(loading.node_bytes_per_s), share_text(loading.store_share))});
    const auto of_known = [](const std::optional<double>& share) {
        return share ? share_text(*share) + " of what is there" : std::string{"no limit known"};
    };
    table.add(
        {"Reads", fmt::format("{}, {} a node: {}", rate_text(loading.reads_per_s),
                              rate_text(loading.node_reads_per_s), of_known(loading.reads_share))});
    table.add({"Files", fmt::format("{} opened: {}", rate_text(loading.opens_per_s),
                                    of_known(loading.opens_share))});
    add_cores(loading, table);
    table.add({"GDS", pays_text(loading.gds, gds_text(loading, *plan.store))});
    return "\nSamples\n" + table.text(2);
}

std::string value_text(const Basis& basis) {
    switch (basis.unit) {
        case Basis::Unit::bytes_per_s:
            return bandwidth_text(basis.value);
        case Basis::Unit::per_s:
            return rate_text(basis.value);
        case Basis::Unit::bytes:
            return bytes_text(basis.value);
        case Basis::Unit::seconds:
            return time_text(basis.value);
        case Basis::Unit::count:
            break;
    }
    return count_text(basis.value);
}

std::string sourced(bool is_guess, const std::string& source) {
    return (is_guess ? "a guess: " : "") + source;
}

std::string bases_table(const StoragePlan& plan) {
    Table table;
    for (const auto& basis : plan.bases) {
        table.add(
            {std::string{basis.what}, value_text(basis), sourced(basis.is_guess, basis.source)});
    }
    for (const auto& assumption : plan.checkpoint.assumptions) {
        table.add({std::string{assumption.what}, report::value_text(assumption),
                   sourced(assumption.is_guess, assumption.source)});
    }
    return table.empty() ? std::string{} : "\nNot given\n" + table.text(2);
}

std::string notes_text(const StoragePlan& plan) {
    Table table;
    for (const auto* notes : {&plan.notes, &plan.checkpoint.notes}) {
        for (const auto& note : *notes) {
            table.add({"-", note});
        }
    }
    return table.empty() ? std::string{} : "\nNotes\n" + table.text(2);
}

void add_figure(Table& table, std::string_view what, const std::optional<Figure>& figure,
                bool is_bandwidth) {
    if (figure) {
        table.add({std::string{what},
                   is_bandwidth ? bandwidth_text(figure->value) : rate_text(figure->value),
                   sourced(figure->is_guess, figure->source)});
    }
}

}  // namespace

std::string storage_text(const StoragePlan& plan) {
    Table table;
    table.add({"Store", store_text(plan)});
    table.add({"", speed_text(plan)});
    table.add({"Verdict", verdict_text(plan)});
    table.add({"Checkpoint",
               fmt::format("{} by {} on {}: {} each", bytes_text(plan.write.bytes),
                           count_of(plan.writers, "writer"), count_of(plan.nodes, "node"),
                           bytes_text(plan.write.bytes / static_cast<double>(plan.writers)))});
    table.add({"Write", transfer_text(plan.write, "create")});
    table.add({"", cost_text(plan.checkpoint.checkpoint)});
    table.add({"Interval", interval_text(plan)});
    add_levels(plan, table);
    add_restart(plan, table);
    return table.text() + loading_table(plan) + bases_table(plan) + notes_text(plan);
}

std::string stores_text(const std::vector<Store>& stores) {
    std::string out;
    for (const auto& store : stores) {
        Table table;
        add_figure(table, "a node writes", store.client_write, true);
        add_figure(table, "a node reads", store.client_read, true);
        add_figure(table, "a node's random reads", store.client_reads, false);
        add_figure(table, "a unit writes", store.unit_write, true);
        add_figure(table, "a unit reads", store.unit_read, true);
        add_figure(table, "a unit's random reads", store.unit_reads, false);
        add_figure(table, "files created", store.creates, false);
        add_figure(table, "files opened", store.opens, false);
        Table heading;
        heading.add({store.name + ":", store.what + "; unit: " + store.unit});
        out += (out.empty() ? "" : "\n") + heading.text() + table.text(2);
    }
    return out;
}

}  // namespace railhead::report
