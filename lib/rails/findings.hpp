// What a look at a node's health finds: plain values, one line for people in a hurry, and lines for
// another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::rails {

enum class Severity : std::uint8_t {
    advice,  ///< the node works; jobs would gain from a change
    fault    ///< jobs here fail or are slow
};
[[nodiscard]] std::string_view to_string(Severity severity);  ///< "advice", "fault"

struct Finding {
    Severity severity = Severity::fault;
    std::string nic;   ///< "mlx5_3"; "" for the node
    std::string what;  ///< "port 1 down", "200 of 400 Gb/s"; stands behind the NIC's name
    std::string remedy;
    bool operator==(const Finding&) const = default;
};

/// One line for a drain's reason, at most `most` bytes: "mlx5_3 port 1 down; mlx5_5 200 of 400
/// Gb/s; 3 more".  Of advice only with `with_advice`.  Empty: healthy.
[[nodiscard]] std::string health_line(const std::vector<Finding>& findings,
                                      bool with_advice = false, std::size_t most = 180);

/// Findings as lines of text and back: how a child hands them to the process that asked.
[[nodiscard]] std::string to_wire(const std::vector<Finding>& findings);
/// Fails with `bad_input` on anything that to_wire() does not write.
[[nodiscard]] Result<std::vector<Finding>> findings_from_wire(std::string_view text);

}  // namespace railhead::rails
