// Slurm's host lists: "gpu[001-128,200],login1" to names and back.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::job {

/// More names than this in one list is a typing error (or an attack), not a cluster.
constexpr std::size_t max_hosts = std::size_t{1} << 20U;

/// The names of a host list in the order written, as `scontrol show hostnames` gives them: several
/// bracket groups in a name ("r[1-2]n[01-04]"), zero padding kept, commas inside and outside
/// brackets. Fails with `bad_input`, with the column in `where`, on an unclosed or empty bracket, a
/// range that runs backwards, or more than `most` names (at most max_hosts): it fails before it
/// makes them.
[[nodiscard]] Result<std::vector<std::string>> expand_hostlist(std::string_view list,
                                                               std::size_t most = max_hosts);

/// How many names expand_hostlist() would give, without making them.  Fails as it does.
[[nodiscard]] Result<std::size_t> count_hosts(std::string_view list);

/// Whether expand_hostlist() would give the name `host`, without making any: a list of 10,000 nodes
/// costs no more than one of two.  False where the list cannot be read.
[[nodiscard]] bool hostlist_has(std::string_view list, std::string_view host);

/// The shortest usual way to write `names` (sorted, duplicates dropped): "gpu[001-004]", as
/// `scontrol show hostlistsorted` does for names with one number at the end.
[[nodiscard]] std::string compress_hostlist(std::span<const std::string> names);

}  // namespace railhead::job
