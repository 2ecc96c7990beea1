// The layouts of a count of GPUs: of the count itself, of the next that has one, of another batch.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "plan/sizing_parts.hpp"

namespace railhead::plan {

namespace {

/// No published layout runs faster than modelled by more: docs/layouts.md.
constexpr double model_slack = 1.1;

double as_double(std::uint64_t value) {
    return static_cast<double>(value);
}

/// A count with its layouts, of which there is one that fits.
struct LaidOut {
    Count count;
    LayoutSearch layouts;

    /// The modelled step over that of the MFU.
    [[nodiscard]] double slowness() const {
        const auto& time = layouts.ranked.front().time;
        return (time.total() - time.expert) / count.step_s;
    }
};

LayoutQuestion layout_question(const SizeQuestion& question, std::uint64_t gpus,
                               std::uint64_t batch) {
    LayoutQuestion asked;
    asked.shape = &question.model;
    asked.machine = &question.machine;
    asked.recipe = question.recipe;
    asked.gpus = gpus;
    asked.batch = batch;
    asked.tp = question.tp;
    asked.pp = question.pp;
    asked.cp = question.cp;
    asked.ep = question.ep;
    asked.microbatch = question.microbatch;
    asked.keep = question.layouts;
    return asked;
}

/// Tells of the first layout that fits, but cannot be as fast as the MFU wants.
void note_slow(SizeAnswer& out, const LaidOut& slow) {
    const auto& best = slow.layouts.ranked.front();
    out.notes.push_back(fmt::format(
        "{} GPUs have a layout that fits (TP {}, PP {}, CP {}, EP {}, DP {}), but as modelled a "
        "step takes {:.3g} s there, not the {:.3g} s of the MFU",
        slow.count.gpus, best.layout.tp, best.layout.pp, best.layout.cp, best.layout.ep,
        best.layout.dp, best.time.total(), slow.count.step_s));
}

/// The batch nearest to that wanted with which the rounded count has a layout that fits and reaches
/// the MFU; where it has one already, the batch within 5 % that is fastest a token, by 2 % or more.
void look_for_batch(SizeAnswer& out, bool is_needed) {
    constexpr double near = 0.05;
    constexpr double worth = 0.98;
    const auto wanted = *out.question.batch;
    if (!is_needed && !out.is_fast_enough) {
        return;  // nor would another batch be
    }
    const auto fastest = is_needed ? model_slack * out.rounded.step_s
                                   : worth * out.layouts.ranked.front().time.total();
    auto to_beat = fastest / as_double(wanted);
    const auto limit = is_needed ? wanted : static_cast<std::uint64_t>(near * as_double(wanted));
    for (const auto batch : batches_near(out.rounded.gpus, wanted, limit)) {
        auto question = layout_question(out.question, out.rounded.gpus, batch);
        question.keep = 1;
        const auto search = search_layouts(question);
        if (!search || search->fitting == 0) {
            continue;
        }
        const auto& best = search->ranked.front();
        if (best.time.total() / as_double(batch) <= to_beat) {
            out.other_batch =
                OtherBatch{batch, as_double(batch) * as_double(out.question.model.sequence), best};
            to_beat = best.time.total() / as_double(batch);
            if (is_needed) {
                return;
            }
        }
    }
}

}  // namespace

Result<void> lay_out(SizeAnswer& out, const Counter& counter) {
    const auto first = out.rounded.nodes;
    const auto last = first + std::max<std::uint64_t>(first / 4, 64);
    std::optional<LaidOut> slow;  // the first, then any that comes nearer to the MFU
    for (auto nodes = first; nodes <= last && !out.with_layout; ++nodes) {
        const auto gpus = nodes * out.question.machine.gpus_per_node;
        auto search = search_layouts(layout_question(out.question, gpus, *out.question.batch));
        if (!search) {
            return propagate(search);
        }
        if (search->fitting > 0) {
            LaidOut one{counter.at(nodes, out.mfu), std::move(*search)};
            if (one.slowness() <= model_slack) {
                out.with_layout = one.count;
                out.layouts = std::move(one.layouts);
                out.is_fast_enough = true;
            } else if (!slow || one.slowness() < slow->slowness()) {
                if (!slow) {
                    note_slow(out, one);
                }
                slow = std::move(one);
            }
        }
        if (out.question.gpus) {
            break;  // no others are there
        }
    }
    if (!out.with_layout && slow) {
        out.with_layout = slow->count;
        out.layouts = std::move(slow->layouts);
    } else if (!out.with_layout) {
        out.notes.emplace_back(
            "no layout fits on that many GPUs, nor on a quarter more: another batch, more memory a "
            "GPU, or a shorter sequence is needed");
    }
    look_for_batch(out, !out.with_layout || out.with_layout->gpus != out.rounded.gpus);
    return {};
}

}  // namespace railhead::plan
