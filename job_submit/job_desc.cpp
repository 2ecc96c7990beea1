#include "job_desc.hpp"

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
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

/// The value of `name` in an array of NAME=VALUE, or nothing.
std::optional<std::string_view> find_variable(char* const* variables, std::uint32_t count,
                                              std::string_view name) {
    for (std::uint32_t i = 0; variables != nullptr && i < count; ++i) {
        const auto entry = view(variables[i]);
        if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
            return entry.substr(name.size() + 1);
        }
    }
    return std::nullopt;
}

/// What was said to Railhead.  An option of sbatch, srun or salloc reaches slurmctld in
/// spank_job_env, and so does a variable that our SPANK plugin copies there; the batch
/// environment has the variable too, also where that plugin is not installed.
std::optional<std::string_view> find_word(const job_desc_msg_t& desc, std::string_view option,
                                          std::string_view variable) {
    if (const auto found =
            find_variable(desc.spank_job_env, desc.spank_job_env_size, option)) {
        return found;
    }
    if (const auto found =
            find_variable(desc.spank_job_env, desc.spank_job_env_size, variable)) {
        return found;
    }
    return find_variable(desc.environment, desc.env_size, variable);
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
    request.switches = desc.req_switch == 0 ? std::nullopt : set32(desc.req_switch);
    request.switch_wait_s = set32(desc.wait4switch);
#if RAILHEAD_HAVE_SEGMENT_SIZE
    request.segment = set16(desc.segment_size);
#endif
    request.batch = desc.script != nullptr;
    request.array = desc.array_inx != nullptr;
    request.component = desc.het_job_offset != NO_VAL && desc.het_job_offset != 0;
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
}

}  // namespace railhead::job_submit
