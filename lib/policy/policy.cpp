#include "policy/policy.hpp"

#include <algorithm>

namespace railhead::policy {

namespace {

template <class T>
void put(const std::optional<T>& from, T& to) {
    if (from) {
        to = *from;
    }
}

template <class T>
void put_known(const std::optional<T>& from, std::optional<T>& to) {
    if (from) {
        to = from;
    }
}

void apply(const CheckpointOverlay& overlay, CheckpointSettings& settings) {
    put(overlay.mode, settings.mode);
    put(overlay.min_nodes, settings.min_nodes);
    put(overlay.undeclared, settings.undeclared);
    put(overlay.declare_above, settings.declare_above);
    put(overlay.undeclared_time_s, settings.undeclared_time_s);
    put(overlay.long_interval, settings.long_interval);
    put(overlay.most_interval, settings.most_interval);
    put(overlay.signal_to, settings.signal_to);
    put(overlay.requeue, settings.requeue);
    put(overlay.append, settings.append);
    put(overlay.clock, settings.clock);
    put(overlay.attempts, settings.attempts);
    put_known(overlay.per_1000_node_days, settings.per_1000_node_days);
    put_known(overlay.cost_s, settings.cost_s);
    put_known(overlay.step_s, settings.step_s);
    put_known(overlay.restart_s, settings.restart_s);
    if (overlay.declares != nullptr) {
        settings.declares = overlay.declares;
    }
    if (overlay.signal) {
        settings.signal = *overlay.signal == 0 ? std::nullopt : overlay.signal;
    }
}

bool any_matches(const std::vector<std::string>& globs, std::string_view text) {
    return globs.empty() || std::ranges::any_of(globs, [text](const auto& glob) {
               return glob_matches(glob, text);
           });
}

}  // namespace

void apply(const Overlay& overlay, Settings& settings) {
    put(overlay.enabled, settings.enabled);
    put(overlay.mode, settings.gang.mode);
    put(overlay.mode, settings.placement.mode);
    put(overlay.mode, settings.lemons.mode);
    put(overlay.mode, settings.checkpoint.mode);
    put(overlay.gang_mode, settings.gang.mode);
    put(overlay.placement_mode, settings.placement.mode);
    put(overlay.lemons_mode, settings.lemons.mode);
    put(overlay.exclusive, settings.gang.exclusive);
    put(overlay.partial, settings.gang.partial);
    put(overlay.isolation_note, settings.gang.isolation_note);
    put(overlay.sockets_note, settings.gang.sockets_note);
    put(overlay.gpus_per_node, settings.gang.gpus_per_node);
    put(overlay.override_user, settings.placement.override_user);
    put(overlay.price, settings.placement.price);
    put(overlay.communication, settings.placement.communication);
    put(overlay.run_time_s, settings.placement.run_time_s);
    put(overlay.wait_least_s, settings.placement.wait_least_s);
    put(overlay.wait_most_s, settings.placement.wait_most_s);
    put(overlay.below_leaf, settings.placement.below_leaf);
    put(overlay.set_aside, settings.placement.set_aside);
    put(overlay.model_parallel_group, settings.placement.model_parallel_group);
    put(overlay.lemons_min_nodes, settings.lemons.min_nodes);
    apply(overlay.checkpoint, settings.checkpoint);
}

void apply_rules(const std::vector<Rule>& rules, const JobKind& job, Settings& settings) {
    for (const auto& rule : rules) {
        if (any_matches(rule.partitions, job.partition) &&
            any_matches(rule.accounts, job.account) && any_matches(rule.qos, job.qos) &&
            job.gpus >= rule.min_gpus && job.gpus <= rule.max_gpus) {
            apply(rule.overlay, settings);
        }
    }
}

Settings settings_of(const Policy& policy, const JobKind& job) {
    Settings settings;
    apply(policy.global, settings);
    for (const auto& layer : policy.partitions) {
        if (layer.partition == job.partition) {
            apply(layer.overlay, settings);
        }
    }
    apply_rules(policy.rules, job, settings);
    return settings;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;  // the last '*' met, and where it began to match
    std::size_t star_text = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string_view to_string(Mode mode) {
    switch (mode) {
        case Mode::observe: return "observe";
        case Mode::advise: return "advise";
        case Mode::enforce: return "enforce";
    }
    return "?";
}

}  // namespace railhead::policy
