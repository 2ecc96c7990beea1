#include "plan/sizing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/sizing_counts.hpp"
#include "plan/spares.hpp"
#include "training/mfu.hpp"
#include "training/parameters.hpp"

namespace railhead::plan {

namespace {

constexpr double day_s = 86400;
constexpr double chinchilla = 20;
constexpr double spare_chance = 0.99;
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

/// Fills the gaps of a question, and answers it.
class Sizer {
 public:
    explicit Sizer(SizeQuestion question) { out_.question = std::move(question); }
    Result<SizeAnswer> answer();

 private:
    void assume(std::string_view what, std::string value, std::string source) {
        out_.assumed.push_back({what, std::move(value), std::move(source)});
    }
    void fill_model();
    void fill_time();
    void fill_batch();
    void fill_failures();
    Result<void> check() const;
    Result<void> check_layout() const;
    Result<void> count();
    Result<void> judge();
    Result<void> lay_out();
    void note_slow(const LaidOut& slow);
    void look_for_batch(bool is_needed);
    void add_network();
    Result<void> add_failures();
    void add_power();
    void add_sensitivity();
    [[nodiscard]] LayoutQuestion layout_question(std::uint64_t gpus, std::uint64_t batch) const;

    SizeAnswer out_;
    std::optional<Counter> counter_;
};

/// N of the 6N formulas is that of the paper where it prints one: it is what others reckon with.
void Sizer::fill_model() {
    auto& question = out_.question;
    auto& model = question.model;
    out_.parameters = training::count_parameters(model).total();
    if (question.convention == nullptr) {
        question.convention = &training::conventions().front();
    }
    if (question.recipe == nullptr) {
        question.recipe = training::find_recipe("adam-mixed-fp32-grads");
        assume("bytes a parameter", fmt::format("{:g}", question.recipe->in_memory()),
               fmt::format("{}: {}", question.recipe->name, question.recipe->what));
    }
    const bool is_6n = question.convention->counting != training::Counting::matrices;
    if (is_6n && !model.parameters && model.published_parameters && !model.experts) {
        model.parameters = model.published_parameters;
        assume("N of 6N", fmt::format("{:g} B", *model.parameters / 1e9), model.source);
    }
}

void Sizer::fill_time() {
    auto& question = out_.question;
    const auto& model = question.model;
    if (!question.tokens && model.tokens) {
        question.tokens = model.tokens;
        assume("tokens", fmt::format("{:g} T", *model.tokens / 1e12), model.source);
    } else if (!question.tokens) {
        question.tokens = chinchilla * training::active_parameters(model);
        assume("tokens", fmt::format("{:.3g} T", *question.tokens / 1e12),
               "20 a parameter: Hoffmann et al., arXiv:2203.15556");
    }
    if (!question.days && !question.gpus) {
        constexpr double fortnight = 14;
        question.days = fortnight;
        assume("time", "14 days", "a guess: say --days");
    }
}

void Sizer::fill_batch() {
    auto& question = out_.question;
    const auto sequence = as_double(question.model.sequence);
    if (!question.batch) {
        constexpr double usual_tokens = 4.0 * 1024 * 1024;
        if (!question.batch_tokens) {
            assume("batch", "4 Mi tokens",
                   "LLaMA, arXiv:2302.13971: 4 M; Llama 3 405B: 16 M; the more, the more GPUs "
                   "can share it");
        }
        const auto sequences = question.batch_tokens.value_or(usual_tokens) / sequence;
        question.batch = static_cast<std::uint64_t>(std::max(1.0, std::round(sequences)));
    }
    question.batch_tokens = as_double(*question.batch) * sequence;
}

void Sizer::fill_failures() {
    auto& question = out_.question;
    if (!question.checkpoint_cost_s && !question.storage_bytes_per_s) {
        constexpr double bloom_s = 40;
        question.checkpoint_cost_s = bloom_s;
        assume("checkpoint stall", "40 s", "BLOOM: 2.3 TB in 40 s; bigscience chronicles");
    }
    if (!question.repair_s) {
        question.repair_s = day_s;
        assume("node out", "24 h", "a guess: until a failed node is back");
    }
    if (!question.pue) {
        constexpr double llama_pue = 1.1;
        question.pue = llama_pue;
        assume("PUE", "1.1", "LLaMA, arXiv:2302.13971, section 6");
    }
}

Result<void> Sizer::check() const {
    const auto& question = out_.question;
    if (auto right = training::check_shape(question.model); !right) {
        return right;
    }
    const std::pair<std::string_view, std::optional<double>> numbers[] = {
        {"tokens", question.tokens},
        {"days", question.days},
        {"an MFU", question.mfu},
        {"tokens a second", question.tokens_per_s_per_gpu},
        {"a batch", question.batch_tokens},
        {"a goodput", question.goodput},
        {"a stall", question.checkpoint_cost_s},
        {"a bandwidth", question.storage_bytes_per_s},
        {"a PUE", question.pue},
        {"time until a node is back", question.repair_s},
        {"a sequence", as_double(question.model.sequence)}};
    for (const auto& [what, value] : numbers) {
        constexpr double most = 1e18;
        if (value && !(*value > 0 && *value <= most)) {
            return fail(Errc::bad_input,
                        fmt::format("{} of {:g}: it has to be more than 0", what, *value));
        }
    }
    constexpr double hundred = 100;
    for (const auto& [what, share] :
         {std::pair{"an MFU", question.mfu}, std::pair{"a goodput", question.goodput}}) {
        if (share && *share > 1) {
            return fail(
                Errc::bad_input,
                fmt::format("{} of {:g}: it is a share of 1{}", what, *share,
                            *share <= hundred ? fmt::format(", is {:g} % meant? Then give {:g}",
                                                            *share, *share / hundred)
                                              : std::string{}));
        }
    }
    if (question.batch == std::uint64_t{0}) {
        return fail(Errc::bad_input, "a batch of 0 sequences: it has to be more than 0");
    }
    if (question.mfu && question.tokens_per_s_per_gpu) {
        return fail(Errc::bad_input, "an MFU and tokens a second say the same: give one of them");
    }
    if (question.gpus && question.days) {
        return fail(Errc::bad_input, "days follow from GPUs, and GPUs from days: give one of them");
    }
    if (question.gpus == std::uint64_t{0}) {
        return fail(Errc::bad_input, "0 GPUs train nothing");
    }
    return check_layout();
}

/// What no count of GPUs, and no batch, would mend.
Result<void> Sizer::check_layout() const {
    const auto& question = out_.question;
    const auto& model = question.model;
    const auto refuse = [&](std::string_view option, std::uint64_t value, const std::string& why) {
        return fail(Errc::bad_input,
                    fmt::format("--{} {}: {} has {}", option, value, printable(model.name), why));
    };
    if (question.tp && *question.tp > 0 && model.heads % *question.tp != 0) {
        return refuse("tp", *question.tp,
                      fmt::format("{}, which it does not divide", count_of(model.heads, "head")));
    }
    const auto width = model.experts ? model.experts->ffn : model.ffn;
    if (question.tp && *question.tp > 0 && width % *question.tp != 0) {
        return refuse("tp", *question.tp,
                      fmt::format("an MLP {} wide, which it does not divide", width));
    }
    if (question.tp && *question.tp > 0 && question.machine.domain % *question.tp != 0) {
        return fail(Errc::bad_input,
                    fmt::format("--tp {}: it does not divide the {} that NVLink or its like joins",
                                *question.tp, count_of(question.machine.domain, "GPU")));
    }
    if (question.pp && *question.pp > model.layers) {
        return refuse("pp", *question.pp,
                      fmt::format("{}, and each stage needs one", count_of(model.layers, "layer")));
    }
    if (question.ep && *question.ep > 1 && !model.experts) {
        return refuse("ep", *question.ep, "no experts to share out");
    }
    if (question.ep && *question.ep > 1 && model.experts->count % *question.ep != 0) {
        return refuse("ep", *question.ep,
                      fmt::format("{} a layer, which it does not divide",
                                  count_of(model.experts->count, "expert")));
    }
    return {};
}

Result<void> Sizer::count() {
    auto flops = training::flops_per_token(out_.question.model, *out_.question.convention);
    if (!flops) {
        return propagate(flops);
    }
    out_.flops_per_token = flops->total();
    counter_.emplace(out_.question, out_.flops_per_token, out_.parameters);
    auto counted = counter_->count();
    if (!counted) {
        return propagate(counted);
    }
    out_.steps = std::ceil(*out_.question.tokens / *out_.question.batch_tokens);
    out_.mfu = counted->mfu;
    out_.run = counted->run;
    out_.raw_gpus = counted->raw_gpus;
    out_.rounded = counted->count;
    if (out_.run != nullptr) {
        const auto& run = *out_.run;
        assume("MFU", fmt::format("{:.1f} % by \"{}\"", run.mfu * 100, run.convention),
               fmt::format("{} on {:g} GPUs: {}", run.model, run.gpus, run.source));
    }
    return {};
}

/// What was given of the speed, against the peak, the best matmul and what was published.
Result<void> Sizer::judge() {
    const auto& question = out_.question;
    if (!question.mfu && !question.tokens_per_s_per_gpu) {
        return {};
    }
    training::Utilization about;
    about.mfu = about.hfu = out_.mfu;
    about.peak_tflops = question.machine.peak_flops / 1e12;
    about.convention = question.convention;
    const auto judged =
        training::judge(about, *question.machine.accelerator, question.machine.precision);
    if (judged.doubt == training::Doubt::impossible) {
        return fail(Errc::bad_input, judged.reason);
    }
    if (judged.doubt != training::Doubt::none) {
        out_.notes.push_back(judged.reason);
    }
    return {};
}

LayoutQuestion Sizer::layout_question(std::uint64_t gpus, std::uint64_t batch) const {
    const auto& question = out_.question;
    LayoutQuestion out;
    out.shape = &question.model;
    out.machine = &question.machine;
    out.recipe = question.recipe;
    out.gpus = gpus;
    out.batch = batch;
    out.tp = question.tp;
    out.pp = question.pp;
    out.cp = question.cp;
    out.ep = question.ep;
    out.microbatch = question.microbatch;
    out.keep = question.layouts;
    return out;
}

/// The next count, node by node, that has a layout that fits and, as modelled, is as fast as the
/// MFU wants.  All-to-alls of experts do not count, which runs do hide (DeepSeek-V3,
/// arXiv:2412.19437, section 3.2.1).  No further than a quarter more.
Result<void> Sizer::lay_out() {
    const auto first = out_.rounded.nodes;
    const auto last = first + std::max<std::uint64_t>(first / 4, 64);
    std::optional<LaidOut> slow;  // the first, then any that comes nearer to the MFU
    for (auto nodes = first; nodes <= last && !out_.with_layout; ++nodes) {
        const auto gpus = nodes * out_.question.machine.gpus_per_node;
        auto search = search_layouts(layout_question(gpus, *out_.question.batch));
        if (!search) {
            return propagate(search);
        }
        if (search->fitting > 0) {
            LaidOut one{counter_->at(nodes, out_.mfu), std::move(*search)};
            if (one.slowness() <= model_slack) {
                out_.with_layout = one.count;
                out_.layouts = std::move(one.layouts);
                out_.is_fast_enough = true;
            } else if (!slow || one.slowness() < slow->slowness()) {
                if (!slow) {
                    note_slow(one);
                }
                slow = std::move(one);
            }
        }
        if (out_.question.gpus) {
            break;  // no others are there
        }
    }
    if (!out_.with_layout && slow) {
        out_.with_layout = slow->count;
        out_.layouts = std::move(slow->layouts);
    } else if (!out_.with_layout) {
        out_.notes.emplace_back(
            "no layout fits on that many GPUs, nor on a quarter more: another batch, more memory a "
            "GPU, or a shorter sequence is needed");
    }
    look_for_batch(!out_.with_layout || out_.with_layout->gpus != out_.rounded.gpus);
    return {};
}

/// Tells of the first layout that fits, but cannot be as fast as the MFU wants.
void Sizer::note_slow(const LaidOut& slow) {
    const auto& best = slow.layouts.ranked.front();
    out_.notes.push_back(fmt::format(
        "{} GPUs have a layout that fits (TP {}, PP {}, CP {}, EP {}, DP {}), but as modelled a "
        "step takes {:.3g} s there, not the {:.3g} s of the MFU",
        slow.count.gpus, best.layout.tp, best.layout.pp, best.layout.cp, best.layout.ep,
        best.layout.dp, best.time.total(), slow.count.step_s));
}

/// The batch nearest to that wanted with which the rounded count has a layout that fits and reaches
/// the MFU; where it has one already, the batch within 5 % that is fastest a token, by 2 % or more.
void Sizer::look_for_batch(bool is_needed) {
    constexpr double near = 0.05;
    constexpr double worth = 0.98;
    const auto wanted = *out_.question.batch;
    if (!is_needed && !out_.is_fast_enough) {
        return;  // nor would another batch be
    }
    const auto fastest = is_needed ? model_slack * out_.rounded.step_s
                                   : worth * out_.layouts.ranked.front().time.total();
    auto to_beat = fastest / as_double(wanted);
    const auto limit = is_needed ? wanted : static_cast<std::uint64_t>(near * as_double(wanted));
    for (const auto batch : batches_near(out_.rounded.gpus, wanted, limit)) {
        auto question = layout_question(out_.rounded.gpus, batch);
        question.keep = 1;
        const auto search = search_layouts(question);
        if (!search || search->fitting == 0) {
            continue;
        }
        const auto& best = search->ranked.front();
        if (best.time.total() / as_double(batch) <= to_beat) {
            out_.other_batch =
                OtherBatch{batch, as_double(batch) * as_double(out_.question.model.sequence), best};
            to_beat = best.time.total() / as_double(batch);
            if (is_needed) {
                return;
            }
        }
    }
}

void Sizer::add_network() {
    const auto& question = out_.question;
    const auto& count = out_.chosen();
    if (!out_.layouts.ranked.empty()) {
        const auto& layout = out_.layouts.ranked.front().layout;
        const auto copies = as_double(layout.cp * layout.groups());
        const auto members = members_of(question.machine, layout);
        if (copies > members) {
            out_.gradients =
                gradients_of(traffic_of(question.model, layout, *question.recipe), copies, members,
                             count.step_s, question.machine.network_bytes_per_s);
            out_.rails = rails_of(question.machine, layout, *out_.gradients);
        }
    }
    if (count.nodes > 1) {
        if (auto plan = plan_fabric(question.machine, count.nodes)) {
            out_.fabric = std::move(*plan);
        } else {
            out_.notes.push_back("no fabric was planned: " + to_string(plan.error()));
        }
    }
}

Result<void> Sizer::add_failures() {
    const auto& count = out_.chosen();
    auto recommended = counter_->recommend(count.nodes, count.step_s, count.days);
    if (!recommended) {
        return propagate(recommended);
    }
    out_.failures = recommended->failures.expected;
    const auto rate = recommended->failures.per_1000_node_days.value_or(0);
    out_.repair_s = *out_.question.repair_s;
    out_.spares = spare_nodes(count.nodes, unavailability(rate, out_.repair_s), spare_chance);
    out_.checkpoint = std::move(*recommended);
    return {};
}

void Sizer::add_power() {
    const auto& count = out_.chosen();
    auto& power = out_.power;
    constexpr double hours = 24;
    power.node_w = out_.question.machine.node_power_w;
    power.pue = *out_.question.pue;
    power.total_w = power.node_w * as_double(count.nodes) * power.pue;
    power.energy_wh = power.total_w * count.days * hours;
}

void Sizer::add_sensitivity() {
    constexpr double points = 0.05;
    const auto nodes = out_.chosen().nodes;
    const auto add = [&](std::string what, const Counter& counter, double mfu) {
        if (!(mfu > 0 && mfu < 1)) {
            return;
        }
        if (const auto counted = counter.count_at(mfu)) {
            out_.sensitivity.push_back(
                {std::move(what), counted->count, counter.at(nodes, mfu).days});
        }
    };
    for (const auto mfu : {out_.mfu - points, out_.mfu + points}) {
        add(fmt::format("MFU {:.1f} %", mfu * 100), *counter_, mfu);
    }
    if (!out_.question.goodput) {
        add("failure rate x 2", counter_->with_failures(2), out_.mfu);
    }
}

Result<SizeAnswer> Sizer::answer() {
    if (auto right = check(); !right) {
        return propagate(right);
    }
    out_.assumed = out_.question.machine.assumed;
    fill_model();
    fill_time();
    fill_batch();
    fill_failures();
    if (auto right = check(); !right) {
        return propagate(right);
    }
    for (auto step : {&Sizer::count, &Sizer::judge, &Sizer::lay_out}) {
        if (auto done = (this->*step)(); !done) {
            return propagate(done);
        }
    }
    add_network();
    if (auto done = add_failures(); !done) {
        return propagate(done);
    }
    add_power();
    add_sensitivity();
    return std::move(out_);
}

}  // namespace

Result<SizeAnswer> size_cluster(SizeQuestion question) {
    return Sizer{std::move(question)}.answer();
}

}  // namespace railhead::plan
