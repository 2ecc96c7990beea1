// Which of a launcher's processes on this node this one is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace railhead::cli {

struct LocalRank {
    unsigned rank = 0;
    std::string variable;  ///< that told it
};

/// Looks up a variable of the environment.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// The rank in the variable `from`; where that is empty, in the first one that is set of
/// LOCAL_RANK (torchrun), OMPI_COMM_WORLD_LOCAL_RANK (Open MPI), MPI_LOCALRANKID (MPICH, Intel
/// MPI), PMI_LOCAL_RANK (HPE), SLURM_LOCALID.
///
/// The last one numbers the tasks of the step, so it tells nothing of the processes in one: it counts
/// only where several tasks have all GPUs to choose from, as RAILHEAD_BINDING says.
/// Fails with `not_found` where none is set, `bad_input` where the first is no number.
[[nodiscard]] Result<LocalRank> find_local_rank(const std::string& from, const Lookup& lookup);

/// The first of those variables that has a number: for a process whose own word is missing or
/// cannot be read, to tell whether it is the node's first.
[[nodiscard]] std::optional<unsigned> find_readable_rank(const Lookup& lookup);

}  // namespace railhead::cli
