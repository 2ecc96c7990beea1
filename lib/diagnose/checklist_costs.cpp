#include "diagnose/checklist_costs.hpp"

#include <algorithm>
#include <cmath>

#include "checkpoint/mtbf.hpp"

namespace railhead::diagnose {

double exposed_gradients(const RunSizes& run, double node_bytes_per_s, double tokens) {
    const double ratio =
        run.sent * run.gpus_per_node * run.flops_per_s / (tokens * node_bytes_per_s);
    return run.compute * std::max(0.0, ratio - run.behind_backward);
}

Range slower_network(const RunSizes& run, Range bad_bytes_per_s) {
    const auto cost = [&](double bad, double tokens) {
        return std::max(0.0, exposed_gradients(run, bad, tokens) -
                                 exposed_gradients(run, run.node_bytes_per_s, tokens));
    };
    return {cost(bad_bytes_per_s.high, run.tokens.high), cost(bad_bytes_per_s.low, run.tokens.low)};
}

double tensor_traffic(const RunSizes& run, double ways, double bytes_per_s) {
    return run.compute * 16 * (ways - 1) * run.flops_per_s / (72 * run.hidden * bytes_per_s);
}

double pipeline_bubble(double stages, double microbatches, double chunks) {
    return (stages - 1) / (chunks * microbatches + stages - 1);
}

double checkpoint_stall(double write_s, std::uint64_t nodes) {
    const auto mtbf_s = checkpoint::gang_mtbf_s(checkpoint::usual_rate().per_1000_node_days, nodes);
    return mtbf_s ? std::sqrt(write_s / (2 * *mtbf_s)) : 0;
}

}  // namespace railhead::diagnose
