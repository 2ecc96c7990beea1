#include "report/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using checkpoint::Outcome;
using checkpoint::Recommendation;
using checkpoint::Trial;
using checkpoint::Trials;

constexpr std::size_t width = 80;

/// "a day", or "in 7 d".
std::string span_text(const Recommendation& about) {
    return about.has_time_limit ? "in " + time_text(about.span_s) : std::string{"a day"};
}

std::string steps_text(double steps) {
    constexpr double few = 10;
    const auto text = steps < few ? fmt::format("{:.2g}", steps) : fmt::format("{:.0f}", steps);
    return fmt::format(", {} {}", text, text == "1" ? "step" : "steps");
}

std::string interval_text(const Outcome& outcome) {
    constexpr double short_s = 10;  // whose seconds are told already
    const auto time = time_text(outcome.interval_s);
    const auto seconds = fmt::format("{:.0f} s", outcome.interval_s);
    const auto steps = outcome.steps ? steps_text(*outcome.steps) : std::string{};
    return time == seconds || outcome.interval_s < short_s ? time + steps
                                                           : time + " (" + seconds + ")" + steps;
}

std::string why(const Recommendation& about) {
    if (about.reason != checkpoint::Reason::optimum) {
        return "as long as a write goes on in the background";
    }
    if (!about.chosen.steps) {
        return "the least is lost (Daly)";
    }
    constexpr double hardly = 0.01;
    const bool is_far = std::abs(about.chosen.interval_s / about.optimum_s - 1) > hardly;
    const auto optimum = time_text(about.optimum_s);
    return !is_far ? "the least is lost (Daly), rounded to whole steps"
           : about.chosen.steps < 1.5 && about.chosen.interval_s > about.optimum_s
               ? fmt::format("one step, though the least would be lost at {} (Daly)", optimum)
               : fmt::format("rounded to whole steps, though the least would be lost at {} (Daly)",
                             optimum);
}

std::string loss_text(const Recommendation& about) {
    return fmt::format("{} of the time, {} {}", share_text(about.chosen.shares.waste()),
                       time_text(about.chosen.lost_s), span_text(about));
}

std::string loss_parts_text(const Recommendation& about) {
    return fmt::format("{} for checkpoints, {} by failures",
                       share_text(about.chosen.shares.checkpoints),
                       share_text(about.chosen.shares.failures));
}

std::string mtbf_text(const Recommendation& about) {
    const auto& failures = about.failures;
    auto text = fmt::format("MTBF {} ({})", time_text(failures.mtbf_s), failures.from);
    if (failures.estimate) {
        text += failures.estimate->high_s
                    ? fmt::format("; 95 % between {} and {}", time_text(failures.estimate->low_s),
                                  time_text(*failures.estimate->high_s))
                    : fmt::format("; 97.5 % above {}", time_text(failures.estimate->low_s));
    }
    return text;
}

std::string failures_text(const Recommendation& about) {
    return fmt::format("{} expected {}, none with a chance of {}",
                       count_text(about.failures.expected), span_text(about),
                       share_text(about.failures.none_chance));
}

std::string write_text(const checkpoint::Checkpoint& what) {
    auto text = what.bytes ? bytes_text(*what.bytes) + ", " : std::string{};
    text += "training stands still for " + time_text(what.cost_s);
    if (what.background_s > 0) {
        text += ", the write goes on for " + time_text(what.background_s);
    }
    return text;
}

std::string storage_text(const checkpoint::Checkpoint& what) {
    auto text = fmt::format("{} needed while it is written, {} on average",
                            bandwidth_text(*what.needed_bytes_per_s),
                            bandwidth_text(*what.average_bytes_per_s));
    if (what.bytes_per_s) {
        text += fmt::format("; {} for this job", bandwidth_text(*what.bytes_per_s));
    }
    return text;
}

std::string own_text(const Recommendation& about) {
    const auto more = about.own->lost_s - about.chosen.lost_s;
    return fmt::format("{}: {} lost, {} {} {}", interval_text(*about.own),
                       share_text(about.own->shares.waste()), time_text(std::abs(more)),
                       more < 0 ? "less" : "more", span_text(about));
}

std::string levels_text(const Recommendation& about) {
    const auto& levels = *about.levels;
    const auto k = levels.pattern.memory_per_storage;
    return fmt::format("to memory every {}, {} to storage too ({}): {} lost, {} {}",
                       time_text(levels.pattern.interval_s),
                       k == 1 ? std::string{"each"} : fmt::format("one in {}", k),
                       time_text(levels.pattern.interval_s * static_cast<double>(k)),
                       share_text(1 - levels.ettr), time_text(levels.lost_s), span_text(about));
}

std::string summary(const Recommendation& about) {
    Table table;
    table.add({"Interval", interval_text(about.chosen) + ": " + why(about)});
    table.add({"Loss", loss_text(about)});
    table.add({"", loss_parts_text(about)});
    table.add({"ETTR", fmt::format("{:.4f}; by the linear formula of RSC {:.4f}",
                                   about.chosen.shares.useful, about.chosen.ettr_v2)});
    table.add({"Failures", mtbf_text(about)});
    table.add({"", failures_text(about)});
    table.add({"Checkpoint", write_text(about.checkpoint)});
    if (about.checkpoint.bytes) {
        table.add({"Storage", storage_text(about.checkpoint)});
    }
    if (about.own) {
        table.add({"Yours", own_text(about)});
    }
    if (about.levels) {
        table.add({"In memory", levels_text(about)});
    }
    return table.text(0, width);
}

std::string formula_table(const Recommendation& about) {
    Table table{{"interval by", "", "lost"}};
    constexpr double percent = 100;  // to three places: the valley is flat
    const auto add = [&](std::string_view name, double interval_s) {
        const auto waste = checkpoint::shares_of(about.timing, interval_s).waste();
        table.add({std::string{name}, interval_s > 0 ? time_text(interval_s) : "none",
                   interval_s > 0 ? fmt::format("{:.3f} %", waste * percent) : "-"});
    };
    add("Young 1974", about.young_s);
    add("Daly 2006, first order", about.daly_first_order_s);
    add("Daly 2006, eq. 37", about.daly_s);
    add("exact optimum", about.optimum_s);
    add("chosen", about.chosen.interval_s);
    if (about.own) {
        add("yours", about.own->interval_s);
    }
    return "\n" + table.text(2, width);
}

std::string assumption_table(const Recommendation& about) {
    Table table;
    for (const auto& assumption : about.assumptions) {
        table.add({std::string{assumption.what}, value_text(assumption),
                   (assumption.is_guess ? "a guess: " : "") + assumption.source});
    }
    return table.empty() ? std::string{} : "\nNot given\n" + table.text(2, width);
}

std::string notes_text(const Recommendation& about) {
    Table table;
    for (const auto& note : about.notes) {
        table.add({"-", note});
    }
    return table.empty() ? std::string{} : "\nNotes\n" + table.text(2, width);
}

std::string verdict(const Trials& trials) {
    const auto* better = trials.better_than_chosen();
    if (better == nullptr) {
        return "No other interval was better than the chosen one by three standard errors.";
    }
    return fmt::format(
        "{} was better than the chosen interval: runs were {} of their work shorter.",
        time_text(better->experiment.interval_s), share_text(-better->excess.mean()));
}

/// ETTR and what it is uncertain by.
std::string simulated_text(const Trial& trial) {
    const auto mean = trial.stretch.mean();
    return fmt::format("{:.4f} ± {:.4f}", 1 / mean, trial.stretch.standard_error() / mean / mean);
}

std::string trials_table(const Recommendation& about, const Trials& trials) {
    std::vector<const Trial*> by_interval;
    for (const auto& trial : trials.trials()) {
        by_interval.push_back(&trial);
    }
    std::ranges::stable_sort(by_interval, {},
                             [](const Trial* trial) { return trial->experiment.interval_s; });
    Table table{{"interval", "ETTR, formula", "ETTR, simulated", ""}};
    for (const auto* trial : by_interval) {
        const auto interval_s = trial->experiment.interval_s;
        const bool is_own = about.own && interval_s == about.own->interval_s;
        table.add({time_text(interval_s), fmt::format("{:.4f}", 1 / trial->formula),
                   simulated_text(*trial),
                   trial == trials.trials().data() ? "chosen"
                   : is_own                        ? "yours"
                                                   : ""});
    }
    return table.text(2, width);
}

std::string trials_text(const Recommendation& about, const Trials* trials) {
    if (trials == nullptr) {
        return {};
    }
    const auto& first = trials->trials().front().experiment;
    const auto law = first.shape == 1 ? std::string{"exponential gaps"}
                                      : fmt::format("Weibull gaps of shape {:g}", first.shape);
    return fmt::format("\nSimulated: {} of {} of work, {}, seed {}\n{}  {}\n",
                       count_of(trials->done(), "run"),
                       time_text(first.interval_s * static_cast<double>(first.checkpoints)), law,
                       first.seed, trials_table(about, *trials), verdict(*trials));
}

}  // namespace

std::string value_text(const checkpoint::Assumption& assumption) {
    switch (assumption.unit) {
        case checkpoint::Unit::seconds:
            return time_text(assumption.value);
        case checkpoint::Unit::per_1000_node_days:
            return fmt::format("{:g} in 1000 node-days", assumption.value);
        case checkpoint::Unit::gpus_per_node:
        case checkpoint::Unit::bytes_per_param:
            break;
    }
    return fmt::format("{:g}", assumption.value);
}

std::string checkpoint_text(const Recommendation& recommendation, const Trials* trials) {
    return summary(recommendation) + formula_table(recommendation) +
           trials_text(recommendation, trials) + assumption_table(recommendation) +
           notes_text(recommendation);
}

}  // namespace railhead::report
