// What the site wants for the memory of tasks: a word of plugstack.conf and of the policy.
#pragma once

#include <cstdint>

namespace railhead::rails {

enum class MemoryPolicy : std::uint8_t {
    off,     ///< left alone
    prefer,  ///< pages come from the node near the GPUs while it has room
    bind     ///< and from nowhere else: a full node ends the task
};

}  // namespace railhead::rails
