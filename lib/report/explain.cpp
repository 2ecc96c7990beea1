#include "report/explain.hpp"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/variables.hpp"
#include "report/explain_words.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

std::string clock_text(std::uint32_t seconds) {
    return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

/// Minutes as --time has them: "4:00:00".
std::string time_text(std::uint32_t minutes) {
    return fmt::format("{}:{:02}:00", minutes / 60, minutes % 60);
}

/// Appends "--name=value" where there is a value.
template <class T>
void option(std::string& out, std::string_view name, const std::optional<T>& value) {
    if (value) {
        out += fmt::format("{}{}{}", out.empty() ? "" : " ", name, *value);
    }
}
void option(std::string& out, std::string_view name, std::string_view value) {
    if (!value.empty()) {
        out += fmt::format("{}{}{}", out.empty() ? "" : " ", name, printable(value));
    }
}

/// A TRES string in the words of -G: "gres/gpu:h100:8" is "h100:8".
std::string_view gpus_text(std::string_view tres) {
    for (const std::string_view lead : {"gres/gpu", "gres:gpu", "gpu"}) {
        if (tres.starts_with(lead) && tres.size() > lead.size() + 1) {
            return tres.substr(lead.size() + 1);
        }
    }
    return tres;
}

/// A line a level: "2 leaf switches at least, of 8 with usable nodes".
std::vector<std::string> fabric_lines(const policy::Seen& seen) {
    std::vector<std::string> lines;
    const auto add = [&](unsigned level, std::uint32_t least, std::uint32_t usable) {
        if (least > 0) {
            lines.push_back(fmt::format("{} {} at least, of {} with usable nodes", least,
                                        fabric::level_word(seen.fabric, level, least), usable));
        }
    };
    add(0, seen.least_leaves, seen.leaves);
    for (const auto& level : seen.above) {
        add(level.level, level.least, level.usable);
    }
    return lines;
}

/// "2 leaf switches would cost 6 %, 3 level-1 switches 10 %": what no wait can promise to avoid is
/// told with it.
std::string cost_text(const policy::Seen& seen) {
    const auto& wait = *seen.wait;
    auto out = fmt::format("{} {} would cost {}", seen.least_leaves + 1,
                           fabric::level_word(seen.fabric, 0, seen.least_leaves + 1),
                           policy::percent_text(wait.slowdown));
    for (const auto& level : seen.above) {
        if (level.least > 0 && level.least < level.usable) {
            const auto cost = slowdown_at(wait.price, wait.communication, level.level);
            out += fmt::format(", {} {} {}", level.least + 1,
                               fabric::level_word(seen.fabric, level.level, level.least + 1),
                               policy::percent_text(cost));
        }
    }
    return out;
}

/// "2 leaf switches would cost 6 % (slowdown of the policy): up to 43 min of a 12 h run (time limit)".
std::string price_text(const policy::Seen& seen) {
    const auto& wait = *seen.wait;
    const auto run = fmt::format("of a {} run ({})", duration_text(wait.run_time.seconds),
                                 to_string(wait.run_time.from));
    std::string out;
    if (wait.price.from == policy::PriceFrom::wait || wait.price.from == policy::PriceFrom::user) {
        out = fmt::format("not priced: waits up to {} ({})", duration_text(wait.wanted_s),
                          source_text(wait));
    } else {
        out = fmt::format("{} ({}): ", cost_text(seen), source_text(wait));
        out += wait.wanted_s == 0 ? fmt::format("no wait {}", run)
                                  : fmt::format("up to {} {}", duration_text(wait.wanted_s), run);
        if (wait.wanted_s > 0 && wait.times > 1) {
            out += fmt::format(", {} times the price below a leaf", wait.times);
        }
    }
    if (wait.in_force_s < wait.wanted_s) {
        out += fmt::format(", cut to {} by SchedulerParameters=max_switch_wait",
                           duration_text(wait.in_force_s));
    }
    return out;
}

std::string seen_text(const policy::Review& review) {
    const auto& seen = review.seen;
    if (seen.partition.empty()) {
        return "in no partition that slurm.conf has";
    }
    if (seen.gpus == 0) {
        return fmt::format("in partition \"{}\"", printable(seen.partition));
    }
    return fmt::format("{} in partition \"{}\", {} a node", count_of(seen.gpus, "GPU"),
                       printable(seen.partition), seen.gpus_per_node);
}

std::string becomes_text(const policy::Review& review) {
    if (review.off) {
        return "what it is: Railhead is off for it";
    }
    if (review.refusal) {
        return "refused";
    }
    const auto changes = changes_text(review.changes);
    return changes.empty() ? "what it is" : changes;
}

std::string component_text(const Explained& component) {
    const auto& review = component.review;
    Table table;
    table.add({"asked", asked_text(component.request)});
    if (!review.off) {
        table.add({"seen as", seen_text(review)});
    }
    table.add({"becomes", becomes_text(review)});
    std::string_view label = "fabric";
    for (auto& line : fabric_lines(review.seen)) {
        table.add({std::string{std::exchange(label, "")}, std::move(line)});
    }
    if (review.seen.wait) {
        table.add({"price", price_text(review.seen)});
    }
    auto out = table.text(2);
    Table why;
    if (review.refusal) {
        why.add({std::string{review.refusal->rule}, "refused", printable(review.refusal->text)});
    }
    for (const auto& note : review.notes) {
        why.add({std::string{note.rule}, std::string{kind_word(note)}, printable(note.text)});
    }
    return why.empty() ? out : out + "\n" + why.text(2);
}

}  // namespace

std::vector<Explained> ReviewedScript::components() const {
    std::vector<Explained> list;
    for (std::size_t i = 0; i < reviews.size(); ++i) {
        list.push_back({script.components[i].request, reviews[i]});
    }
    return list;
}

ReviewedScript review_script(job::Script script, const policy::Site& site,
                             std::int64_t submitted_s) {
    ReviewedScript out{std::move(script), {}};
    out.reviews.reserve(out.script.components.size());
    for (auto& component : out.script.components) {
        component.request.submitted_s = submitted_s;
        out.reviews.push_back(policy::review(component.request, site));
    }
    return out;
}

std::string asked_text(const job::JobRequest& request) {
    std::string out;
    option(out, "-p ", request.partition);
    if (request.min_nodes) {
        out += fmt::format("{}-N{}", out.empty() ? "" : " ", *request.min_nodes);
        if (request.max_nodes && request.max_nodes != request.min_nodes) {
            out += fmt::format("-{}", *request.max_nodes);
        }
    }
    option(out, "-n", request.tasks);
    option(out, "--ntasks-per-node=", request.tasks_per_node);
    option(out, "-c", request.cpus_per_task);
    option(out, "--gpus=", gpus_text(request.gpus_per_job));
    option(out, "--gres=", request.gpus_per_node);
    option(out, "--gpus-per-socket=", gpus_text(request.gpus_per_socket));
    option(out, "--gpus-per-task=", gpus_text(request.gpus_per_task));
    option(out, "--gpu-bind=", request.gpu_bind);
    option(out, "-C ", request.constraint);
    option(out, "--prefer=", request.prefer);
    option(out, "-w ", request.node_list);
    option(out, "-x ", request.exclude);
    option(out, "--reservation=", request.reservation);
    option(out, "--switches=", request.switches);
    option(out, "--segment=", request.segment);
    option(out, "--ckpt-interval=", request.checkpoint.interval);
    option(out, "--ckpt-signal=", request.checkpoint.signal);
    option(out, "--signal", request.signal ? std::optional{""} : std::nullopt);
    if (request.requeue) {
        option(out, *request.requeue ? "--requeue" : "--no-requeue", std::optional{""});
    }
    return out.empty() ? "nothing but defaults" : out;
}

std::string changes_text(const policy::Changes& changes) {
    std::string out;
    option(out, "-N", changes.min_nodes);
    if (changes.exclusive) {
        option(out, "--exclusive", std::optional<std::string_view>{""});
    }
    option(out, "-n", changes.tasks);
    option(out, "-c", changes.cpus_per_task);
    option(out, "--switches=", changes.switches);
    if (changes.switch_wait_s) {
        out += fmt::format("@{}", clock_text(*changes.switch_wait_s));
    }
    option(out, "--segment=", changes.segment);
    if (changes.prefer) {
        option(out, "--prefer=", std::string_view{*changes.prefer});
    }
    if (changes.exclude) {
        option(out, "-x ", std::string_view{*changes.exclude});
    }
    if (changes.time_limit_min) {
        option(out, "--time=", std::optional{time_text(*changes.time_limit_min)});
    }
    if (changes.warning) {
        option(out, "--signal=", std::optional{signal_text(*changes.warning)});
    }
    option(out, "--requeue", changes.requeue ? std::optional{""} : std::nullopt);
    option(out, "--open-mode=", changes.append ? std::optional{"append"} : std::nullopt);
    for (const auto& variable : changes.environment) {
        if (std::string_view{variable.name} == checkpoint::variable::interval) {
            option(out, "RAILHEAD_CKPT_INTERVAL=", std::optional{variable.value});
        }
    }
    return out;
}

std::string explain_text(const std::string& script, std::span<const Explained> components,
                         const policy::Site& /*site*/) {
    std::string out;
    for (std::size_t i = 0; i < components.size(); ++i) {
        out += i > 0 ? "\n" : "";
        out += components.size() == 1
                   ? fmt::format("{}\n", printable(script))
                   : fmt::format("{}, component {}\n", printable(script), i);
        out += component_text(components[i]);
    }
    return out;
}

}  // namespace railhead::report
