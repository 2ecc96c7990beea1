#include <utility>

#include <nlohmann/json.hpp>

#include "report/json_parts.hpp"
#include "report/size.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;
using plan::SizeAnswer;

json count_json(const plan::Count& count) {
    return {{"gpus", count.gpus},
            {"nodes", count.nodes},
            {"goodput", rounded(count.goodput)},
            {"step_s", rounded(count.step_s)},
            {"tokens_per_s", rounded(count.tokens_per_s)},
            {"days", rounded(count.days)}};
}

json layout_json(const plan::RankedLayout& one) {
    const auto& layout = one.layout;
    const auto& time = one.time;
    const auto& memory = one.memory;
    return {{"tp", layout.tp},
            {"pp", layout.pp},
            {"cp", layout.cp},
            {"ep", layout.ep},
            {"dp", layout.dp},
            {"interleave", layout.interleave},
            {"microbatch", layout.microbatch},
            {"microbatches", layout.microbatches},
            {"end_stage_layers", layout.first_stage_layers},
            {"recompute", to_string(layout.recompute)},
            {"zero", static_cast<int>(layout.sharding)},
            {"fit", to_string(one.fit)},
            {"time_s",
             {{"matmul", rounded(time.matmul)},
              {"attention", rounded(time.attention)},
              {"memory", rounded(time.memory)},
              {"recomputation", rounded(time.recomputation)},
              {"tensor", rounded(time.tensor)},
              {"context", rounded(time.context)},
              {"expert", rounded(time.expert)},
              {"pipeline", rounded(time.pipeline)},
              {"bubble", rounded(time.bubble)},
              {"data", rounded(time.data)},
              {"optimizer", rounded(time.optimizer)},
              {"step", rounded(time.total())}}},
            {"memory_bytes",
             {{"weights", rounded(memory.state.weights)},
              {"gradients", rounded(memory.state.gradients)},
              {"optimizer", rounded(memory.state.optimizer)},
              {"gathered", rounded(memory.gathered)},
              {"activations", rounded(memory.activations)},
              {"recomputed", rounded(memory.recomputed)},
              {"logits", rounded(memory.logits)},
              {"reserve", rounded(memory.reserve)},
              {"all", rounded(memory.total())}}},
            {"activation_formula", to_string(memory.formula)},
            {"stage", memory.stage}};
}

json layouts_json(const SizeAnswer& answer) {
    auto list = json::array();
    for (const auto& one : answer.layouts.ranked) {
        list.push_back(layout_json(one));
    }
    return {{"grid", answer.layouts.grid},
            {"fitting", answer.layouts.fitting},
            {"tight", answer.layouts.tight},
            {"ranked", std::move(list)}};
}

json other_batch_json(const SizeAnswer& answer) {
    if (!answer.other_batch) {
        return nullptr;
    }
    const auto& other = *answer.other_batch;
    return {{"sequences", other.sequences},
            {"tokens", rounded(other.tokens)},
            {"layout", layout_json(other.layout)}};
}

json gradients_json(const SizeAnswer& answer) {
    if (!answer.gradients) {
        return nullptr;
    }
    const auto& gradients = *answer.gradients;
    return {{"reduce_scatter_bytes", rounded(gradients.traffic.reduce_scatter)},
            {"all_gather_bytes", rounded(gradients.traffic.all_gather)},
            {"copies", rounded(gradients.copies)},
            {"members", rounded(gradients.members)},
            {"window_s", rounded(gradients.window_s)},
            {"send_s", rounded(gradients.send_s)},
            {"needed_bytes_per_s", rounded(gradients.needed_bytes_per_s)},
            {"hidden", gradients.is_hidden()}};
}

json network_json(const SizeAnswer& answer) {
    const auto& machine = answer.question.machine;
    json out{{"nic_bytes_per_s", rounded(machine.nic_bytes_per_s)},
             {"nics_per_node", machine.nics_per_node},
             {"gradients", gradients_json(answer)},
             {"rails", nullptr},
             {"most_oversubscription", nullptr},
             {"fabric", nullptr}};
    if (answer.rails) {
        out["rails"] = answer.rails->rails;
        out["most_oversubscription"] = rounded(answer.rails->most_oversubscription);
    }
    if (answer.fabric) {
        const auto& fabric = *answer.fabric;
        out["fabric"] = {{"tiers", fabric.tiers},     {"leaves", fabric.leaves},
                         {"spines", fabric.spines},   {"cores", fabric.cores},
                         {"cables", fabric.cables()}, {"radix", fabric.leaf_radix},
                         {"units", fabric.units}};
    }
    return out;
}

json sensitivity_json(const SizeAnswer& answer) {
    auto list = json::array();
    for (const auto& one : answer.sensitivity) {
        list.push_back(
            {{"if", one.what}, {"count", count_json(one.count)}, {"days", rounded(one.days)}});
    }
    return list;
}

json assumptions_json(const SizeAnswer& answer) {
    auto list = json::array();
    for (const auto& one : answer.assumed) {
        list.push_back({{"what", one.what}, {"value", one.value}, {"source", one.source}});
    }
    for (const auto& one : answer.checkpoint->assumptions) {
        list.push_back(assumption_json(one));
    }
    return list;
}

json run_json(const SizeAnswer& answer) {
    if (answer.run == nullptr) {
        return nullptr;
    }
    const auto& run = *answer.run;
    return {{"model", run.model},
            {"gpus", rounded(run.gpus)},
            {"mfu", rounded(run.mfu)},
            {"convention", run.convention},
            {"source", run.source}};
}

json answer_json(const SizeAnswer& answer) {
    const auto& question = answer.question;
    const auto& about = *answer.checkpoint;
    auto notes = json(answer.notes);
    for (const auto& note : about.notes) {
        notes.push_back(note);
    }
    return {{"schema", "railhead.size/1"},
            {"model", question.model.name},
            {"accelerator", question.machine.accelerator->name},
            {"parameters", rounded(answer.parameters)},
            {"tokens", rounded(*question.tokens)},
            {"asked_days", or_null(question.days)},
            {"batch", *question.batch},
            {"sequence", question.model.sequence},
            {"convention", question.convention->name},
            {"flops_per_token", rounded(answer.flops_per_token)},
            {"flops", rounded(answer.flops_per_token * *question.tokens)},
            {"mfu", rounded(answer.mfu)},
            {"mfu_from", run_json(answer)},
            {"raw_gpus", answer.raw_gpus > 0 ? rounded(answer.raw_gpus) : json(nullptr)},
            {"steps", rounded(answer.steps)},
            {"rounded", count_json(answer.rounded)},
            {"with_layout", answer.with_layout ? count_json(*answer.with_layout) : json(nullptr)},
            {"layout_reaches_mfu", answer.is_fast_enough},
            {"other_batch", other_batch_json(answer)},
            {"layouts", layouts_json(answer)},
            {"network", network_json(answer)},
            {"failures",
             {{"mtbf_s", rounded(about.failures.mtbf_s)},
              {"expected", rounded(answer.failures)},
              {"repair_s", rounded(answer.repair_s)},
              {"spare_nodes", answer.spares}}},
            {"checkpoint",
             {{"bytes", or_null(about.checkpoint.bytes)},
              {"interval_s", rounded(about.chosen.interval_s)},
              {"steps", or_null(about.chosen.steps)},
              {"cost_s", rounded(about.checkpoint.cost_s)},
              {"needed_bytes_per_s", or_null(about.checkpoint.needed_bytes_per_s)},
              {"average_bytes_per_s", or_null(about.checkpoint.average_bytes_per_s)}}},
            {"power",
             {{"node_w", rounded(answer.power.node_w)},
              {"pue", rounded(answer.power.pue)},
              {"total_w", rounded(answer.power.total_w)},
              {"energy_wh", rounded(answer.power.energy_wh)}}},
            {"sensitivity", sensitivity_json(answer)},
            {"assumptions", assumptions_json(answer)},
            {"notes", std::move(notes)}};
}

}  // namespace

std::string size_json(const SizeAnswer& answer) {
    return document_text(answer_json(answer));
}

std::string comparison_json(const std::vector<ComparedSize>& sizes) {
    auto list = json::array();
    for (const auto& one : sizes) {
        list.push_back({{"accelerator", one.accelerator},
                        {"size", one.answer ? answer_json(*one.answer) : json(nullptr)},
                        {"why_not", one.answer ? json(nullptr) : json(one.why_not)}});
    }
    return document_text({{"schema", "railhead.sizes/1"}, {"sizes", std::move(list)}});
}

}  // namespace railhead::report
