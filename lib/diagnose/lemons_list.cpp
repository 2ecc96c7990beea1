#include "diagnose/lemons_list.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/lemons.hpp"

namespace railhead::diagnose {

namespace {

/// Of the reasons of our lines, by which they are known again.
constexpr std::string_view mark = "railhead lemons: ";

bool is_ours(std::string_view line) {
    const auto lemons = policy::parse_lemons(line, {});
    return lemons.entries.size() == 1 && lemons.entries[0].reason.starts_with(mark);
}

}  // namespace

std::string lemons_list(std::string_view old, std::span<const LemonNode> lemons,
                        std::int64_t until_s) {
    std::string text = old.empty() ? policy::format_lemons({}) : std::string{};
    while (!old.empty()) {
        const auto line = old.substr(0, old.find('\n'));
        old.remove_prefix(std::min(line.size() + 1, old.size()));
        if (!is_ours(line)) {
            text += fmt::format("{}\n", line);
        }
    }
    for (const auto& lemon : lemons) {
        constexpr double day_s = 86400;
        text += fmt::format("{}  {}  {}{} in {:.0f} days, {:.3g} per 1000 node-days (others {:.3g})\n",
                            lemon.count.node, policy::until_text(until_s), mark,
                            count_of(lemon.count.failures, "failure"),
                            lemon.count.exposure_s / day_s, lemon.per_1000_node_days,
                            lemon.rest_per_1000_node_days);
    }
    return text;
}

}  // namespace railhead::diagnose
