#include <algorithm>

#include "base/text.hpp"
#include "job/gpu_request.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

namespace {

/// Whether a resource string names something that is neither GPUs nor CPUs: "gpu:8,nvme:1".
bool names_others(std::string_view tres) {
    while (!tres.empty()) {
        const auto comma = tres.find(',');
        auto entry = trim(tres.substr(0, comma));
        for (const std::string_view lead : {"gres:", "gres/"}) {
            entry.remove_prefix(entry.starts_with(lead) ? lead.size() : 0);
        }
        const auto name = entry.substr(0, entry.find_first_of(":="));
        if (!name.empty() && name != "gpu" && name != "cpu") {
            return true;
        }
        tres.remove_prefix(comma == std::string_view::npos ? tres.size() : comma + 1);
    }
    return false;
}

/// The count in one resource string; notes in `demand` when it cannot be read.
std::uint64_t count_in(std::string_view tres, GpuDemand& demand) {
    if (tres.empty()) {
        return 0;
    }
    demand.others = demand.others || names_others(tres);
    const auto gpus = job::parse_gpus(tres);
    if (!gpus) {
        demand.unreadable = true;
        return 0;
    }
    const auto type = gpus->type();
    const bool another = !type.empty() && !demand.type.empty() && type != demand.type;
    demand.several_types = demand.several_types || gpus->parts.size() > 1 || another;
    demand.type = type.empty() ? demand.type : type;
    return gpus->total();
}

/// Nodes that the user's words fix, without a look at the cluster: -N, or -n by --ntasks-per-node.
std::uint64_t stated_nodes(const job::JobRequest& request) {
    if (request.min_nodes) {
        return *request.min_nodes;
    }
    if (request.tasks && request.tasks_per_node && *request.tasks_per_node > 0) {
        return (*request.tasks + *request.tasks_per_node - 1) / *request.tasks_per_node;
    }
    return 0;
}

}  // namespace

bool has_gpus(const fabric::NodeFacts& node, const GpuDemand& demand, std::uint64_t count) {
    if (demand.type.empty()) {
        return node.gpu_total() >= count;
    }
    const auto found = node.gpus.find(std::string{demand.type});
    return found != node.gpus.end() && found->second >= count;
}

GpuDemand gpu_demand(const job::JobRequest& request) {
    GpuDemand demand;
    const auto per_job = count_in(request.gpus_per_job, demand);
    const auto per_task = count_in(request.gpus_per_task, demand);
    demand.per_task = per_task;
    demand.per_node = count_in(request.gpus_per_node, demand);
    demand.by_socket = count_in(request.gpus_per_socket, demand) > 0;
    demand.tasks = request.tasks.value_or(0);
    if (demand.tasks == 0 && per_job > 0 && per_task > 0) {
        demand.tasks = per_job / per_task;
    }
    if (demand.tasks == 0 && per_job > 0 && request.tasks_per_gpu) {
        demand.tasks = per_job * *request.tasks_per_gpu;
    }
    if (per_job > 0) {
        demand.total = per_job;
    } else if (per_task > 0 && demand.tasks > 0) {
        demand.total = per_task * demand.tasks;
    } else if (demand.per_node > 0) {
        demand.total = demand.per_node * stated_nodes(request);
    }
    return demand;
}

}  // namespace railhead::policy
