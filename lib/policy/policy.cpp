#include "policy/policy.hpp"

namespace railhead::policy {

namespace {

template <class T>
void put(const std::optional<T>& from, T& to) {
    if (from) {
        to = *from;
    }
}

}  // namespace

void apply(const Overlay& overlay, Settings& settings) {
    put(overlay.enabled, settings.enabled);
    put(overlay.mode, settings.gang.mode);
    put(overlay.mode, settings.placement.mode);
    put(overlay.mode, settings.lemons.mode);
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
