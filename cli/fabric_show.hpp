// railhead fabric show
#pragma once

#include "command.hpp"

namespace railhead::cli {

void add_fabric_show(CLI::App& fabric, Console& console);

}  // namespace railhead::cli
