// Files of public origin that are not part of this repository: the corpus.
//
// It lies beside the checkout, or where RAILHEAD_CORPUS says.  A test that needs it begins with
// RAILHEAD_NEED_CORPUS() and is skipped, with a message, where there is none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace railhead::test {

/// The corpus' folder; empty when there is none.
[[nodiscard]] std::string corpus();
/// The whole of a file of the corpus: "sbatch/stas-launch.sbatch".
[[nodiscard]] std::string read_corpus(std::string_view name);
/// The names in a folder of the corpus that end with `suffix`, sorted.
[[nodiscard]] std::vector<std::string> list_corpus(std::string_view folder,
                                                   std::string_view suffix);

}  // namespace railhead::test

#define RAILHEAD_NEED_CORPUS()                                                      \
    do {                                                                            \
        if (railhead::test::corpus().empty()) {                                     \
            SKIP(                                                                   \
                "no corpus: set RAILHEAD_CORPUS, or put it beside the checkout as " \
                "shared/corpus");                                                   \
        }                                                                           \
    } while (false)
