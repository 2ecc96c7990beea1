#include "diagnose/checklist_suspects.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace railhead::diagnose {

namespace {

using Candidate = std::variant<Suspect, RuledOut>;
using training::Recompute;

std::string percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

std::string gb_per_s(double bytes_per_s) {
    return fmt::format("{:.3g} GB/s", bytes_per_s / 1e9);
}

/// "gradients at 10 GB/s a node instead of 188 GB/s, 8192 to 131072 tokens a step of a replica"
std::string network_words(const RunSizes& run, Range bad) {
    const auto tokens = run.tokens.is_exact()
                            ? fmt::format("{:.0f}", run.tokens.low)
                            : fmt::format("{:.0f} to {:.0f}", run.tokens.low, run.tokens.high);
    const auto speeds = bad.is_exact()
                            ? gb_per_s(bad.low)
                            : fmt::format("{} to {}", gb_per_s(bad.low), gb_per_s(bad.high));
    return fmt::format(
        "{} a node instead of {}: 6 bytes of a parameter on the wire against 6 FLOPs a token at "
        "{:.0f} TFLOP/s, {} tokens a step of a replica, two thirds of compute hide it",
        speeds, gb_per_s(run.node_bytes_per_s), run.flops_per_s / 1e12, tokens);
}

bool has_network(const RunSizes& run) {
    return run.nodes > 1;
}

RuledOut one_node(std::string_view id, std::string_view title) {
    return {id, title, "the job has one node: nothing goes over the network"};
}

/// What leaves less of the network than the node has.
struct NetworkFault {
    std::string_view id, title;
    double least_nics = 1;
    Range (*left)(const RunSizes& run);  ///< bytes a second of a node
    std::string_view source;
    std::array<std::string_view, 3> look;
    std::string_view fix;
};

constexpr std::array network_faults{
    NetworkFault{
        "socket",
        "NCCL talks TCP sockets instead of RDMA",
        1,
        [](const RunSizes& /*run*/) {
            constexpr double tcp = 10e9;
            return Range{tcp, tcp};
        },
        "TCP on 100GbE reaches 10 GB/s (NVIDIA GTC24 NCCL slides)",
        {"NCCL_DEBUG=INFO srun ... 2>&1 | grep 'Using network'", "railhead health"},
        "make the log say \"Using network IB\" (or the fabric's plugin): pass /dev/infiniband into "
        "the container, lift memlock, load the plugin; NCCL_NET=IB stops a silent fallback"},
    NetworkFault{"gdr",
                 "GPUDirect RDMA is off",
                 1,
                 [](const RunSizes& run) {
                     constexpr double without = 33.3 / 93;
                     return Range{run.node_bytes_per_s * without, run.node_bytes_per_s * without};
                 },
                 "33.3 GB/s without it, 93 GB/s with it, on two A100 nodes (NVIDIA/nccl #1412)",
                 {"NCCL_DEBUG=INFO srun ... 2>&1 | grep -c GDRDMA", "lsmod | grep nvidia_peermem"},
                 "modprobe nvidia-peermem on each node (or dma-buf with open kernel modules); "
                 "NCCL_NET_GDR_LEVEL=PHB where GPU and NIC are farther apart than a PCIe switch"},
    NetworkFault{
        "rails",
        "Fewer NICs carry traffic than the node has",
        2,
        [](const RunSizes& run) {
            return Range{run.node_bytes_per_s / run.nics,
                         run.node_bytes_per_s * (run.nics - 1) / run.nics};
        },
        "from one NIC of the node in use to all but one",
        {"NCCL_DEBUG=INFO srun ... 2>&1 | grep 'NET/IB : Using'", "railhead rails; railhead health",
         "all_reduce_perf -b 8M -e 8G -f 2 -g 1"},
        "one exact list of the compute NICs on every node, NCCL_IB_HCA==mlx5_0,mlx5_1,...: "
        "railhead rails prints it, the plugin sets it"},
    NetworkFault{
        "placement",
        "The job is spread over more leaves than it needs",
        1,
        [](const RunSizes& run) {
            constexpr double fragmented = 0.7;
            return Range{run.node_bytes_per_s * fragmented, run.node_bytes_per_s * fragmented};
        },
        "more than 30 % of bandwidth lost on fragmented racks (Meta, SIGCOMM 2024)",
        {"railhead verify-placement JOB"},
        "#SBATCH --switches=1 (or as many as the gang needs): the gang rule of "
        "railhead.toml sets it"},
};

Candidate slower(const NetworkFault& fault, const RunSizes& run) {
    if (!has_network(run)) {
        return one_node(fault.id, fault.title);
    }
    if (run.nics < fault.least_nics) {
        return RuledOut{fault.id, fault.title, "a node has one NIC for GPU traffic"};
    }
    const auto left = fault.left(run);
    Suspect suspect;
    suspect.id = fault.id;
    suspect.title = fault.title;
    suspect.share = slower_network(run, left);
    suspect.arithmetic = network_words(run, left);
    suspect.source = fault.source;
    for (const auto look : fault.look) {
        if (!look.empty()) {
            suspect.look.emplace_back(look);
        }
    }
    suspect.fix = fault.fix;
    return suspect;
}

Candidate thin_network(const ChecklistQuestion& /*question*/, const RunSizes& run) {
    constexpr std::string_view id = "batch-per-network";
    constexpr std::string_view title = "Too few tokens a step for this network, though it is well";
    if (!has_network(run)) {
        return one_node(id, title);
    }
    Suspect suspect;
    suspect.id = id;
    suspect.title = title;
    suspect.share = {exposed_gradients(run, run.node_bytes_per_s, run.tokens.high),
                     exposed_gradients(run, run.node_bytes_per_s, run.tokens.low)};
    suspect.is_known = run.tokens.is_exact();
    suspect.arithmetic = fmt::format(
        "gradients at {} a node beyond the two thirds of compute that hide them, {:.0f} to {:.0f} "
        "tokens a step of a replica",
        gb_per_s(run.node_bytes_per_s), run.tokens.low, run.tokens.high);
    suspect.source = "6 bytes a parameter against 6 FLOPs a token; GB/s of a NIC by the catalogue";
    suspect.look = {"nsys profile -t cuda,nvtx -y 60 -d 30 -o step ...",
                    "nsys stats -r cuda_gpu_kern_sum step.nsys-rep"};
    suspect.fix =
        "accumulate gradients over more micro-batches, or shard weights inside a node only "
        "(hybrid sharding)";
    return suspect;
}

Candidate tensor_across(const ChecklistQuestion& question, const RunSizes& run) {
    constexpr std::string_view id = "tp-across-nodes";
    constexpr std::string_view title = "Tensor parallelism crosses nodes";
    if (!has_network(run)) {
        return one_node(id, title);
    }
    if (question.tensor_parallel && *question.tensor_parallel < 2) {
        return RuledOut{id, title, "the run has no tensor parallelism"};
    }
    const double ways = question.tensor_parallel ? static_cast<double>(*question.tensor_parallel)
                                                 : run.gpus_per_node;
    if (!(ways > 1)) {
        return RuledOut{id, title, "nodes have one GPU"};
    }
    const double nic = run.node_bytes_per_s / run.gpus_per_node;
    const double inside =
        run.scale_up_bytes_per_s > 0 ? tensor_traffic(run, ways, run.scale_up_bytes_per_s) : 0;
    Suspect suspect;
    suspect.id = id;
    suspect.title = title;
    suspect.share = {0, std::max(0.0, tensor_traffic(run, ways, nic) - inside)};
    if (question.tensor_parallel && ways > run.gpus_per_node) {
        suspect.is_known = true;
        suspect.share.low = suspect.share.high;
    }
    suspect.arithmetic =
        fmt::format("all-reduces over {:.0f} GPUs, hidden {:.0f}, at {} a GPU instead of {}", ways,
                    run.hidden, gb_per_s(nic), gb_per_s(run.scale_up_bytes_per_s));
    suspect.source = "16 (t - 1) FLOP/s / (72 h bytes/s) (arXiv:1909.08053, arXiv:2104.04473)";
    suspect.look = {"srun -l bash -c 'echo $SLURM_PROCID $SLURM_NODEID'"};
    suspect.fix = fmt::format(
        "tensor parallel size at most {:.0f}, ranks in block order: "
        "srun --distribution=block",
        run.gpus_per_node);
    return suspect;
}

Candidate lost_peers(const ChecklistQuestion& question, const RunSizes& run) {
    constexpr std::string_view id = "p2p";
    constexpr std::string_view title = "GPUs of a node do not reach each other by NVLink";
    if (!(run.gpus_per_node > 1)) {
        return RuledOut{id, title, "nodes have one GPU"};
    }
    if (!(run.scale_up_bytes_per_s > run.pcie_bytes_per_s) || !(run.pcie_bytes_per_s > 0)) {
        return RuledOut{id, title, "the catalogue knows no link of these GPUs faster than PCIe"};
    }
    const double ways =
        question.tensor_parallel
            ? std::min(static_cast<double>(*question.tensor_parallel), run.gpus_per_node)
            : run.gpus_per_node;
    Suspect suspect;
    suspect.id = id;
    suspect.title = title;
    suspect.share = {0, tensor_traffic(run, ways, run.pcie_bytes_per_s) -
                            tensor_traffic(run, ways, run.scale_up_bytes_per_s)};
    suspect.arithmetic = fmt::format(
        "all-reduces of tensor parallelism over {:.0f} GPUs, hidden {:.0f}, at {} instead of {}",
        ways, run.hidden, gb_per_s(run.pcie_bytes_per_s), gb_per_s(run.scale_up_bytes_per_s));
    suspect.source = "16 (t - 1) FLOP/s / (72 h bytes/s) (arXiv:1909.08053); NVIDIA/nccl #1066";
    suspect.look = {"NCCL_DEBUG=INFO srun ... 2>&1 | grep -c 'via SHM'", "nvidia-smi nvlink -s",
                    "srun -N1 -n8 all_reduce_perf -b 8M -e 8G -f 2 -g 1"};
    suspect.fix =
        "ask for GPUs by node, --gpus-per-node=N --gpu-bind=none, not --gpus-per-task: "
        "every rank must see all GPUs of its node";
    return suspect;
}

Candidate bubble(const ChecklistQuestion& question, const RunSizes& run) {
    constexpr std::string_view id = "bubble";
    constexpr std::string_view title = "The pipeline is idle between micro-batches";
    if (question.pipeline_parallel ? *question.pipeline_parallel < 2 : run.nodes < 2) {
        return RuledOut{
            id, title,
            question.pipeline_parallel ? "the run has no pipeline" : "one node needs no pipeline"};
    }
    constexpr double deepest = 16;
    constexpr double chunks = 4;
    const double stages = question.pipeline_parallel
                              ? static_cast<double>(*question.pipeline_parallel)
                              : std::min(deepest, run.nodes);
    const double microbatches =
        question.microbatches ? static_cast<double>(*question.microbatches) : stages;
    Suspect suspect;
    suspect.id = id;
    suspect.title = title;
    suspect.share.high =
        pipeline_bubble(stages, microbatches, 1) - pipeline_bubble(stages, microbatches, chunks);
    const bool known = question.pipeline_parallel && question.microbatches;
    suspect.is_known = known;
    suspect.share.low = known ? suspect.share.high : 0;
    suspect.arithmetic = fmt::format(
        "(p - 1) / (m + p - 1) with {}{:.0f} stages and {:.0f} micro-batches, less what 4 chunks a "
        "stage leave",
        known ? "" : "up to ", stages, microbatches);
    suspect.source = "arXiv:2104.04473; 16 stages as Llama 3 405B (arXiv:2407.21783)";
    suspect.look = {"railhead diagnose train.log"};
    suspect.fix =
        "more micro-batches (four times the stages), interleaved stages "
        "(--num-layers-per-virtual-pipeline-stage), fewer stages";
    return suspect;
}

Candidate recomputation(const ChecklistQuestion& question, const RunSizes& run) {
    constexpr std::string_view id = "recompute";
    constexpr std::string_view title = "Activations are computed again in the backward pass";
    if (question.recompute == Recompute::none) {
        return RuledOut{id, title, "nothing is recomputed"};
    }
    constexpr double full_measured = 0.39;
    constexpr double full_flops = 1.0 / 3;
    constexpr double selective = 0.04;
    Suspect suspect;
    suspect.id = id;
    suspect.title = title;
    // Of full, what selective leaves is not given back.
    suspect.share = {0, run.compute * (full_measured - selective)};
    if (question.recompute == Recompute::full) {
        suspect.is_known = true;
        suspect.share.low = run.compute * (full_flops - selective);
    } else if (question.recompute == Recompute::selective) {
        suspect.share = {0, run.compute * selective};
    }
    suspect.arithmetic = fmt::format(
        "full +33 % FLOPs, +39 % time as measured; selective +4 %; of "
        "the {} of the step that compute needs",
        percent(run.compute));
    suspect.source = "Korthikanti and others 2022 (arXiv:2205.05198), 22B layer";
    suspect.look = {"grep -i -e recompute -e checkpoint_activations train.log"};
    suspect.fix =
        "selective recomputation with sequence parallelism and flash attention; shard the "
        "optimizer for the memory";
    return suspect;
}

/// Steps of MegaScale's ablation: MFU before and after, on 256 GPUs with a model of 175B.
struct Ablation {
    std::string_view id, title;
    double before = 0, after = 0;
    double after_on_one_node = 0;  ///< without what only a network gains
    std::string_view look, fix;
};

constexpr std::array ablations{
    Ablation{"overlap", "Communication is not hidden behind compute", 53.3, 59.5, 55.5,
             "nsys profile -t cuda,nvtx ...: NCCL kernels with no GEMM beside them",
             "--overlap-grad-reduce --overlap-param-gather --tp-comm-overlap (Megatron); prefetch "
             "of FSDP"},
    Ablation{"operators", "Kernels are not fused", 59.5, 61.2, 61.2,
             "nsys stats -r cuda_gpu_kern_sum: many short kernels",
             "flash attention, fused norm, softmax, rope and optimizer; torch.compile"},
    Ablation{"host", "The host is late with launches (garbage collection, CPU binding)", 61.2, 62.3,
             62.3, "srun -l grep Cpus_allowed_list /proc/self/status",
             "bind tasks to the CPUs of their GPU (the plugin does); gc.freeze(), collect every "
             "1000 steps on all ranks together"},
    Ablation{"batch", "The global batch is small", 62.3, 65.3, 65.3,
             "railhead mfu LOG: batch, sequences",
             "a larger batch where the loss allows it (LAMB at three times the batch)"},
};

Candidate ablated(const Ablation& step, const RunSizes& run) {
    const auto after = has_network(run) ? step.after : step.after_on_one_node;
    Suspect suspect;
    suspect.id = step.id;
    suspect.title = step.title;
    suspect.share = {0, 1 - step.before / after};
    suspect.arithmetic = fmt::format(
        "up to 1 - {:.1f} / {:.1f}: MFU before and after, 175B on 256 GPUs", step.before, after);
    suspect.source = "MegaScale (arXiv:2402.15627), table 3";
    suspect.look = {std::string{step.look}};
    suspect.fix = step.fix;
    return suspect;
}

Candidate straggler(const ChecklistQuestion& /*question*/, const RunSizes& run) {
    constexpr double slow_nodes = 0.005;
    constexpr double slower = 0.10;
    const double share = 1 - 1 / (1 + slower);
    const double chance = 1 - std::pow(1 - slow_nodes, run.nodes);
    Suspect suspect;
    suspect.id = "straggler";
    suspect.title = "One GPU or node is slow and all wait for it";
    suspect.share = {0, share};
    suspect.expected = share * chance;
    suspect.arithmetic =
        fmt::format("0.5 % of machines are 10 % slower: {} of jobs of {:.0f} nodes have one",
                    percent(chance), run.nodes);
    suspect.source = "MegaScale (arXiv:2402.15627), section 6.3";
    suspect.look = {"dcgmi dmon -e 100,140,150,155,203,204", "nvidia-smi -q -d PERFORMANCE",
                    "dcgmi diag -r 3"};
    suspect.fix =
        "run a GEMM on each GPU apart, drain the slow one "
        "(scontrol update nodename=N state=drain reason=...), requeue";
    return suspect;
}

Candidate loader(const ChecklistQuestion& /*question*/, const RunSizes& /*run*/) {
    constexpr double most = 0.5;
    constexpr double of_text = 0.1;
    Suspect suspect;
    suspect.id = "loader";
    suspect.title = "GPUs wait for samples";
    suspect.share = {0, most};
    suspect.expected = most * of_text;
    suspect.arithmetic =
        "half of the time or more with images and audio; a tenth of that is "
        "expected where text is trained on (our judgement: 4 bytes a token)";
    suspect.source = "Mohan and others 2021 (arXiv:2007.06775)";
    suspect.look = {"a run of 50 steps on made-up samples: is a step as long?",
                    "nsys profile -t cuda,nvtx,osrt: gaps at the start of steps"};
    suspect.fix = "more loader workers (CPUs of the task), prefetch, packed shards on local disks";
    return suspect;
}

Candidate checkpoints(const ChecklistQuestion& /*question*/, const RunSizes& run) {
    constexpr double slow_s = 148.8;
    const auto nodes = static_cast<std::uint64_t>(run.nodes);
    Suspect suspect;
    suspect.id = "checkpoint";
    suspect.title = "Training stops while checkpoints are written";
    suspect.share = {0, checkpoint_stall(slow_s, nodes)};
    suspect.arithmetic = fmt::format(
        "sqrt(w / (2 MTBF)) with w up to 148.8 s on {} nodes at the usual failure rate", nodes);
    suspect.source = "PyTorch DCP: 148.8 s blocking, 6.3 s asynchronous; rate by railhead ckpt";
    suspect.look = {"railhead mfu LOG: steps right after a checkpoint", "railhead ckpt --help"};
    suspect.fix =
        "asynchronous checkpoints, sharded over all ranks, at the interval that railhead "
        "ckpt gives";
    return suspect;
}

}  // namespace

std::vector<Candidate> all_suspects(const ChecklistQuestion& question, const RunSizes& run) {
    using Maker = Candidate (*)(const ChecklistQuestion&, const RunSizes&);
    std::vector<Candidate> all;
    const auto make = [&](std::initializer_list<Maker> makers) {
        for (const auto maker : makers) {
            all.push_back(maker(question, run));
        }
    };
    for (const auto& fault : network_faults) {
        all.push_back(slower(fault, run));
    }
    make({thin_network, tensor_across, lost_peers, bubble, recomputation});
    for (const auto& step : ablations) {
        all.push_back(ablated(step, run));
    }
    make({straggler, loader, checkpoints});
    return all;
}

}  // namespace railhead::diagnose
