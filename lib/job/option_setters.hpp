// What each option writes into a request.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "job/request.hpp"

namespace railhead::job {

/// A request in the making, and what the end of it needs to know.
struct Draft {
    JobRequest request;
    std::string_view gpus, gpus_per_node, gres, gpus_per_socket, gpus_per_task, tres_per_task;
    std::string_view tres_bind;     ///< --tres-bind, or --gpu-bind
    bool tres_bind_is_gpu = false;  ///< it came from --gpu-bind, which names no resource
    std::string_view hint;
    bool extra_node_info = false;  ///< -B was given
};

/// Writes one option.  Options that no request has a place for are left alone.
/// Fails with `bad_input` on a value that sbatch does not take; the message names the option.
[[nodiscard]] Result<> set_option(Draft& draft, std::string_view name, std::string_view value);

}  // namespace railhead::job
