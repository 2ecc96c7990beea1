#include "diagnose/facts.hpp"

#include <algorithm>
#include <array>

namespace railhead::diagnose {

std::string_view name_of(Input input) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(Input::count_)> names{
        "the log of a training run",
        "a training log with three timed steps, five to tell slow ones from others",
        "a training log whose lines have times (srun --label does not add them; ts does)",
        "lines of the training log about checkpoints",
        "the settings of the run: Megatron's arguments in its log, or its configuration "
        "(DeepSpeed, "
        "torchtitan, NeMo, the batch script)",
        "what an MFU needs: --accelerator, --model, --gpus",
        "--accelerator",
        "--nic and --nics: what a node's network can do",
        "the job's output with NCCL_DEBUG=INFO",
        "NCCL's lines on its network (NCCL_DEBUG=INFO)",
        "NCCL's lines on connections (NCCL_DEBUG=INFO)",
        "NCCL's topology (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH)",
        "NCCL's lines on communicators (NCCL_DEBUG=INFO)",
        "a table of nccl-tests (all_reduce_perf -b 8 -e 8G -f 2 -g 1)",
        "rows of 128 MiB and more in a table of nccl-tests",
        "rows of 8 KiB and less in a table of nccl-tests",
        "dmesg -T, or journalctl -k, of the nodes",
        "nvidia-smi -q of the nodes, while the job runs",
        "dcgmi diag -r 3, or dcgmi health, of the nodes",
        "ibstat of the nodes",
        "lspci -vvv of the nodes, as root",
        "the job's output with the failures of its ranks",
        "dumps of PyTorch's NCCL flight recorder as JSON, of two ranks and more",
        "a trace of PyTorch's profiler",
        "what NCCL's RAS port answers (ncclras -v) while the job runs",
        "a training log with gradient norms, of twenty steps and more",
        "gradient norms of three ranks and more, each line with its rank (srun --label)",
        "the job's record: sacct -j JOB --parsable2, or scontrol show job JOB",
        "records of this job alone, or of a few: sacct -j JOB --parsable2",
        "events of nodes: sacctmgr --parsable2 show event, or slurmctld's log",
        "slurmd's log of the nodes",
        "sdiag",
        "what the job asked for: scontrol show job JOB, or its batch script",
        "topology.conf (or topology.yaml), with scontrol show job JOB",
        "CPUs of the tasks: srun --cpu-bind=verbose, or srun --label taskset -cp 0",
        "nvidia-smi topo -m of a node",
        "nsys stats --format csv -r cuda_gpu_kern_sum,nvtx_sum"};
    return names.at(static_cast<std::size_t>(input));
}

std::optional<double> TrainingFacts::said(training::Topic topic) const {
    const auto* fact = run().fact(topic);
    return fact != nullptr ? std::optional{fact->value} : std::nullopt;
}

double TrainingFacts::speed_now() const {
    const bool levelled = !summary.levels.empty() && summary.levels.back().time > 0;
    return levelled ? summary.time.median / summary.levels.back().time : 1;
}

const TrainingFacts* Facts::main_training() const {
    const auto most =
        std::ranges::max_element(training, {}, [](const auto& one) { return one.summary.lines; });
    return most == training.end() ? nullptr : &*most;
}

std::uint64_t Facts::gpus_per_node() const {
    if (hardware.gpus_per_node != 0 || hardware.accelerator == nullptr) {
        return hardware.gpus_per_node;
    }
    return hardware.accelerator->per_node;
}

}  // namespace railhead::diagnose
