#include "affinity/cores.hpp"

namespace railhead::affinity {

namespace {

CpuSet joined(const std::vector<CpuSet>& sets, std::size_t first, std::size_t last) {
    CpuSet all;
    for (auto i = first; i < last; ++i) {
        all |= sets[i];
    }
    return all;
}

CpuSet only(unsigned cpu) {
    CpuSet set;
    set.add(cpu);
    return set;
}

/// Each CPU by itself, the threads of a core one after the other.
std::vector<CpuSet> threads_of(const std::vector<CpuSet>& cores) {
    std::vector<CpuSet> threads;
    for (const auto& core : cores) {
        for (const auto cpu : core.cpus()) {
            threads.push_back(only(cpu));
        }
    }
    return threads;
}

}  // namespace

std::vector<CpuSet> cores_within(const node::Node& node, const CpuSet& cpus) {
    std::vector<CpuSet> cores;
    auto rest = cpus;
    for (const auto& core : node.cores) {
        if (core.meets(cpus)) {
            rest -= core;
            cores.push_back(core & cpus);
        }
    }
    for (const auto cpu : rest.cpus()) {
        cores.push_back(only(cpu));
    }
    return cores;
}

CpuSet run_of(const std::vector<CpuSet>& cores, std::size_t turn, std::size_t takers) {
    const auto size = cores.size();
    if (size >= takers) {
        return joined(cores, size * turn / takers, size * (turn + 1) / takers);
    }
    const auto threads = threads_of(cores);
    return threads.size() >= takers ? run_of(threads, turn, takers) : joined(cores, 0, size);
}

}  // namespace railhead::affinity
