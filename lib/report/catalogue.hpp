// What `railhead catalog` says: accelerators, NICs and models, each figure with its unit and
// source.
#pragma once

#include <string>

#include "training/catalogue.hpp"

namespace railhead::report {

// A line each, in 80 columns.
[[nodiscard]] std::string accelerators_text(const training::Catalogue& catalogue);
[[nodiscard]] std::string nics_text(const training::Catalogue& catalogue);
[[nodiscard]] std::string models_text(const training::Catalogue& catalogue);

// All that is known of one.
[[nodiscard]] std::string accelerator_text(const training::Accelerator& accelerator);
[[nodiscard]] std::string nic_text(const training::Nic& nic);
/// Its sizes, its parameters part by part, and its FLOPs by each convention.
[[nodiscard]] std::string model_text(const training::Shape& shape);

/// For programs: schema railhead.catalog/1.
[[nodiscard]] std::string catalogue_json(const training::Catalogue& catalogue);

}  // namespace railhead::report
