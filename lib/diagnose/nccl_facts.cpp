#include "diagnose/nccl_facts.hpp"

#include <algorithm>

namespace railhead::diagnose {

std::string_view name_of(NcclTopic topic) {
    static constexpr std::array<std::string_view, nccl_topics> names{
        "version",          "CUDA driver",    "network",      "IB devices",
        "IP interfaces",    "other devices",  "no IB device", "bootstrap interface",
        "OOB interface",    "network plugin", "plugin path",  "plugin trouble",
        "coll plugin",      "libfabric",      "CPU affinity", "NVLS",
        "channels",         "graph pattern",  "DMA-BUF",      "no P2P",
        "multi-node NVLink"};
    return names.at(static_cast<std::size_t>(topic));
}

std::string_view name_of(PathClass path) {
    static constexpr std::array<std::string_view, path_classes> names{
        "P2P", "SHM", "NET", "NET/GDRDMA", "CollNet", "other"};
    return names.at(static_cast<std::size_t>(path));
}

std::string_view name_of(WarningKind kind) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(WarningKind::count_)>
        names{"completion with error",
              "port event",
              "queue pair not connected",
              "device not opened",
              "verbs call failed",
              "no libibverbs",
              "no libfabric provider",
              "network not found",
              "no interface",
              "connection failed",
              "CUDA call failed",
              "shared memory",
              "one GPU twice",
              "versions or calls differ",
              "host setting",
              "closed by the other side",
              "receive failed",
              "operation failed",
              "test failed",
              "other"};
    return names.at(static_cast<std::size_t>(kind));
}

bool is_consequence(WarningKind kind) {
    return kind >= WarningKind::remote_closed && kind <= WarningKind::test_failed;
}

const Saying* NcclLog::said(const NcclRank& rank, NcclTopic topic) const {
    const std::uint32_t index = rank.said[static_cast<std::size_t>(topic)];
    return index < sayings.size() ? &sayings[index] : nullptr;
}

std::vector<const Saying*> NcclLog::all_said(NcclTopic topic) const {
    std::vector<const Saying*> all;
    for (const Saying& saying : sayings) {
        if (saying.topic == topic) {
            all.push_back(&saying);
        }
    }
    return all;
}

std::uint32_t NcclLog::ranks_that_said(const Saying& saying) const {
    return static_cast<std::uint32_t>(
        std::count_if(ranks.begin(), ranks.end(),
                      [&](const NcclRank& rank) { return said(rank, saying.topic) == &saying; }));
}

const NcclWarning* NcclLog::first_cause() const {
    std::vector<const NcclWarning*> causes;
    for (const NcclWarning& warning : warnings) {
        if (!warning.is_consequence()) {
            causes.push_back(&warning);
        }
    }
    if (causes.empty()) {
        return nullptr;
    }
    const bool all_timed = std::all_of(causes.begin(), causes.end(),
                                       [](const auto* cause) { return cause->at_s.has_value(); });
    return all_timed
               ? *std::min_element(causes.begin(), causes.end(),
                                   [](const auto* a, const auto* b) { return *a->at_s < *b->at_s; })
               : causes.front();
}

std::uint32_t NcclLog::world() const {
    return communicators.empty() ? 0 : communicators.front().ranks;
}

std::vector<std::uint32_t> NcclLog::absent_ranks() const {
    const std::uint32_t size = world();
    std::vector<std::uint32_t> absent;
    if (size == 0 || size > (1U << 20U)) {
        return absent;  // no cluster is larger: then a broken line told its size
    }
    std::vector<bool> is_there(size);
    for (const NcclRank& rank : ranks) {
        if (rank.of == size) {
            is_there[static_cast<std::size_t>(rank.rank)] = true;
        }
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        if (!is_there[rank]) {
            absent.push_back(rank);
        }
    }
    return absent;
}

}  // namespace railhead::diagnose
