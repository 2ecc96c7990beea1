#include "local_rank.hpp"

#include <array>

#include <fmt/format.h>

#include "affinity/binding.hpp"
#include "base/text.hpp"

namespace railhead::cli {

namespace {

constexpr std::string_view of_slurm = "SLURM_LOCALID";
constexpr std::array<std::string_view, 5> variables{"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                                    "MPI_LOCALRANKID", "PMI_LOCAL_RANK", of_slurm};

/// Whether Slurm's tasks are the ranks that the map is for: only where each has all GPUs to choose
/// from.  A task that is bound, or has some of the GPUs, is not one of its own ranks.
bool tasks_are_ranks(const Lookup& lookup) {
    return lookup("RAILHEAD_BINDING").value_or("").ends_with(affinity::unevenly);
}

}  // namespace

Result<LocalRank> find_local_rank(const std::string& from, const Lookup& lookup) {
    for (const auto variable : variables) {
        const auto name = from.empty() ? variable : std::string_view{from};
        const auto value = lookup(name);
        if (!value || (from.empty() && name == of_slurm && !tasks_are_ranks(lookup))) {
            continue;
        }
        const auto rank = parse_number<unsigned>(*value);
        if (!rank) {
            return fail(Errc::bad_input,
                        fmt::format("{}={} is no local rank", printable(name), printable(*value)));
        }
        return LocalRank{*rank, std::string{name}};
    }
    return fail(Errc::not_found, from.empty() ? "no local rank in the environment"
                                              : fmt::format("{} is not set", printable(from)));
}

std::optional<unsigned> find_readable_rank(const Lookup& lookup) {
    for (const auto variable : variables) {
        const auto rank = find_local_rank(std::string{variable}, lookup);
        if (rank && (variable != of_slurm || tasks_are_ranks(lookup))) {
            return rank->rank;
        }
    }
    return std::nullopt;
}

}  // namespace railhead::cli
