#include "site_cache.hpp"

#include <mutex>
#include <utility>

namespace railhead::job_submit {

void SiteCache::start() {
    take(load_(), true);
    next_look_ = (Clock::now() + look_every).time_since_epoch().count();
}

std::shared_ptr<const policy::Site> SiteCache::current(Clock::time_point now) {
    if (now.time_since_epoch().count() >= next_look_.load() && !looking_.exchange(true)) {
        // One thread looks, the others go on with what there is.
        struct Done {
            SiteCache& cache;
            Clock::time_point now;
            ~Done() {
                cache.next_look_ = (now + look_every).time_since_epoch().count();
                cache.looking_ = false;
            }
        } done{*this, now};
        refresh();
    }
    const std::shared_lock lock{mutex_};
    return site_;
}

void SiteCache::refresh() {
    if (last_.is_stale()) {
        take(load_(), false);
    }
}

void SiteCache::take(policy::Loaded loaded, bool first) {
    // A file caught half-written must not undo what was known of the cluster.
    if (!first && loaded.degraded && site_) {
        loaded.site = nullptr;
    }
    tell_(loaded, first);
    if (loaded.site || loaded.absent) {
        auto site = loaded.site;
        const std::unique_lock lock{mutex_};
        std::swap(site_, site);  // the old one, if it is the last, is freed after the lock
    }
    last_ = std::move(loaded);
}

}  // namespace railhead::job_submit
