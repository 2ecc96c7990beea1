// A review as text for people and as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "job/request.hpp"
#include "job/script.hpp"
#include "policy/review.hpp"
#include "policy/site.hpp"

namespace railhead::report {

/// One component of a job and what becomes of it.
struct Explained {
    const job::JobRequest& request;
    const policy::Review& review;
};

/// A script and the review of each of its components.
struct ReviewedScript {
    job::Script script;
    std::vector<policy::Review> reviews;  ///< as many as components

    /// Refers into this object.
    [[nodiscard]] std::vector<Explained> components() const;
};
/// `submitted_s` is when the script is taken to be submitted, since 1970 in UTC; with 0 no entry of
/// the lemons file has expired.
[[nodiscard]] ReviewedScript review_script(job::Script script, const policy::Site& site,
                                           std::int64_t submitted_s);

/// What was asked, what it becomes and why, against the fabric.  80 columns.
[[nodiscard]] std::string explain_text(const std::string& script,
                                       std::span<const Explained> components,
                                       const policy::Site& site);

/// The same as JSON, schema "railhead.explain/1": docs/man/railhead.1.md has its fields.
[[nodiscard]] std::string explain_json(const std::string& script,
                                       std::span<const Explained> components);

/// What the job asks for, in sbatch's words: "-n16 --gpus=16".
[[nodiscard]] std::string asked_text(const job::JobRequest& request);
/// What a review sets, in sbatch's words: "-N2 --exclusive --switches=1@5:00"; empty for nothing.
[[nodiscard]] std::string changes_text(const policy::Changes& changes);

}  // namespace railhead::report
