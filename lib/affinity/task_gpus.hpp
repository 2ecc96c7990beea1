// Which of a step's GPUs one task uses.
//
// Slurm either narrows the devices that a task sees, or shows every task all of them and leaves
// the choice to the program, which goes by its local rank.  Both are read here into one answer.
#pragma once

#include <cstddef>
#include <vector>

namespace railhead::affinity {

/// GPUs are positions in Node::gpus throughout.
struct TaskGpus {
    std::vector<std::size_t> gpus;
    bool certain = true;   ///< false: the program's own choice cannot be told
    unsigned sharers = 1;  ///< tasks that use these GPUs, this one included
    unsigned turn = 0;     ///< which of them this one is, from 0
};

struct StepTasks {
    std::vector<std::size_t> gpus;  ///< the GPUs of the step on this node; empty: not known
    unsigned tasks = 1;             ///< tasks of the step on this node
};

/// The GPUs of task `local_id` (from 0), which sees `visible`.
///
/// A task that sees fewer than the step has uses what it sees.  Where all tasks see all g GPUs, n
/// tasks take them by local rank: task i takes GPU i where n = g, the i-th run of g/n where n
/// divides g, GPU i mod g where n > g.  Otherwise it may use any of them (`certain` is false).
/// Where the step's GPUs are not known, only a task that sees one, or is alone, is certain.
[[nodiscard]] TaskGpus gpus_of_task(const StepTasks& step, const std::vector<std::size_t>& visible,
                                    unsigned local_id);

}  // namespace railhead::affinity
