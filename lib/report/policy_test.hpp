// A site's own test of its policy: what becomes of a script, as the text that the site keeps
// beside it and reads when it changes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "policy/site.hpp"

namespace railhead::report {

/// How a script is submitted.
struct Submission {
    std::vector<std::string> arguments;              ///< as typed after "sbatch"
    std::map<std::string, std::string> environment;  ///< and nothing of this process's own
};

/// Reads the text of an options file: lines of sbatch options ("-p debug --gpus=16") or
/// NAME=value for the environment; blank lines and those that begin with "#" do not count.
/// Fails with `bad_input` and a position on any other line; `file` names it.
[[nodiscard]] Result<Submission> parse_submission(std::string_view text, const std::string& file);

/// What `railhead explain` says of the script `text`, named `name`, and below it the warnings; for
/// a script that every sbatch refuses, the reason.  80 columns, no path but `name`, equal
/// everywhere.
[[nodiscard]] std::string reviewed_text(const std::string& name, std::string_view text,
                                        const Submission& submission, const policy::Site& site);

}  // namespace railhead::report
