// CPUs on one socket, GPUs on two: seen on 22.05.8, Slurm takes the CPUs of `-n6 -c4 --gpus=6` from
// one socket where they fit, and the GPUs of the other one then have no CPU near them.  It spreads
// them with --ntasks-per-socket, --ntasks-per-node or --cpus-per-gpu, and for a single task.
#include <fmt/format.h>

#include <cstdint>

#include "base/text.hpp"
#include "policy/rules.hpp"
#include "policy/usable.hpp"

namespace railhead::policy {

namespace {

/// Whether the user said how CPUs lie, or gets whole nodes.
bool is_laid_out(const Work& work) {
    const auto& request = work.request;
    return request.tasks_per_socket || request.tasks_per_node || request.cpus_per_gpu ||
           request.sockets_per_node || request.cores_per_socket || request.spread ||
           !request.gpus_per_socket.empty() || request.sharing == job::Sharing::exclusive ||
           work.out.changes.exclusive;
}

}  // namespace

void apply_sockets_rule(Work& work) {
    const auto& partition = work.partition;
    const auto tasks = work.demand.tasks;
    const std::uint64_t cpus_per_task = work.request.cpus_per_task.value_or(1);
    if (!work.settings.gang.sockets_note || work.nodes > 1 || work.gpus_per_node == 0 ||
        partition.gpu_nodes.empty() || tasks < 2 || cpus_per_task < 2 || is_laid_out(work)) {
        return;
    }
    const auto& node = work.site.cluster.nodes[partition.gpu_nodes.front()];
    const auto gpus = gpus_a_node(work, 1);
    const std::uint64_t of_a_socket = std::uint64_t{node.cores_per_socket} * node.threads_per_core;
    const bool one_node = gpus <= work.gpus_per_node;
    const bool gpus_need_two = node.sockets > 1 && gpus * node.sockets > work.gpus_per_node;
    if (!one_node || !gpus_need_two || tasks * cpus_per_task > of_a_socket) {
        return;
    }
    work.say("sockets", NoteKind::advice,
             fmt::format("{} of a node lie on more than one socket, but Slurm may take the CPUs of all {} "
                         "from one: --ntasks-per-socket={} spreads them",
                         count_of(gpus, "GPU"), count_of(tasks, "task"),
                         (tasks + node.sockets - 1) / node.sockets),
             work.settings.gang.mode);
}

}  // namespace railhead::policy
