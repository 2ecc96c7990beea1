// Whether what the policy says of the checkpoint signal reaches anybody.

#include <string>
#include <vector>

#include <fmt/format.h>

#include "policy/check.hpp"

namespace railhead::policy {

namespace {

using checkpoint::Target;

/// What is wrong with these settings for jobs that declare and name no signal; empty: nothing.
std::string complaint(const CheckpointSettings& settings) {
    if (settings.clock && !settings.signal) {
        return "clock = true without a signal: only jobs that say --ckpt-signal are signalled: "
               "signal = \"USR1\"";
    }
    if (settings.signal && settings.signal_to == Target::rank0 && !settings.clock) {
        return "signal_to = \"rank0\" without clock: Slurm cannot signal one rank alone, so only "
               "jobs "
               "that say --ckpt-signal are signalled: clock = true";
    }
    return {};
}

bool speaks_of_signals(const CheckpointOverlay& overlay) {
    return overlay.clock || overlay.signal || overlay.signal_to;
}

}  // namespace

std::vector<Finding> check_checkpoints(const Policy& policy) {
    std::vector<Finding> findings;
    Settings global;
    apply(policy.global, global);
    const auto look = [&](const Overlay& overlay, const std::string& where) {
        if (!speaks_of_signals(overlay.checkpoint)) {
            return;
        }
        auto settings = global;
        apply(overlay, settings);
        if (const auto text = complaint(settings.checkpoint); !text.empty()) {
            findings.push_back({"policy", Level::warning, fmt::format("{}{}", where, text)});
        }
    };
    look(policy.global, "checkpoint: ");
    for (const auto& partition : policy.partitions) {
        look(partition.overlay,
             fmt::format("checkpoint of partition \"{}\": ", partition.partition));
    }
    for (const auto& rule : policy.rules) {
        look(rule.overlay, fmt::format("checkpoint of rule \"{}\": ", rule.name));
    }
    return findings;
}

}  // namespace railhead::policy
