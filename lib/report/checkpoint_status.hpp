// What `railhead ckpt status` says: the checkpoints that a job has written, as its watcher saw
// them.
#pragma once

#include <string>

#include "checkpoint/record.hpp"

namespace railhead::report {

/// For people, in 80 columns; ages are told as of `now_s`, seconds since 1970.
[[nodiscard]] std::string checkpoint_status_text(const checkpoint::Record& record, double now_s);

/// For programs: schema railhead.ckpt-status/1.
[[nodiscard]] std::string checkpoint_status_json(const checkpoint::Record& record, double now_s);

}  // namespace railhead::report
