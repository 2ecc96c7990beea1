#include "job_desc.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "checkpoint/variables.hpp"
#include "job/gpu_request.hpp"

namespace railhead::job_submit {

namespace {

std::string_view view(const char* text) {
    return text != nullptr ? std::string_view{text} : std::string_view{};
}

/// Slurm's "not set" is the highest values of each width: NO_VAL and, in places, INFINITE.
std::optional<std::uint32_t> set32(std::uint32_t value) {
    return value == NO_VAL || value == INFINITE ? std::nullopt : std::optional{value};
}

std::optional<std::uint32_t> set16(std::uint16_t value) {
    return value == NO_VAL16 || value == INFINITE16 || value == 0
               ? std::nullopt
               : std::optional{std::uint32_t{value}};
}

/// "gres:gpu:4" and the like in cpus_per_tres and mem_per_tres: the number a GPU.
template <class T>
std::optional<T> per_gpu(const char* tres) {
    if (tres == nullptr) {
        return std::nullopt;
    }
    const auto gpus = job::parse_gpus(tres);
    if (!gpus || gpus->parts.empty() || gpus->total() > std::numeric_limits<T>::max()) {
        return std::nullopt;
    }
    return static_cast<T>(gpus->total());
}

void read_memory(const job_desc_msg_t& desc, job::JobRequest& request) {
    if (desc.pn_min_memory == NO_VAL64) {
        return;
    }
    if ((desc.pn_min_memory & MEM_PER_CPU) != 0) {
        request.mem_per_cpu_mb = desc.pn_min_memory & ~MEM_PER_CPU;
    } else {
        request.mem_per_node_mb = desc.pn_min_memory;
    }
}

job::Sharing sharing_of(std::uint16_t shared) {
    switch (shared) {
        case NO_VAL16: return job::Sharing::unset;
        case 0: return job::Sharing::exclusive;
        case 1: return job::Sharing::shared;
        default: return job::Sharing::other;
    }
}

std::span<const char* const> variables_in(char* const* variables, std::uint32_t count) {
    return {variables, variables != nullptr ? count : 0};
}

/// What was said to Railhead by an option, or by a variable that our SPANK plugin copied.  Both reach
/// slurmctld in spank_job_env, from sbatch, srun and salloc.
std::optional<std::string_view> find_sent(const job_desc_msg_t& desc, std::string_view option,
                                          std::string_view variable) {
    const auto sent = variables_in(desc.spank_job_env, desc.spank_job_env_size);
    auto found = job::find_variable(sent, option);
    return found ? found : job::find_variable(sent, variable);
}

std::optional<std::string_view> find_in_batch(const job_desc_msg_t& desc, std::string_view variable) {
    return job::find_variable(variables_in(desc.environment, desc.env_size), variable);
}

/// Likewise; the batch environment has the variable too, also where that plugin is not installed.
std::optional<std::string_view> find_word(const job_desc_msg_t& desc, std::string_view option,
                                          std::string_view variable) {
    auto found = find_sent(desc, option, variable);
    return found ? found : find_in_batch(desc, variable);
}

bool is_off(std::string_view word) {
    for (const auto* off : {"off", "0", "no", "false"}) {
        if (equals_ignoring_case(word, off)) {
            return true;
        }
    }
    return false;
}

void read_words(const job_desc_msg_t& desc, job::JobRequest& request) {
    const auto off = find_word(desc, "_SLURM_SPANK_OPTION_railhead_railhead", "RAILHEAD");
    request.off = off && is_off(*off);
    if (const auto group =
            find_word(desc, "_SLURM_SPANK_OPTION_railhead_mp_group", "RAILHEAD_MP_GROUP")) {
        request.model_parallel_group = parse_number<std::uint32_t>(*group);
    }
}

/// An interval in the batch environment may be ours: that of the job from within which this one was
/// submitted.  RAILHEAD_CKPT_FROM tells.  What was sent along is the user's.
void read_checkpoint_words(const job_desc_msg_t& desc, job::JobRequest& request) {
    namespace variable = checkpoint::variable;
    auto& words = request.checkpoint;
    const auto source = find_word(desc, variable::source, variable::source).value_or("");
    words.history = source == "history";
    auto interval =
        find_sent(desc, "_SLURM_SPANK_OPTION_railhead_ckpt_interval", variable::interval);
    if (!interval && (source.empty() || source == "user")) {
        interval = find_in_batch(desc, variable::interval);
    }
    words.interval = interval.value_or("");
    words.signal =
        find_word(desc, "_SLURM_SPANK_OPTION_railhead_ckpt_signal", variable::signal).value_or("");
    words.cost = find_word(desc, variable::cost, variable::cost).value_or("");
    words.step = find_word(desc, variable::step, variable::step).value_or("");
}

void read_end(const job_desc_msg_t& desc, job::JobRequest& request) {
    request.signal = desc.warn_signal != 0;
    if (desc.requeue != NO_VAL16) {
        request.requeue = desc.requeue != 0;
    }
    request.open_mode = desc.open_mode != 0;
    request.least_time_limit_min = desc.time_min == 0 ? std::nullopt : set32(desc.time_min);
    // Of a heterogeneous batch job the first component has the script, and each the environment.
    request.batch = desc.script != nullptr || (request.component && desc.env_size > 0);
    if (request.batch) {
        request.script = view(desc.script);
        request.environment = variables_in(desc.environment, desc.env_size);
        read_checkpoint_words(desc, request);
    }
}

void read_shape(const job_desc_msg_t& desc, job::JobRequest& request) {
    request.min_nodes = set32(desc.min_nodes);
    request.max_nodes = set32(desc.max_nodes);
    request.tasks = set32(desc.num_tasks);
    request.tasks_per_node = set16(desc.ntasks_per_node);
    request.tasks_per_gpu = set16(desc.ntasks_per_tres);
    request.tasks_per_socket = set16(desc.ntasks_per_socket);
    request.tasks_per_core = set16(desc.ntasks_per_core);
    request.cpus_per_task = set16(desc.cpus_per_task);
    request.cpus_per_gpu = per_gpu<std::uint32_t>(desc.cpus_per_tres);
    request.min_cpus = set32(desc.min_cpus);
    // Without --mincpus sbatch repeats -c here.
    request.min_cpus_per_node = set16(desc.pn_min_cpus);
    request.sockets_per_node = set16(desc.sockets_per_node);
    request.cores_per_socket = set16(desc.cores_per_socket);
    request.threads_per_core = set16(desc.threads_per_core);
    request.core_spec = set16(desc.core_spec);
    request.mem_per_gpu_mb = per_gpu<std::uint64_t>(desc.mem_per_tres);
    request.tmp_disk_mb = desc.pn_min_tmp_disk == 0 ? std::nullopt : set32(desc.pn_min_tmp_disk);
    request.sharing = sharing_of(desc.shared);
    request.contiguous = desc.contiguous == 1;
    request.overcommit = desc.overcommit == 1;
    request.spread = (desc.bitflags & SPREAD_JOB) != 0;
    request.use_min_nodes = (desc.bitflags & USE_MIN_NODES) != 0;
    read_memory(desc, request);
}

}  // namespace

job::JobRequest request_from(const job_desc_msg_t& desc) {
    job::JobRequest request;
    request.partition = view(desc.partition);
    request.account = view(desc.account);
    request.qos = view(desc.qos);
    request.reservation = view(desc.reservation);
    request.constraint = view(desc.features);
    request.prefer = view(desc.prefer);
    request.node_list = view(desc.req_nodes);
    request.exclude = view(desc.exc_nodes);
    read_shape(desc, request);
    request.gpus_per_job = view(desc.tres_per_job);
    request.gpus_per_node = view(desc.tres_per_node);
    request.gpus_per_socket = view(desc.tres_per_socket);
    request.gpus_per_task = view(desc.tres_per_task);
    request.gpu_bind = view(desc.tres_bind);
    if (desc.time_limit != NO_VAL) {
        request.time_limit_min = desc.time_limit == INFINITE ? job::unlimited : desc.time_limit;
    }
    request.submitted_s = std::time(nullptr);
    request.switches = desc.req_switch == 0 ? std::nullopt : set32(desc.req_switch);
    request.switch_wait_s = set32(desc.wait4switch);
#if RAILHEAD_HAVE_SEGMENT_SIZE
    request.segment = set16(desc.segment_size);
#endif
    request.array = desc.array_inx != nullptr;
    request.heterogeneous = desc.het_job_offset != NO_VAL;
    request.component = request.heterogeneous && desc.het_job_offset != 0;
    read_end(desc, request);
    read_words(desc, request);
    return request;
}

namespace {

/// Puts a text of ours into a field that slurmctld frees; the old one goes when the new one is there.
void replace(char*& field, const std::optional<std::string>& text) {
    char* copy = text ? slurm_xstrdup(text->c_str()) : nullptr;
    if (copy != nullptr) {
        void* old = std::exchange(field, copy);
        slurm_xfree(&old);
    }
}

/// The array grows as slurmctld's own functions let it: they are the ones that free it.
void add_variables(const std::vector<policy::Variable>& variables, job_desc_msg_t& desc) {
    if (variables.empty()) {
        return;  // most jobs: their array is not looked at
    }
    const auto present = variables_in(desc.environment, desc.env_size);
    const auto is_null = [](const char* entry) { return entry == nullptr; };
    if (desc.environment == nullptr || std::ranges::any_of(present, is_null)) {
        return;  // slurmctld makes no such array
    }
    for (const auto& variable : variables) {
        slurm_env_array_overwrite(&desc.environment, variable.name, variable.value.c_str());
    }
    while (desc.environment[desc.env_size] != nullptr) {
        ++desc.env_size;
    }
}

/// A --time-min above a lowered limit would have the job refused.
void lower_time(std::uint32_t limit_min, job_desc_msg_t& desc) {
    desc.time_limit = limit_min;
    if (desc.time_min != NO_VAL && desc.time_min > limit_min) {
        desc.time_min = limit_min;
    }
}

}  // namespace

void write_changes(const policy::Changes& changes, job_desc_msg_t& desc) {
    desc.min_nodes = changes.min_nodes.value_or(desc.min_nodes);
    desc.max_nodes = changes.max_nodes.value_or(desc.max_nodes);
    if (changes.exclusive) {
        desc.shared = 0;
    }
    desc.num_tasks = changes.tasks.value_or(desc.num_tasks);
    if (changes.cpus_per_task && *changes.cpus_per_task < INFINITE16) {
        desc.cpus_per_task = static_cast<std::uint16_t>(*changes.cpus_per_task);
    }
    desc.req_switch = changes.switches.value_or(desc.req_switch);
    desc.wait4switch = changes.switch_wait_s.value_or(desc.wait4switch);
#if RAILHEAD_HAVE_SEGMENT_SIZE
    desc.segment_size = changes.segment.value_or(desc.segment_size);
#endif
    replace(desc.prefer, changes.prefer);
    replace(desc.exc_nodes, changes.exclude);
    if (changes.warning) {
        desc.warn_signal = changes.warning->signal;
        desc.warn_time = changes.warning->seconds;
        desc.warn_flags = changes.warning->batch ? KILL_JOB_BATCH : 0;
    }
    if (changes.requeue) {
        desc.requeue = 1;
    }
    if (changes.append) {
        desc.open_mode = OPEN_MODE_APPEND;
    }
    if (changes.time_limit_min) {
        lower_time(*changes.time_limit_min, desc);
    }
    add_variables(changes.environment, desc);
}

}  // namespace railhead::job_submit
