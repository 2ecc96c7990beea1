#include "report/size.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/checkpoint.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"
#include "report/training_text.hpp"

namespace railhead::report {

namespace {

using plan::Count;
using plan::SizeAnswer;

constexpr double giga = 1e9;

std::string percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

std::string gpus_text(const SizeAnswer& answer, const Count& count) {
    return fmt::format("{} {} in {}", count.gpus, answer.question.machine.accelerator->name,
                       count_of(count.nodes, "node"));
}

/// "1144.1", but "0.0029".
std::string exact_text(double gpus) {
    return gpus < 1 ? fmt::format("{:.2g}", gpus) : fmt::format("{:.1f}", gpus);
}

void add_counts(const SizeAnswer& answer, Table& table) {
    const auto& rounded = answer.rounded;
    const auto why = answer.raw_gpus > 0
                         ? fmt::format("whole nodes from {} GPUs, {} without failures",
                                       exact_text(answer.raw_gpus / rounded.goodput),
                                       exact_text(answer.raw_gpus))
                     : rounded.gpus == answer.question.gpus
                         ? std::string{"as given"}
                         : fmt::format("the {} given, rounded up to whole nodes",
                                       answer.question.gpus.value_or(0));
    table.add({"GPUs", gpus_text(answer, rounded) + ": " + why});
    if (!answer.with_layout) {
        table.add({"", "no layout fits: see the notes"});
    } else {
        const auto which = answer.with_layout->gpus == rounded.gpus
                               ? std::string{"have"}
                               : gpus_text(answer, *answer.with_layout) + " are the next to have";
        table.add({"", fmt::format("{} a layout that fits{} with this batch", which,
                                   answer.is_fast_enough ? " and reaches the MFU,"
                                                         : ", slower than the MFU (see notes),")});
    }
    if (answer.other_batch) {
        const auto& other = *answer.other_batch;
        table.add({"", fmt::format("or a batch of {} sequences ({} tokens): {} on {} GPUs",
                                   other.sequences, large_text(other.tokens),
                                   layout_text(other.layout.layout), rounded.gpus)});
    }
}

void add_speed(const SizeAnswer& answer, Table& table) {
    const auto& question = answer.question;
    const auto& count = answer.chosen();
    table.add({"FLOPs", fmt::format("{:.3e}: {:.3e} a token by \"{}\", {}",
                                    answer.flops_per_token * *question.tokens,
                                    answer.flops_per_token, question.convention->name,
                                    formula_text(question.model, *question.convention))});
    table.add(
        {"MFU", fmt::format("{}: {} TFLOP/s, {} tokens/s a GPU", percent(answer.mfu),
                            count_text(question.machine.peak_flops * answer.mfu / 1e12),
                            count_text(count.tokens_per_s / static_cast<double>(count.gpus)))});
    table.add({"Step",
               fmt::format("{} for {} sequences of {}; {}, {} tokens/s",
                           short_time_text(count.step_s), *question.batch, question.model.sequence,
                           grouped_count(static_cast<std::uint64_t>(answer.steps), "step"),
                           large_text(count.tokens_per_s))});
    table.add({"Time",
               fmt::format("{:.2f} d, with a goodput of {}", count.days, percent(count.goodput))});
}

std::string memory_table(const SizeAnswer& answer) {
    if (answer.layouts.ranked.empty()) {
        return {};
    }
    const auto& best = answer.layouts.ranked.front();
    const auto& memory = best.memory;
    Table table;
    const auto add = [&](std::string_view what, double bytes, std::string why) {
        if (bytes > 0) {
            table.add({std::string{what}, fmt::format("{:.2f} GB", bytes / giga), std::move(why)});
        }
    };
    const auto& recipe = *answer.question.recipe;
    const auto stage = static_cast<int>(best.layout.sharding);
    add("weights", memory.state.weights, fmt::format("{:g} bytes a parameter", recipe.weights));
    add("gradients", memory.state.gradients,
        fmt::format("{:g} bytes a parameter", recipe.gradients));
    add("optimizer", memory.state.optimizer,
        fmt::format("{:g} bytes a parameter, ZeRO stage {}", recipe.optimizer, stage));
    add("gathered", memory.gathered, "weights of two layers, ZeRO stage 3");
    add("activations", memory.activations,
        fmt::format("{}; recomputation: {}", to_string(memory.formula),
                    to_string(best.layout.recompute)));
    add("recomputed", memory.recomputed, "of the layer at work");
    add("logits", memory.logits, "of the last stage");
    add("reserve", memory.reserve, "context, NCCL's buffers, fragmentation: docs/memory.md");
    add("in all", memory.total(),
        fmt::format("of {:.1f} GB: {} (stage {} needs most)",
                    answer.question.machine.accelerator->memory_bytes / giga, to_string(best.fit),
                    memory.stage));
    return "\nMemory of a GPU\n" + table.text(2);
}

void add_layout(const SizeAnswer& answer, Table& table) {
    if (answer.layouts.ranked.empty()) {
        return;
    }
    const auto& best = answer.layouts.ranked.front();
    table.add({"Layout", layout_text(best.layout)});
    const auto all_to_alls =
        best.time.expert > 0
            ? fmt::format(" ({} of it all-to-alls of experts, which runs can hide)",
                          short_time_text(best.time.expert))
            : std::string{};
    table.add({"", fmt::format("best of {}, of which {} fit; modelled step {}{}: railhead size "
                               "--layouts",
                               answer.layouts.grid, answer.layouts.fitting,
                               short_time_text(best.time.total()), all_to_alls)});
}

std::string network_table(const SizeAnswer& answer) {
    Table table;
    const auto& machine = answer.question.machine;
    const auto nic = machine.nic_bytes_per_s * 8 / giga;
    if (answer.gradients) {
        const auto& gradients = *answer.gradients;
        table.add(
            {"Gradients", fmt::format("{} reduced and {} gathered by a GPU in a step, {:g} copies",
                                      bytes_text(gradients.traffic.reduce_scatter),
                                      bytes_text(gradients.traffic.all_gather), gradients.copies)});
        if (gradients.members > 1) {
            table.add({"", fmt::format("{:g} copies share the NICs of their node and send a part "
                                       "each: {} of it are a GPU's",
                                       gradients.members,
                                       bytes_text(gradients.traffic.total() / gradients.members))});
        }
        const auto reached = 100 * machine.network_bytes_per_s / machine.nic_share();
        table.add(
            {"", fmt::format("{} at {:.0f} % of the NICs, {} the {} of a backward pass (2/3 step)",
                             short_time_text(gradients.send_s), reached,
                             gradients.is_hidden() ? "hidden by" : "longer than",
                             short_time_text(gradients.window_s))});
        table.add({"", fmt::format("{} ({:.0f} Gb/s) a GPU hides them",
                                   bandwidth_text(gradients.needed_bytes_per_s),
                                   gradients.needed_bytes_per_s * 8 / giga)});
    }
    if (answer.rails) {
        const auto& rails = *answer.rails;
        table.add({"Rails", fmt::format("{} of {:g} Gb/s a node {}; it has {}", rails.rails, nic,
                                        rails.crosses ? "since the layout's groups leave NVLink"
                                                      : "would hide the gradients",
                                        machine.nics_per_node)});
        table.add({"Leaf uplinks", fmt::format("at most {:.1f}:1 oversubscribed, or gradients show",
                                               rails.most_oversubscription)});
    }
    if (answer.fabric) {
        const auto& fabric = *answer.fabric;
        auto switches =
            fabric.leaves == 1 ? std::string{"1 leaf"} : grouped(fabric.leaves) + " leaves";
        for (const auto& [count, name] :
             {std::pair{fabric.spines, "spine"}, std::pair{fabric.cores, "core"}}) {
            switches += count == 0 ? std::string{} : ", " + grouped_count(count, name);
        }
        table.add({"Fabric", fmt::format("{}; 1:1, radix {}: railhead fabric plan --nodes {} "
                                         "--nics {} --nic-gbps {:g}",
                                         switches, fabric.leaf_radix, fabric.nodes,
                                         fabric.nics_per_node, fabric.nic_gbps)});
    }
    return table.empty() ? std::string{} : "\nNetwork\n" + table.text(2);
}

std::string failures_table(const SizeAnswer& answer) {
    Table table;
    const auto& about = *answer.checkpoint;
    table.add({"Failures",
               fmt::format("{} expected in {:.1f} d; one each {}", count_text(answer.failures),
                           answer.chosen().days, time_text(about.failures.mtbf_s))});
    table.add({"Spares", fmt::format("{}: enough 99 % of the time, with {} until a node is back",
                                     count_of(answer.spares, "node"), time_text(answer.repair_s))});
    table.add({"Checkpoint", fmt::format("{} ({:g} bytes a parameter), each {} ({} steps), cost {}",
                                         bytes_text(about.checkpoint.bytes.value_or(0)),
                                         answer.question.recipe->in_checkpoint(),
                                         time_text(about.chosen.interval_s),
                                         count_text(about.chosen.steps.value_or(0)),
                                         time_text(about.checkpoint.cost_s))});
    table.add(
        {"Storage", fmt::format("takes {} while one is written, {} on average",
                                bandwidth_text(about.checkpoint.needed_bytes_per_s.value_or(0)),
                                bandwidth_text(about.checkpoint.average_bytes_per_s.value_or(0)))});
    const auto& power = answer.power;
    table.add({"Energy", fmt::format("{}: {} at the nodes' most, times a PUE of {:g}",
                                     energy_text(power.energy_wh),
                                     power_text(power.total_w / power.pue), power.pue)});
    return "\nFailures, storage, energy\n" + table.text(2);
}

std::string sensitivity_table(const SizeAnswer& answer) {
    Table table{{"if", "GPUs", "goodput", fmt::format("days on {}", answer.chosen().gpus)}};
    for (const auto& one : answer.sensitivity) {
        table.add({one.what, std::to_string(one.count.gpus), percent(one.count.goodput),
                   fmt::format("{:.2f}", one.days)});
    }
    return answer.sensitivity.empty() ? std::string{} : "\nSensitivity\n" + table.text(2);
}

std::string assumed_table(const SizeAnswer& answer) {
    Table table;
    for (const auto& one : answer.assumed) {
        table.add({std::string{one.what}, one.value, one.source});
    }
    for (const auto& one : answer.checkpoint->assumptions) {
        table.add({std::string{one.what}, value_text(one),
                   (one.is_guess ? "a guess: " : "") + one.source});
    }
    return "\nNot given\n" + table.text(2);
}

std::string notes_text(const SizeAnswer& answer) {
    Table table;
    for (const auto* notes : {&answer.notes, &answer.checkpoint->notes}) {
        for (const auto& note : *notes) {
            table.add({"-", note});
        }
    }
    return table.empty() ? std::string{} : "\nNotes\n" + table.text(2);
}

/// Accelerators that are left out for one reason are told together.
void add_name(std::vector<std::pair<std::string, std::string>>& to, const ComparedSize& one) {
    for (auto& [reason, names] : to) {
        if (reason == one.why_not) {
            names += ", " + one.accelerator;
            return;
        }
    }
    to.emplace_back(one.why_not, one.accelerator);
}

}  // namespace

std::string size_text(const SizeAnswer& answer) {
    const auto& question = answer.question;
    Table table;
    table.add({"Model", fmt::format("{}: {} parameters, {} tokens", question.model.name,
                                    large_text(answer.parameters), large_text(*question.tokens))});
    add_counts(answer, table);
    add_speed(answer, table);
    add_layout(answer, table);
    return table.text() + memory_table(answer) + network_table(answer) + failures_table(answer) +
           sensitivity_table(answer) + assumed_table(answer) + notes_text(answer);
}

std::string comparison_text(const std::vector<ComparedSize>& sizes) {
    Table table{{"accelerator", "GPUs", "nodes", "days", "MFU", "energy", "MFU from"}};
    std::vector<std::pair<std::string, std::string>> others;  // reason, names
    std::vector<const ComparedSize*> order;
    for (const auto& one : sizes) {
        if (one.answer) {
            order.push_back(&one);
        } else {
            add_name(others, one);
        }
    }
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
        return a->answer->chosen().gpus < b->answer->chosen().gpus;
    });
    for (const auto* one : order) {
        const auto& answer = *one->answer;
        const auto& count = answer.chosen();
        table.add({one->accelerator, std::to_string(count.gpus), std::to_string(count.nodes),
                   fmt::format("{:.1f}", count.days), percent(answer.mfu),
                   energy_text(answer.power.energy_wh),
                   answer.run != nullptr
                       ? fmt::format("{}, {:g} GPUs", answer.run->model, answer.run->gpus)
                       : std::string{"given"}});
    }
    std::string out;
    if (!order.empty()) {
        const auto& question = order.front()->answer->question;
        out = fmt::format("{}: {} tokens{}\n\n", question.model.name, large_text(*question.tokens),
                          question.days ? fmt::format(" in {:g} days", *question.days) : "") +
              table.text(2);
    }
    Table left_out;
    for (const auto& [reason, names] : others) {
        left_out.add({"-", fmt::format("{}: {}", names, reason)});
    }
    if (!left_out.empty()) {
        out += "\nNot compared\n" + left_out.text(2);
    }
    return out + "\nMore on one: --accelerator NAME\n";
}

}  // namespace railhead::report
