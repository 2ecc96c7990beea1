#include "rails/warnings.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/cpu_set.hpp"
#include "base/text.hpp"

namespace railhead::rails {

namespace {

using node::Node;
using node::Path;

/// "GPU 2", "GPUs 0-3,7".
std::string gpus_text(const CpuSet& gpus) {
    return fmt::format("GPU{} {}", gpus.size() == 1 ? "" : "s", to_string(gpus));
}

void warn_of_far_gpus(const RailPlan& plan, std::vector<std::string>& warnings) {
    const auto best = std::ranges::min_element(plan.gpus, {}, &GpuRails::path)->path;
    std::map<Path, CpuSet> far;
    for (std::size_t i = 0; i < plan.gpus.size(); ++i) {
        if (plan.gpus[i].path > std::max(best, Path::pxb)) {
            far[plan.gpus[i].path].add(static_cast<unsigned>(i));
        }
    }
    for (const auto& [path, gpus] : far) {
        warnings.push_back(
            fmt::format("{} {} {}: {} at best, where others have {}", gpus_text(gpus),
                        gpus.size() == 1 ? "has" : "have",
                        path == Path::sys ? "no local NIC here" : "no NIC as near as others",
                        to_string(path), to_string(best)));
    }
    if (best == Path::sys) {
        warnings.push_back(
            fmt::format("no NIC is near any GPU (every path is SYS){}",
                        plan.rails.size() < 2 ? "" : ": they are paired by their order alone"));
    }
}

/// The GPUs that have the same near rails as `gpu`.
CpuSet beside(const RailPlan& plan, std::size_t gpu) {
    CpuSet gpus;
    for (std::size_t i = 0; i < plan.gpus.size(); ++i) {
        if (plan.gpus[i].near == plan.gpus[gpu].near) {
            gpus.add(static_cast<unsigned>(i));
        }
    }
    return gpus;
}

void warn_of_equal_rails(const RailPlan& plan, std::vector<std::string>& warnings) {
    const auto best = std::ranges::min_element(plan.gpus, {}, &GpuRails::path)->path;
    for (std::size_t i = 0; i < plan.gpus.size(); ++i) {
        const auto& [nics, own, path] = plan.gpus[i];
        const auto gpus = beside(plan, i);
        if (gpus.cpus().front() != i || gpus.size() < 3 || nics.size() < 2 ||
            path > std::max(best, Path::pxb) || path == Path::sys) {
            continue;
        }
        const auto same = fmt::format("{} to the same {}, which are dealt in order",
                                      to_string(path), count_of(nics.size(), "NIC"));
        warnings.push_back(
            gpus.size() == plan.gpus.size()
                ? fmt::format("no PCI locality is visible: all GPUs have {}; the provider's topology "
                              "file (NCCL_TOPO_FILE) would tell more",
                              same)
                : fmt::format("{} have {}: nothing tells them apart", gpus_text(gpus), same));
    }
}

void warn_of_lost_links(const Node& node, std::vector<std::string>& warnings) {
    std::vector<std::ptrdiff_t> partners;
    for (const auto& row : node.links) {
        partners.push_back(
            std::ranges::count_if(row, [](const auto& link) { return link.direct > 0; }));
    }
    const auto with_links =
        std::ranges::count_if(partners, [](std::ptrdiff_t count) { return count >= 2; });
    for (std::size_t gpu = 0; gpu < partners.size(); ++gpu) {
        if (partners[gpu] == 0 && with_links > 0 && with_links + 1 == std::ssize(partners)) {
            warnings.push_back(fmt::format(
                "GPU {} has no {}, which all other GPUs have: it lost them, or they are off", gpu,
                node.gpus[gpu].vendor == "nvidia" ? "NVLinks" : "direct links"));
        }
    }
}

}  // namespace

std::vector<std::string> find_warnings(const Node& node, const RailPlan& plan) {
    std::vector<std::string> warnings;
    if (!plan.rails.empty() && !plan.gpus.empty()) {
        warn_of_far_gpus(plan, warnings);
        warn_of_equal_rails(plan, warnings);
    }
    warn_of_lost_links(node, warnings);
    return warnings;
}

}  // namespace railhead::rails
