// The compiled policy that slurmctld's threads share.
//
// slurmctld 23.02 and later call job_submit from several threads at once (22.05 from one): the
// site is immutable and replaced whole.  A plugin gets no word of `scontrol reconfigure` on
// 22.05, so the files are looked at, by one thread, at most every two seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <shared_mutex>

#include "policy/load.hpp"

namespace railhead::job_submit {

class SiteCache {
   public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds look_every{2};
    using Load = std::function<policy::Loaded()>;
    using Tell = std::function<void(const policy::Loaded&, bool first)>;

    /// `load` reads the files; `tell` is told what came of it, once for each load.
    SiteCache(Load load, Tell tell) : load_{std::move(load)}, tell_{std::move(tell)} {}

    /// Loads for the first time; a failure leaves the cache empty.
    void start();

    /// The site in force; null while there is none.  Looks at the files when it is time to.
    /// A policy, slurm.conf or topology that has become bad leaves the last good one in force; one that has been
    /// removed leaves none.
    [[nodiscard]] std::shared_ptr<const policy::Site> current(Clock::time_point now);

   private:
    void refresh();
    void take(policy::Loaded loaded, bool first);

    Load load_;
    Tell tell_;
    std::shared_mutex mutex_;  ///< guards site_ only; loading happens outside of it
    std::shared_ptr<const policy::Site> site_;
    policy::Loaded last_;      ///< touched by the one thread that holds looking_
    std::atomic<bool> looking_{false};
    std::atomic<Clock::rep> next_look_{0};
};

}  // namespace railhead::job_submit
