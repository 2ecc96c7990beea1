// Slurm's job description to a JobRequest, and a review's changes back.
//
// Every difference between Slurm releases that job_submit meets is here and nowhere else.
#pragma once

#include "job/request.hpp"
#include "policy/review.hpp"
#include "slurm_abi.hpp"

namespace railhead::job_submit {

/// The request in `desc`; its views point into `desc` and live as long as it does.
[[nodiscard]] job::JobRequest request_from(const job_desc_msg_t& desc);

/// Writes what the review changed; everything else in `desc` stays as it is.
void write_changes(const policy::Changes& changes, job_desc_msg_t& desc);

}  // namespace railhead::job_submit
