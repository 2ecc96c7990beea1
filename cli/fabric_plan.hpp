// railhead fabric plan
#pragma once

#include "command.hpp"

namespace railhead::cli {

void add_fabric_plan(CLI::App& fabric, Console& console);

}  // namespace railhead::cli
