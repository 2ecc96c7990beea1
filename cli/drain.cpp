#include "drain.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "base/subprocess.hpp"
#include "base/text.hpp"

namespace railhead::cli {

namespace {

constexpr std::chrono::milliseconds limit{2000};  // of each call

/// Whether it is a host's name and nothing else that scontrol could read into it.
bool is_node_name(std::string_view name) {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return !name.empty() && name.front() != '-' &&
           name.find_first_not_of(letters) == std::string_view::npos;
}

/// The value of State= in what `scontrol show node` prints: "IDLE+DRAIN".
std::string_view state_in(std::string_view record) {
    constexpr std::string_view key = "State=";
    for (const auto line : split(record, '\n')) {
        for (const auto word : split_words(line)) {
            if (word.starts_with(key)) {
                return word.substr(key.size());
            }
        }
    }
    return {};
}

}  // namespace

Result<std::string> find_scontrol() {
    constexpr std::array places{"/usr/bin/scontrol", "/usr/local/bin/scontrol",
                                "/opt/slurm/bin/scontrol", "/usr/local/slurm/bin/scontrol"};
    const auto* const found =
        std::ranges::find_if(places, [](const char* place) { return ::access(place, X_OK) == 0; });
    if (found == places.end()) {
        return fail(
            Errc::not_found,
            fmt::format("no scontrol at {} and the like: name it with --scontrol", places.front()));
    }
    return std::string{*found};
}

Result<std::string> drain_node(const std::string& scontrol, const std::string& node,
                               const std::string& reason) {
    if (!is_node_name(node)) {
        return fail(Errc::bad_input, fmt::format("\"{}\" is no node's name", printable(node)));
    }
    auto record = output_of({scontrol, "show", "node", node}, limit);
    if (!record) {
        return propagate(record);
    }
    if (state_in(*record).find("DRAIN") != std::string_view::npos) {
        return fmt::format("{} is drained already", node);
    }
    auto updated = output_of(
        {scontrol, "update", "NodeName=" + node, "State=DRAIN", "Reason=" + reason}, limit);
    if (!updated) {
        return propagate(updated);
    }
    return fmt::format("{} drained", node);
}

}  // namespace railhead::cli
