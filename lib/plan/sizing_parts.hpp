// The steps that size_cluster() takes, each on the answer as far as it is made.
#pragma once

#include "base/error.hpp"
#include "plan/sizing.hpp"
#include "plan/sizing_counts.hpp"

namespace railhead::plan {

/// Fails with `bad_input` where a figure means nothing, two contradict each other, or no layout can
/// be as it was asked for.
[[nodiscard]] Result<void> check_question(const SizeQuestion& question);

/// Puts what is usual where the question says nothing, and says so in `assumed`.
void fill_gaps(SizeAnswer& out);

/// The next count, node by node, that has a layout that fits and, as modelled, is as fast as the
/// MFU wants.  All-to-alls of experts do not count, which runs do hide (DeepSeek-V3,
/// arXiv:2412.19437, section 3.2.1).  No further than a quarter more.
[[nodiscard]] Result<void> lay_out(SizeAnswer& out, const Counter& counter);

}  // namespace railhead::plan
