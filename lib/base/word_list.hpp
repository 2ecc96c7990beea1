// Lists of words as slurm.conf has them: "CANCEL,GANG".
#pragma once

#include <string_view>

namespace railhead {

/// Whether `word` is one of those between the commas of `list`, in any case and between any blanks.
[[nodiscard]] bool has_word(std::string_view list, std::string_view word);

}  // namespace railhead
