#include "checkpoint/mtbf.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/gamma.hpp"

namespace railhead::checkpoint {

namespace {

constexpr double thousand_days_s = 1000 * 86400.0;

constexpr std::array<FailureRate, 7> rates{{
    {"rsc-1", 6.50,
     "failures of nodes and of infrastructure found by health checks, in jobs of more than 128 "
     "GPUs",
     "Meta RSC-1, 16,000 A100, arXiv:2410.21680"},
    {"rsc-2", 2.34, "as rsc-1", "Meta RSC-2, 8,000 A100, arXiv:2410.21680"},
    {"rsc-1-all", 23.7, "every cause that ended a job of 1,024 GPUs (MTTF 7.9 h)",
     "Meta RSC-1, arXiv:2410.21680"},
    {"llama-3", 3.79, "unexpected interruptions of one job on 2,048 nodes in 54 days",
     "Llama 3 405B, 16,384 H100, arXiv:2407.21783"},
    {"imbue", 4.29, "machines that failed: about 3 % a week", "Imbue, 511 nodes of 8 H100"},
    {"crusoe", 8.54, "about 205 failures of 200 nodes in four months",
     "Crusoe, 1,600 H200, the vendor's own report"},
    {"bloom", 4.46, "GPU failures that stopped one job on 48 nodes: 1.5 a week",
     "BLOOM 176B, 384 A100, arXiv:2211.05100"},
}};

}  // namespace

std::span<const FailureRate> published_rates() {
    return rates;
}

const FailureRate* find_rate(std::string_view name) {
    const auto at = std::ranges::find_if(
        rates, [&](const auto& rate) { return equals_ignoring_case(rate.name, name); });
    return at == rates.end() ? nullptr : &*at;
}

const FailureRate& usual_rate() {
    return rates.front();
}

Result<double> gang_mtbf_s(double per_1000_node_days, std::uint64_t nodes) {
    if (!(per_1000_node_days > 0) || !std::isfinite(per_1000_node_days)) {
        return fail(Errc::bad_input, fmt::format("a rate of {:g} failures per 1000 node-days: it "
                                                 "has to be more than 0",
                                                 per_1000_node_days));
    }
    if (nodes == 0) {
        return fail(Errc::bad_input, "a gang of no nodes");
    }
    return thousand_days_s / per_1000_node_days / static_cast<double>(nodes);
}

double rate_per_1000_node_days(double mtbf_s, std::uint64_t nodes) {
    return thousand_days_s / mtbf_s / static_cast<double>(nodes);
}

Result<MtbfEstimate> estimate_mtbf(std::uint64_t failures, double observed_s, double confidence) {
    constexpr std::uint64_t most_failures = 10'000'000;
    if (!(observed_s > 0) || !std::isfinite(observed_s)) {
        return fail(Errc::bad_input, fmt::format("failures counted in {:g} s: the time has to be "
                                                 "more than 0",
                                                 observed_s));
    }
    if (failures > most_failures) {
        return fail(Errc::bad_input, fmt::format("{} failures: at most {} can be reckoned with",
                                                 failures, most_failures));
    }
    if (!(confidence > 0 && confidence < 1)) {
        return fail(Errc::bad_input,
                    fmt::format("a confidence of {:g}: it lies between 0 and 1", confidence));
    }
    const auto tail = (1 - confidence) / 2;
    const auto count = static_cast<double>(failures);
    MtbfEstimate estimate;
    estimate.mtbf_s = observed_s / (failures == 0 ? 0.5 : count);
    estimate.low_s = observed_s / gamma_p_inverse(count + 1, 1 - tail);
    if (failures > 0) {
        estimate.high_s = observed_s / gamma_p_inverse(count, tail);
    }
    return estimate;
}

}  // namespace railhead::checkpoint
