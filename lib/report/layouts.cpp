#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/quantity_text.hpp"
#include "report/size.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using training::Layout;
using training::Recompute;

/// A term of the step, as it is named in the table.
struct Term {
    std::string_view name;
    double plan::StepTime::*value;
    std::string_view what;
};

constexpr std::array<Term, 11> terms{{
    {"matmul", &plan::StepTime::matmul, "at the rate of the best matmul"},
    {"attention", &plan::StepTime::attention, "its core, at half of the peak"},
    {"memory", &plan::StepTime::memory, "weights, gradients, activations to and from HBM"},
    {"recomputed", &plan::StepTime::recomputation, "a forward pass of the layers once more"},
    {"TP", &plan::StepTime::tensor, "all-gathers and reduce-scatters, none hidden"},
    {"CP", &plan::StepTime::context, "keys and values, beyond the attention core"},
    {"EP", &plan::StepTime::expert, "all-to-alls, none hidden"},
    {"PP", &plan::StepTime::pipeline, "sends between stages, none hidden"},
    {"bubble", &plan::StepTime::bubble, "(PP - 1) / chunks microbatches"},
    {"DP", &plan::StepTime::data, "gradients and weights, beyond the pass that hides them"},
    {"optimizer", &plan::StepTime::optimizer, "its state to and from HBM"},
}};

std::string waterfall(const plan::RankedLayout& best) {
    Table table;
    for (const auto& term : terms) {
        const auto value = best.time.*term.value;
        if (value > 0) {
            table.add({std::string{term.name}, short_time_text(value),
                       share_text(value / best.time.total()), std::string{term.what}});
        }
    }
    table.add({"step", short_time_text(best.time.total()), "100 %",
               fmt::format("on stage {}, the slowest", best.time.stage)});
    return table.text(2);
}

std::string ranked_table(const plan::SizeAnswer& answer) {
    constexpr double giga = 1e9;
    Table table{{"", "TP", "PP", "CP", "EP", "DP", "chunks", "micro", "recompute", "ZeRO", "GB",
                 "step", "MFU"}};
    const auto& count = answer.chosen();
    std::size_t place = 0;
    for (const auto& one : answer.layouts.ranked) {
        const auto& layout = one.layout;
        table.add({std::to_string(++place), std::to_string(layout.tp), std::to_string(layout.pp),
                   std::to_string(layout.cp), std::to_string(layout.ep), std::to_string(layout.dp),
                   std::to_string(layout.interleave), std::to_string(layout.microbatch),
                   std::string{to_string(layout.recompute)},
                   std::to_string(static_cast<int>(layout.sharding)),
                   fmt::format("{:.1f}", one.memory.total() / giga),
                   short_time_text(one.time.total()),
                   fmt::format("{:.1f} %", answer.mfu * 100 * count.step_s / one.time.total())});
    }
    return table.text(2);
}

}  // namespace

std::string layout_text(const Layout& layout) {
    std::string out = fmt::format("TP {}", layout.tp);
    for (const auto& [name, size] :
         {std::pair{"PP", layout.pp}, {"CP", layout.cp}, {"EP", layout.ep}, {"DP", layout.dp}}) {
        if (size > 1) {
            out += fmt::format(", {} {}", name, size);
        }
    }
    if (layout.interleave > 1) {
        out += fmt::format(" in {} chunks a stage", layout.interleave);
    }
    out += fmt::format("; microbatch {}; ZeRO {}", layout.microbatch,
                       static_cast<int>(layout.sharding));
    if (layout.recompute != Recompute::none) {
        out += fmt::format("; {} recomputation", to_string(layout.recompute));
    }
    if (layout.first_stage_layers > 0) {
        out += fmt::format("; {} layers on first and last stage", layout.first_stage_layers);
    }
    return out;
}

std::string layouts_text(const plan::SizeAnswer& answer) {
    const auto& search = answer.layouts;
    auto out = fmt::format("{} layouts of {} on {} {}: {} fit, {} are tight\n", search.grid,
                           answer.question.model.name, answer.chosen().gpus,
                           answer.question.machine.accelerator->name, search.fitting, search.tight);
    if (search.ranked.empty()) {
        return out;
    }
    out += "\nBest, by modelled step time\n" + ranked_table(answer);
    out +=
        "\nThe first one's step, on " +
        fmt::format("{} sequences of {}\n", *answer.question.batch, answer.question.model.sequence);
    out += waterfall(search.ranked.front());
    Table notes;
    notes.add({"-",
               "no constant is fitted to a run: the model ranks layouts, it does not foretell "
               "a step. docs/layouts.md says how far it is from published runs"});
    return out + "\nNotes\n" + notes.text(2);
}

}  // namespace railhead::report
