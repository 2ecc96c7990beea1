// A job by its number: what Slurm tells of it, and where its output lies.
#pragma once

#include <string>
#include <vector>

#include "as_user.hpp"
#include "ask_slurm.hpp"
#include "base/error.hpp"
#include "command.hpp"
#include "text_stream.hpp"

namespace railhead::cli {

/// A file that the job writes, or wrote.
struct JobOutput {
    std::string path;
    Account account;          ///< whose it is: it is opened with this user's rights
    bool is_assumed = false;  ///< Slurm's usual name: accounting does not tell it
};

struct JobInput {
    std::vector<NamedText> texts;  ///< records, the batch script, the topology
    std::vector<JobOutput> outputs;
};

/// Asks scontrol, and accounting for what it does not know any more.  Warns of what does not
/// answer.  Fails with `not_found` where neither knows the job.
[[nodiscard]] Result<JobInput> find_job(const std::string& job, Console& console);

/// Opens a file of a job with the rights of its user, so that root follows no link for somebody
/// who may not follow it himself.  Fails where it is no regular file.
[[nodiscard]] Result<TextStream> open_output(const JobOutput& output);

}  // namespace railhead::cli
