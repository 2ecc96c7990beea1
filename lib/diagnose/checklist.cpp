#include "diagnose/checklist.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/lower.hpp"
#include "diagnose/checklist_costs.hpp"
#include "diagnose/checklist_suspects.hpp"

namespace railhead::diagnose {

namespace {

/// Tokens that a replica was given in a step of published runs.
constexpr Range published_tokens = {8192, 131'072};
constexpr double usual_hidden = 8192;
/// Of a line's rate, where no measurement is known: 23.5 of 25 GB/s and 47 of 50 are 94 %.
constexpr double usual_line_share = 0.94;

struct Best {
    double share = 0;
    std::string source;
};

Result<Best> best_mfu(const ChecklistQuestion& question) {
    const auto& accelerator = *question.accelerator;
    if (const auto* published = accelerator.highest(question.precision)) {
        return Best{published->share, published->source};
    }
    const auto measured = accelerator.measured_tflops(question.precision);
    const auto peak = accelerator.peak_tflops(question.precision);
    if (measured && peak) {
        return Best{*measured / *peak, "no run is published: the best matmul that was measured"};
    }
    return fail(Errc::bad_input,
                fmt::format("no MFU of \"{}\" in {} is published: add highest_mfu to it in a file "
                            "for --catalog",
                            accelerator.name, to_string(question.precision)));
}

double node_bandwidth(const ChecklistQuestion& question, double nics,
                      std::vector<std::string>& assumptions) {
    const auto& nic = *question.nic;
    if (!question.nic_said) {
        assumptions.push_back(
            fmt::format("{} of \"{}\" a node, as in the usual one ({}): --nic says "
                        "another.",
                        nics, nic.name, nic.usual_node));
    }
    if (nic.measured_bytes_per_s) {
        assumptions.push_back(fmt::format("A port of \"{}\" reaches {:.3g} GB/s ({}).", nic.name,
                                          *nic.measured_bytes_per_s / 1e9, nic.source));
        return nics * *nic.measured_bytes_per_s;
    }
    assumptions.push_back(
        fmt::format("A port of \"{}\" reaches 94 % of its line, {:.3g} GB/s, as "
                    "HDR and NDR do.",
                    nic.name, usual_line_share * nic.port_bytes_per_s() / 1e9));
    return nics * usual_line_share * nic.port_bytes_per_s();
}

/// Tokens of a replica, or of a node where replicas are smaller.
Range tokens_of(const ChecklistQuestion& question, const RunSizes& run,
                std::vector<std::string>& assumptions) {
    if (!question.tokens_per_step) {
        assumptions.push_back(
            "A replica takes 8,192 to 131,072 tokens a step, as torchtitan's 8B and Llama 3 405B "
            "(16 Mi tokens on 128 replicas): --batch and --sequence narrow it.");
        return published_tokens;
    }
    const bool layout = question.tensor_parallel && question.pipeline_parallel;
    const double gpus = static_cast<double>(question.gpus);
    const double node = *question.tokens_per_step * run.gpus_per_node / gpus;
    if (layout) {
        const double ways = static_cast<double>(*question.tensor_parallel) *
                            static_cast<double>(*question.pipeline_parallel);
        const double tokens = *question.tokens_per_step * std::max(ways, run.gpus_per_node) / gpus;
        return {tokens, tokens};
    }
    assumptions.push_back("A replica is one node to all nodes: --tp and --pp say which.");
    return {node, *question.tokens_per_step};
}

Result<RunSizes> sizes_of(const ChecklistQuestion& question, double best,
                          std::vector<std::string>& assumptions) {
    const auto& accelerator = *question.accelerator;
    RunSizes run;
    const auto per_node =
        question.gpus_per_node != 0 ? question.gpus_per_node : std::uint64_t{accelerator.per_node};
    run.gpus_per_node = static_cast<double>(std::min(per_node, question.gpus));
    run.nodes = static_cast<double>((question.gpus + per_node - 1) / per_node);
    run.mfu = question.mfu;
    run.best = best;
    run.compute = question.mfu / best;
    run.lost = 1 - run.compute;
    run.flops_per_s = *accelerator.peak_tflops(question.precision) * 1e12 * best;
    run.scale_up_bytes_per_s = accelerator.scale_up_bytes_per_s.value_or(0);
    run.pcie_bytes_per_s = accelerator.pcie_bytes_per_s.value_or(0);
    run.hidden = question.hidden.value_or(usual_hidden);
    if (!question.hidden) {
        assumptions.emplace_back("Hidden size 8192, as of a model of 70B: --model says another.");
    }
    if (run.nodes > 1) {
        if (question.nic == nullptr) {
            return fail(Errc::bad_input,
                        fmt::format("the catalogue names no usual NIC of \"{}\": say --nic",
                                    accelerator.name));
        }
        run.nics = static_cast<double>(question.nics_per_node != 0
                                           ? question.nics_per_node
                                           : std::uint64_t{question.nic->per_node});
        run.node_bytes_per_s = node_bandwidth(question, run.nics, assumptions);
        run.tokens = tokens_of(question, run, assumptions);
    }
    return run;
}

/// What would cost more than the run loses even where it costs least cannot be the cause.  Where
/// the batch is assumed, it must be twice as much.
bool costs_too_much(const Suspect& suspect, const RunSizes& run) {
    const double margin = run.tokens.is_exact() ? 1 : 2;
    // What was said of the run is there, whatever the model of its cost makes of it.
    return !suspect.is_known && suspect.share.low > margin * run.lost;
}

void sort_in(std::variant<Suspect, RuledOut>&& candidate, const RunSizes& run, Checklist& list) {
    if (auto* out = std::get_if<RuledOut>(&candidate)) {
        list.ruled_out.push_back(std::move(*out));
        return;
    }
    auto& suspect = std::get<Suspect>(candidate);
    constexpr double least = 0.0005;  // of a step: less is not worth a line
    if (costs_too_much(suspect, run)) {
        list.ruled_out.push_back(
            {suspect.id, suspect.title,
             fmt::format("it costs at least {:.1f} % of a step here, and the run loses {:.1f} %",
                         suspect.share.low * 100, run.lost * 100)});
    } else if (suspect.share.high < least) {
        list.ruled_out.push_back(
            {suspect.id, suspect.title,
             fmt::format("it costs at most {:.2g} % of a step here", suspect.share.high * 100)});
    } else {
        if (suspect.share.low > run.lost) {
            suspect.arithmetic +=
                fmt::format("; that would be {:.1f} % of a step: no more than what is lost is "
                            "promised",
                            suspect.share.low * 100);
        }
        suspect.share.high = std::min(suspect.share.high, run.lost);
        suspect.share.low = std::min(suspect.share.low, suspect.share.high);
        suspect.expected =
            suspect.expected == 0
                ? suspect.share.middle()
                : std::clamp(suspect.expected, suspect.share.low, suspect.share.high);
        list.suspects.push_back(std::move(suspect));
    }
}

/// Fixes one after the other: each takes its share of the step as it is now, until what is left is
/// the step of the best published run.  Only what is known to be there surely gives something.
void compose(const RunSizes& run, Checklist& list) {
    Range left = {1, 1};  // of the step: after the least and after the greatest gains
    const auto mfu = [&](double step) { return std::min(run.best, run.mfu / step); };
    for (auto& suspect : list.suspects) {
        suspect.alone = {mfu(1 - suspect.share.low), mfu(1 - suspect.share.high)};
        left.low = std::max(run.compute, left.low - (suspect.is_known ? suspect.share.low : 0));
        left.high = std::max(run.compute, left.high - suspect.share.high);
        suspect.after = {mfu(left.low), mfu(left.high)};
    }
}

}  // namespace

const training::Nic* usual_nic(const training::Catalogue& catalogue,
                               const training::Accelerator& accelerator) {
    const std::string_view name = accelerator.name;
    const auto family = lower(name.substr(0, name.find('-')));
    const auto found = std::ranges::find_if(catalogue.nics, [&](const auto& nic) {
        return lower(nic.usual_node).find(family) != std::string::npos;
    });
    return found == catalogue.nics.end() ? nullptr : &*found;
}

Result<Checklist> make_checklist(const ChecklistQuestion& question) {
    if (!(question.mfu > 0 && question.mfu < 1) || question.gpus == 0) {
        return fail(Errc::bad_input,
                    "an MFU is more than 0 % and less than 100 %, of at least a GPU");
    }
    const auto& accelerator = *question.accelerator;
    if (!accelerator.peak_tflops(question.precision)) {
        return fail(Errc::bad_input, fmt::format("the catalogue has no peak of \"{}\" in {}: say "
                                                 "--precision",
                                                 accelerator.name, to_string(question.precision)));
    }
    const auto best = best_mfu(question);
    if (!best) {
        return tl::unexpected{best.error()};
    }
    Checklist list;
    list.best = best->share;
    list.best_source = best->source;
    if (question.mfu >= best->share) {
        return list;  // no better run is published: there is nothing to promise
    }
    auto run = sizes_of(question, best->share, list.assumptions);
    if (!run) {
        return propagate(run);
    }
    list.nodes = static_cast<std::uint64_t>(run->nodes);
    list.lost = run->lost;
    for (auto& candidate : all_suspects(question, *run)) {
        sort_in(std::move(candidate), *run, list);
    }
    std::ranges::stable_sort(list.suspects, std::greater{}, &Suspect::expected);
    compose(*run, list);
    return list;
}

}  // namespace railhead::diagnose
