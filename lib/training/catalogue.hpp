// What is known by name: accelerators, NICs and models, each with its source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "training/accelerator.hpp"
#include "training/nic.hpp"
#include "training/shape.hpp"

namespace railhead::training {

struct Catalogue {
    std::vector<Accelerator> accelerators;
    std::vector<Nic> nics;
    std::vector<Shape> models;
};

/// The one that the library brings along: config/catalogue.
[[nodiscard]] const Catalogue& built_in_catalogue();

/// Reads the TOML `text` of a file named `file` into `to`.  A row whose name is there changes the
/// values that it says, and unless it names a source the file is theirs; any other is new, and must
/// be whole.  Gives all errors, with line and column; `to` is then as it was.
[[nodiscard]] std::vector<Error> add_to_catalogue(Catalogue& to, std::string_view text,
                                                  const std::string& file);

/// By name or alias; case, blanks, "-", "_" and "/" do not count: "H100 SXM" is h100-sxm.  Fails
/// with `not_found` and "did you mean".  What is found lives as long as the catalogue.
[[nodiscard]] Result<const Accelerator*> find_accelerator(const Catalogue& catalogue,
                                                          std::string_view name);
[[nodiscard]] Result<const Nic*> find_nic(const Catalogue& catalogue, std::string_view name);
[[nodiscard]] Result<const Shape*> find_model(const Catalogue& catalogue, std::string_view name);

}  // namespace railhead::training
