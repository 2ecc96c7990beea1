#include "checkpoint/ettr.hpp"

#include <algorithm>

#include "checkpoint/interval.hpp"

namespace railhead::checkpoint {

double ettr_v1(const Timing& timing, double interval_s) {
    if (!(interval_s > 0)) {
        return 0;
    }
    return std::max(0.0, 1 - (timing.restart_s() + interval_s / 2) / timing.mtbf_s());
}

double ettr_v2(const Timing& timing, double interval_s) {
    if (!(interval_s > 0)) {
        return 0;
    }
    return ettr_v1(timing, interval_s) / (1 + timing.cost_s() / interval_s);
}

double ettr_renewal(const Timing& timing, double interval_s) {
    return shares_of(timing, interval_s).useful;
}

}  // namespace railhead::checkpoint
