// From FLOPs to a number of GPUs: the fixed point of goodput and count.  Inside of sizing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "plan/sizing.hpp"

namespace railhead::plan {

struct Counted {
    Count count;
    double mfu = 0;
    double raw_gpus = 0;
    const PublishedRun* run = nullptr;
};

/// Counts GPUs for a question whose gaps are filled, and which has to outlive it.
class Counter {
 public:
    Counter(const SizeQuestion& question, double flops_per_token, double parameters)
        : question_{&question}, flops_per_token_{flops_per_token}, parameters_{parameters} {}

    /// At the MFU of the question, or of the nearest published run.
    [[nodiscard]] Result<Counted> count() const;
    /// The least number of nodes that keeps to the days, failures included.
    [[nodiscard]] Result<Counted> count_at(double mfu) const;
    /// How long so many nodes take.
    [[nodiscard]] Count at(std::uint64_t nodes, double mfu) const;
    /// What the checkpoint model says of so many nodes.
    [[nodiscard]] Result<checkpoint::Recommendation> recommend(std::uint64_t nodes, double step_s,
                                                               double days) const;
    /// The same where nodes fail `factor` times as often.
    [[nodiscard]] Counter with_failures(double factor) const;

 private:
    [[nodiscard]] double goodput(std::uint64_t nodes) const;
    [[nodiscard]] Result<double> mfu_by_run(const PublishedRun& run) const;
    [[nodiscard]] double mfu_of(double tokens_per_s_per_gpu) const;

    const SizeQuestion* question_;
    double flops_per_token_, parameters_;
    double failures_ = 1;
};

/// Batches that so many GPUs can share, the nearest to `wanted` first, none further than `limit`
/// from it: multiples of the number of groups, for each number of GPUs that hold a model together.
[[nodiscard]] std::vector<std::uint64_t> batches_near(std::uint64_t gpus, std::uint64_t wanted,
                                                      std::uint64_t limit);

}  // namespace railhead::plan
