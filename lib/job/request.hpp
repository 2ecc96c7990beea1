// What a user asks for: one job as submitted, in plain values.
//
// job_submit/job_desc.cpp fills it from slurmctld's job_desc_msg_t, job/script.hpp from an sbatch
// script and its options.  Views point into the caller's text and live as long as it does: a
// review copies nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace railhead::job {

enum class Sharing : std::uint8_t {
    unset,      ///< the user said nothing: the partition decides
    exclusive,  ///< --exclusive: whole nodes
    shared,     ///< --oversubscribe
    other       ///< --exclusive=user, mcs or topo
};

constexpr std::uint32_t unlimited = 0xffffffff;  ///< a time limit of UNLIMITED

/// What a user says of checkpoints, as written; empty where nothing is said.  The values that an
/// outer job was told by us, and that came along with its environment, are none.
struct CheckpointWords {
    std::string_view interval;  ///< --ckpt-interval, RAILHEAD_CKPT_INTERVAL
    std::string_view signal;    ///< --ckpt-signal, RAILHEAD_CKPT_SIGNAL
    std::string_view cost;      ///< RAILHEAD_CKPT_COST
    std::string_view step;      ///< RAILHEAD_CKPT_STEP
    bool history = false;       ///< the cost was measured: it is that of the user's last jobs
};

struct JobRequest {
    // Where
    std::string_view partition;    ///< as written: may be a list "a,b"; empty is the default one
    std::string_view account;
    std::string_view qos;
    std::string_view reservation;
    std::string_view constraint;   ///< -C
    std::string_view prefer;       ///< --prefer
    std::string_view node_list;    ///< -w
    std::string_view exclude;      ///< -x

    // Shape
    std::optional<std::uint32_t> min_nodes;         ///< -N; also filled by -w
    std::optional<std::uint32_t> max_nodes;         ///< -N
    std::optional<std::uint32_t> tasks;             ///< -n
    std::optional<std::uint32_t> tasks_per_node;    ///< --ntasks-per-node
    std::optional<std::uint32_t> tasks_per_gpu;     ///< --ntasks-per-gpu
    std::optional<std::uint32_t> tasks_per_socket;  ///< --ntasks-per-socket
    std::optional<std::uint32_t> tasks_per_core;    ///< --ntasks-per-core
    std::optional<std::uint32_t> cpus_per_task;     ///< -c
    std::optional<std::uint32_t> cpus_per_gpu;      ///< --cpus-per-gpu
    std::optional<std::uint32_t> min_cpus;          ///< of the job, as sbatch counts them: -n times -c
    std::optional<std::uint32_t> min_cpus_per_node; ///< --mincpus
    std::optional<std::uint32_t> sockets_per_node;
    std::optional<std::uint32_t> cores_per_socket;
    std::optional<std::uint32_t> threads_per_core;
    std::optional<std::uint32_t> core_spec;         ///< -S, --thread-spec: cores kept for the system
    std::optional<std::uint64_t> mem_per_node_mb;   ///< --mem; 0 means all of the node
    std::optional<std::uint64_t> mem_per_cpu_mb;
    std::optional<std::uint64_t> mem_per_gpu_mb;
    std::optional<std::uint32_t> tmp_disk_mb;       ///< --tmp
    Sharing sharing = Sharing::unset;
    bool contiguous = false;
    bool overcommit = false;
    bool spread = false;                            ///< --spread-job
    bool use_min_nodes = false;                     ///< --use-min-nodes

    // GPUs, as Slurm's resource strings: see gpu_request.hpp
    std::string_view gpus_per_job;                  ///< -G, --gpus
    std::string_view gpus_per_node;                 ///< --gres, --gpus-per-node
    std::string_view gpus_per_socket;
    std::string_view gpus_per_task;
    std::string_view gpu_bind;                      ///< --gpu-bind, --tres-bind

    // Time and fabric
    std::optional<std::uint32_t> time_limit_min;    ///< minutes; `unlimited` for UNLIMITED
    std::optional<std::uint32_t> least_time_limit_min;  ///< --time-min
    std::optional<std::uint32_t> switches;          ///< --switches
    std::optional<std::uint32_t> switch_wait_s;     ///< --switches=N@t
    std::optional<std::uint32_t> segment;           ///< --segment

    std::int64_t submitted_s = 0;                   ///< since 1970, UTC; 0: not known

    // Kind
    bool batch = false;                             ///< sbatch's
    bool array = false;
    bool heterogeneous = false;                     ///< has components
    bool component = false;                         ///< part of a heterogeneous job, not its first

    // Its end, and what comes after
    bool signal = false;                            ///< --signal
    std::optional<bool> requeue;                    ///< --requeue, --no-requeue
    bool open_mode = false;                         ///< --open-mode
    std::string_view script;                        ///< of a batch job, in its first component
    std::span<const char* const> environment;       ///< NAME=VALUE, of a batch job; may have nulls

    // Said to Railhead (--railhead=off, --mp-group=N, or RAILHEAD and RAILHEAD_MP_GROUP)
    bool off = false;
    std::optional<std::uint32_t> model_parallel_group;  ///< nodes that must be near each other
    CheckpointWords checkpoint;
};

/// The value of `name` in an environment; nothing when it is not set.
[[nodiscard]] std::optional<std::string_view> find_variable(
    std::span<const char* const> environment, std::string_view name);

}  // namespace railhead::job
