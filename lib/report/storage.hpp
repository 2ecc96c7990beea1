// The plan of storage as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "plan/storage.hpp"

namespace railhead::report {

/// The verdict, the transfers it follows from, and the figures they rest on with their sources; at
/// most 80 columns.
[[nodiscard]] std::string storage_text(const plan::StoragePlan& plan);

/// Schema railhead.storage/1.
[[nodiscard]] std::string storage_json(const plan::StoragePlan& plan);

/// The kinds of storage that are known, figure by figure.
[[nodiscard]] std::string stores_text(const std::vector<plan::Store>& stores);

/// Schema railhead.stores/1.
[[nodiscard]] std::string stores_json(const std::vector<plan::Store>& stores);

}  // namespace railhead::report
