#include "plan/layouts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace railhead::plan {

namespace {

using training::Fit;
using training::Layout;
using training::Recompute;
using training::Sharding;

constexpr std::array<std::uint64_t, 4> microbatches{1, 2, 4, 8};
constexpr std::array<std::uint64_t, 8> interleaves{1, 2, 3, 4, 6, 8, 12, 16};
constexpr std::uint64_t most_cp = 64;
constexpr std::uint64_t least_tokens = 1024;

std::vector<std::uint64_t> divisors_up_to(std::uint64_t number, std::uint64_t most) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t one = 1; one <= std::min(number, most); ++one) {
        if (number % one == 0) {
            out.push_back(one);
        }
    }
    return out;
}

bool is_wanted(const std::optional<std::uint64_t>& wanted, std::uint64_t value) {
    return !wanted || *wanted == value;
}

class Grid {
 public:
    Grid(const LayoutQuestion& question, const std::function<void(const Layout&)>& see)
        : question_{question}, shape_{*question.shape}, see_{see} {}

    void walk();

 private:
    void walk_pipelines(Layout layout, std::uint64_t gpus);
    void walk_contexts(Layout layout, std::uint64_t gpus);
    void walk_microbatches(Layout layout);
    void walk_chunks(Layout layout);
    void walk_memory(Layout layout);
    [[nodiscard]] bool divides_model(std::uint64_t tp) const;
    [[nodiscard]] std::uint64_t sequence() const { return shape_.sequence; }

    const LayoutQuestion& question_;
    const training::Shape& shape_;
    const std::function<void(const Layout&)>& see_;
};

bool Grid::divides_model(std::uint64_t tp) const {
    const auto& experts = shape_.experts;
    return shape_.heads % tp == 0 && shape_.ffn % tp == 0 && (!experts || experts->ffn % tp == 0) &&
           question_.machine->domain % tp == 0;
}

void Grid::walk() {
    for (const auto tp : divisors_up_to(question_.gpus, question_.machine->domain)) {
        if (is_wanted(question_.tp, tp) && divides_model(tp)) {
            Layout layout;
            layout.tp = tp;
            walk_pipelines(layout, question_.gpus / tp);
        }
    }
}

void Grid::walk_pipelines(Layout layout, std::uint64_t gpus) {
    for (const auto pp : divisors_up_to(gpus, shape_.layers)) {
        if (is_wanted(question_.pp, pp)) {
            layout.pp = pp;
            walk_contexts(layout, gpus / pp);
        }
    }
}

void Grid::walk_contexts(Layout layout, std::uint64_t gpus) {
    const auto most = std::min(most_cp, std::max<std::uint64_t>(1, sequence() / least_tokens));
    for (layout.cp = 1; layout.cp <= most && gpus % layout.cp == 0; layout.cp *= 2) {
        if (!is_wanted(question_.cp, layout.cp) || sequence() % layout.cp != 0) {
            continue;
        }
        const auto left = gpus / layout.cp;
        const auto experts = shape_.experts ? shape_.experts->count : 1;
        for (const auto ep : divisors_up_to(experts, left)) {
            if (left % ep == 0 && is_wanted(question_.ep, ep)) {
                layout.ep = ep;
                layout.dp = left / ep;
                walk_microbatches(layout);
            }
        }
    }
}

void Grid::walk_microbatches(Layout layout) {
    for (const auto size : microbatches) {
        const auto at_once = layout.groups() * size;
        if (is_wanted(question_.microbatch, size) && question_.batch % at_once == 0) {
            layout.microbatch = size;
            layout.microbatches = question_.batch / at_once;
            walk_chunks(layout);
        }
    }
}

void Grid::walk_chunks(Layout layout) {
    const auto over = shape_.layers % layout.pp;
    // One layer less on the first and the last stage takes up what is missing to equal stages.
    const bool has_short_ends = layout.pp > 2 && shape_.layers > layout.pp && over + 2 == layout.pp;
    for (const auto chunks : interleaves) {
        const auto stages = layout.pp * chunks;
        if (!is_wanted(question_.interleave, chunks) || stages > shape_.layers + 2 ||
            (chunks > 1 && (layout.pp == 1 || layout.microbatches % layout.pp != 0))) {
            continue;
        }
        layout.interleave = chunks;
        layout.first_stage_layers = layout.last_stage_layers = 0;
        if (chunks == 1 || shape_.layers % stages == 0) {
            walk_memory(layout);
        }
        if (has_short_ends && (shape_.layers + 2) % stages == 0) {
            layout.first_stage_layers = layout.last_stage_layers = shape_.layers / layout.pp;
            walk_memory(layout);
        }
    }
}

void Grid::walk_memory(Layout layout) {
    const auto has_copies = layout.cp * layout.groups() > 1;
    for (const auto recompute : {Recompute::none, Recompute::full}) {
        for (const auto sharding : {Sharding::optimizer, Sharding::gradients, Sharding::weights}) {
            const bool is_sensible =
                sharding == Sharding::optimizer ||
                (has_copies && (sharding == Sharding::gradients || layout.pp == 1));
            if (is_sensible && (!question_.recompute || *question_.recompute == recompute) &&
                (!question_.sharding || *question_.sharding == sharding)) {
                layout.recompute = recompute;
                layout.sharding = sharding;
                see_(layout);
            }
        }
    }
}

/// Faster first; of equally fast ones that which needs less memory.
bool is_better(const RankedLayout& a, const RankedLayout& b) {
    const auto first = a.time.total();
    const auto second = b.time.total();
    return first != second ? first < second : a.memory.total() < b.memory.total();
}

/// Keeps the best of so many.
class Best {
 public:
    explicit Best(std::size_t keep) : keep_{std::max<std::size_t>(keep, 1)} {}
    void add(const RankedLayout& one) {
        if (kept_.size() == keep_ && !is_better(one, kept_.back())) {
            return;
        }
        kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), one, is_better), one);
        if (kept_.size() > keep_) {
            kept_.pop_back();
        }
    }
    [[nodiscard]] std::vector<RankedLayout> take() { return std::move(kept_); }

 private:
    std::size_t keep_;
    std::vector<RankedLayout> kept_;
};

}  // namespace

void for_each_layout(const LayoutQuestion& question,
                     const std::function<void(const training::Layout&)>& see) {
    Grid{question, see}.walk();
}

Result<LayoutSearch> search_layouts(const LayoutQuestion& question) {
    if (question.gpus == 0 || question.batch == 0) {
        return fail(Errc::bad_input, "a layout needs GPUs, and sequences in a batch: 0 is none");
    }
    auto model = StepModel::make(*question.shape, *question.machine, *question.recipe);
    if (!model) {
        return propagate(model);
    }
    const auto capacity = question.machine->accelerator->memory_bytes;
    LayoutSearch out;
    Best fitting{question.keep};
    Best tight{question.keep};
    for_each_layout(question, [&](const Layout& layout) {
        ++out.grid;
        RankedLayout one;
        one.memory =
            training::memory_per_gpu(*question.shape, layout, *question.recipe, question.reserve);
        one.fit = training::fit_of(one.memory, capacity);
        if (one.fit == Fit::no) {
            return;
        }
        ++(one.fit == Fit::fits ? out.fitting : out.tight);
        if (one.fit == Fit::fits || out.fitting == 0) {
            one.layout = layout;
            one.time = model->time_of(layout);
            (one.fit == Fit::fits ? fitting : tight).add(one);
        }
    });
    out.ranked = out.fitting > 0 ? fitting.take() : tight.take();
    return out;
}

}  // namespace railhead::plan
