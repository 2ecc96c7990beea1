// GPU isolation: a task that sees only its own GPU cannot map its peers' memory, so NCCL loses
// NVLink and PCIe peer-to-peer between the GPUs of a node and goes through host memory instead.
#include <fmt/format.h>

#include "policy/rules.hpp"

namespace railhead::policy {

void apply_isolation_rule(Work& work) {
    const auto& request = work.request;
    if (!work.settings.gang.isolation_note || work.demand.tasks < 2) {
        return;
    }
    if (request.gpu_bind.find("none") != std::string_view::npos) {
        return;  // said in so many words that every task sees every GPU
    }
    const bool bound = request.gpu_bind.find("gpu") != std::string_view::npos;
    const bool all_of_a_node = work.demand.per_task >= work.gpus_per_node && work.gpus_per_node > 0;
    const bool by_task = work.demand.per_task > 0 && !all_of_a_node;
    if (!by_task && !request.tasks_per_gpu && !bound) {
        return;
    }
    const auto* option = by_task ? "--gpus-per-task"
                         : request.tasks_per_gpu        ? "--ntasks-per-gpu"
                                                        : "--gpu-bind";
    work.say("isolation", NoteKind::advice,
             fmt::format("{} hides the other GPUs of the node from each task, which costs NCCL its "
                         "peer-to-peer paths: use --gpus-per-node, or add --gpu-bind=none",
                         option),
             work.settings.gang.mode);
}

}  // namespace railhead::policy
