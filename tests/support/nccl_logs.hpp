// NCCL logs for tests: their facts as text, and the same log as another job would have printed it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/nccl_log.hpp"

namespace railhead::test {

/// The facts, a line each, sorted, without what tells one job from another: hosts, addresses,
/// ranks, lines of the file.  "network: IB x16", "path NET/IB/GDRDMA x32", "ranks 16".
[[nodiscard]] std::vector<std::string> facts_of(const diagnose::NcclLog& log);

/// A change that leaves the facts as they are.
struct Disguise {
    const char* why;
    std::string (*apply)(std::string_view log, std::uint32_t seed);
    std::uint32_t seeds = 2;  ///< 1 to this are worth a try
};
[[nodiscard]] const std::vector<Disguise>& disguises();

}  // namespace railhead::test
