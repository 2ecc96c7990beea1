#include <cassert>
#include <utility>

#include "training/built_in_text.hpp"
#include "training/catalogue.hpp"

namespace railhead::training {

namespace {

Catalogue read_built_in() {
    Catalogue catalogue;
    for (const auto& [text, file] :
         {std::pair{built_in_accelerators(), "accelerators.toml"},
          std::pair{built_in_nics(), "nics.toml"}, std::pair{built_in_models(), "models.toml"}}) {
        [[maybe_unused]] const auto errors = add_to_catalogue(catalogue, text, file);
        assert(errors.empty());  // they are part of the program, and a test reads them
    }
    return catalogue;
}

}  // namespace

const Catalogue& built_in_catalogue() {
    static const auto catalogue = read_built_in();
    return catalogue;
}

}  // namespace railhead::training
