#include "policy/changes.hpp"

#include <fmt/format.h>

#include "checkpoint/wish.hpp"

namespace railhead::policy {

std::string to_string(const Warning& warning) {
    return fmt::format("{}{}@{}", warning.batch ? "B:" : "",
                       checkpoint::signal_name(warning.signal), warning.seconds);
}

bool Changes::any() const {
    return min_nodes || max_nodes || exclusive || cpus_per_task || tasks || switches ||
           switch_wait_s || segment || prefer || exclude || !environment.empty() || warning ||
           requeue || append || time_limit_min;
}

}  // namespace railhead::policy
