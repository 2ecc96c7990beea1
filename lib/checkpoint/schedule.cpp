#include "checkpoint/schedule.hpp"

#include <algorithm>

#include "checkpoint/interval.hpp"
#include "checkpoint/mtbf.hpp"
#include "checkpoint/timing.hpp"

namespace railhead::checkpoint {

const Usual& usual() {
    // The rate is published (mtbf.hpp); the rest are guesses: half a minute for a sharded write, a
    // long step of a large model, and RSC's five minutes from a failure to training again.
    static const Usual values{usual_rate().per_1000_node_days, 30, 30, 300};
    return values;
}

Result<Schedule> make_schedule(const ScheduleFacts& facts) {
    auto mtbf = gang_mtbf_s(facts.per_1000_node_days, facts.nodes);
    if (!mtbf) {
        return propagate(mtbf);
    }
    auto timing =
        Timing::make({.mtbf_s = *mtbf, .cost_s = facts.cost_s, .restart_s = facts.restart_s});
    if (!timing) {
        return propagate(timing);
    }
    Schedule schedule;
    schedule.mtbf_s = *mtbf;
    schedule.optimum_s = optimum_s(*timing);
    schedule.interval_s =
        facts.own_interval_s.value_or(std::max({schedule.optimum_s, facts.step_s, 1.0}));
    schedule.lead_s = std::min(facts.cost_s + facts.step_s + slurm_early_s, most_lead_s);
    return schedule;
}

}  // namespace railhead::checkpoint
