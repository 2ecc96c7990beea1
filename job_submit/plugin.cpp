// The job_submit entry points.  Nothing is decided here: each one hands over to a function with
// C++ types, inside one guard(), and turns its answer into a Slurm status.
//
// Runs in slurmctld, under its locks and from several threads: no call back into Slurm, no
// file but at a reload, and when we are broken jobs go on unchanged.
#include <unistd.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/text.hpp"
#include "job_desc.hpp"
#include "policy/load.hpp"
#include "policy/review.hpp"
#include "site_cache.hpp"
#include "slurm_abi.hpp"

namespace {

using namespace railhead;
using job_submit::SiteCache;

/// The first exception of a thread has glibc allocate the run-time's thread-local block, and glibc
/// aborts when there is no memory for it.  So it is touched while the plugin is loaded, not when
/// the exception is std::bad_alloc.
[[maybe_unused]] const int exceptions_are_ready = std::uncaught_exceptions();

void report(const char* where, const char* what) noexcept {
    slurm_error("job_submit/railhead: %s: %s", where, what);
}

void log_error(const std::string& text) {
    slurm_error("job_submit/railhead: %s", printable(text).c_str());
}

void log_info(const std::string& text) {
    slurm_info("job_submit/railhead: %s", printable(text).c_str());
}

void tell(const policy::Loaded& loaded, bool first) {
    for (const auto& error : loaded.errors) {
        log_error(to_string(error));
    }
    for (const auto& warning : loaded.warnings) {
        log_error(to_string(warning));
    }
    if (loaded.absent) {
        log_info(fmt::format("no policy \"{}\": every job passes unchanged", loaded.policy_path));
    } else if (!loaded.site) {
        log_error(fmt::format("policy \"{}\" is not used: {}", loaded.policy_path,
                              first             ? "every job passes unchanged"
                              : loaded.degraded ? "the cluster as last known stays in force"
                                                : "the last good one stays"));
    } else {
        log_info(fmt::format("policy \"{}\" in force, {}, {}", loaded.policy_path,
                             count_of(loaded.site->partitions.size(), "partition"),
                             count_of(loaded.site->cluster.nodes.size(), "node")));
    }
}

/// One a slurmctld; every thread of it sees it.  Made by init(), freed by fini(): Slurm calls both
/// with all reviews locked out.  No static object: its destructor could run beside a review.
SiteCache* cache = nullptr;

int submit(job_desc_msg_t& desc, uint32_t uid, char** err_msg) {
    const auto site = cache != nullptr ? cache->current(SiteCache::Clock::now()) : nullptr;
    if (!site) {
        return SLURM_SUCCESS;
    }
    const auto request = job_submit::request_from(desc);
    const auto review = policy::review(request, *site);
    const auto text = policy::user_text(review, request, site->policy.notes);
    log_info(policy::log_line(review, uid));
    // From here on nothing throws: a job is changed whole or not at all.
    if (!text.empty() && err_msg != nullptr && *err_msg == nullptr) {
        *err_msg = slurm_xstrdup(text.c_str());
    }
    if (review.refusal) {
        return review.refusal->rule == "checkpoint" ? ESLURM_ACCESS_DENIED
                                                    : ESLURM_INVALID_NODE_COUNT;
    }
    job_submit::write_changes(review.changes, desc);
    return SLURM_SUCCESS;
}

int modify(job_desc_msg_t& desc, uint32_t uid) {
    const auto site = cache != nullptr ? cache->current(SiteCache::Clock::now()) : nullptr;
    if (!site) {
        return SLURM_SUCCESS;
    }
    const auto request = job_submit::request_from(desc);
    const auto review = policy::review_update(request, *site);
    if (review.changes.any()) {
        log_info(fmt::format("uid {} update to {}: --switches={}", uid,
                             count_of(review.seen.nodes, "node"), review.seen.least_leaves));
        job_submit::write_changes(review.changes, desc);
    }
    return SLURM_SUCCESS;
}

/// A broken advisor must not stop the queue: on an exception the job goes on unchanged, and the
/// log says so.
template <class Body>
int entry(const char* where, Body&& body) {
    return guard(where, int{SLURM_SUCCESS}, &report, std::forward<Body>(body));
}

}  // namespace

extern "C" {
extern const char plugin_name[] = "Railhead job submit plugin";
extern const char plugin_type[] = "job_submit/railhead";
extern const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int init() {
    return entry("init", [] {
        if (cache == nullptr) {
            // slurmctld runs as SlurmUser: the policy must be that user's, or root's.
            auto load = [] { return policy::load(policy::default_places(), ::geteuid()); };
            auto made = std::make_unique<SiteCache>(std::move(load), &tell);
            made->start();
            cache = made.release();
        }
        return int{SLURM_SUCCESS};
    });
}

void fini() {
    entry("fini", [] {
        delete std::exchange(cache, nullptr);
        return int{SLURM_SUCCESS};
    });
}

int job_submit(job_desc_msg_t* desc, uint32_t uid, char** err_msg) {
    return entry("job_submit", [&] { return submit(*desc, uid, err_msg); });
}

int job_modify(job_desc_msg_t* desc, job_record* /*job*/, uint32_t uid, char** /*err_msg*/) {
    return entry("job_modify", [&] { return modify(*desc, uid); });
}
}
