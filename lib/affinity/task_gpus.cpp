#include "affinity/task_gpus.hpp"

#include <algorithm>

namespace railhead::affinity {

TaskGpus gpus_of_task(const StepTasks& step, const std::vector<std::size_t>& visible,
                      unsigned local_id) {
    const auto count = visible.size();
    if (step.gpus.empty()) {
        return {visible, count == 1 || step.tasks <= 1, 1, 0};
    }
    if (visible.size() < step.gpus.size() || count == 0 || local_id >= step.tasks) {
        return {visible};
    }
    if (step.tasks > count) {
        const auto gpu = local_id % count;
        const auto sharers = (step.tasks - gpu + count - 1) / count;
        return {{visible[gpu]},
                true,
                static_cast<unsigned>(sharers),
                static_cast<unsigned>(local_id / count)};
    }
    if (count % step.tasks != 0) {
        return {visible, false, step.tasks, local_id};
    }
    const auto run = count / step.tasks;
    const auto first = visible.begin() + static_cast<std::ptrdiff_t>(local_id * run);
    return {{first, first + static_cast<std::ptrdiff_t>(run)}};
}

}  // namespace railhead::affinity
