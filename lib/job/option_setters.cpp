#include "job/option_setters.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/option_values.hpp"
#include "job/units.hpp"

namespace railhead::job {

namespace {

/// Says false on a value that is not one; set_option() makes the message.
using Set = bool (*)(Draft&, std::string_view value);

template <auto Member>
bool set_text(Draft& draft, std::string_view value) {
    draft.request.*Member = value;
    return true;
}

template <auto Member>
bool set_draft_text(Draft& draft, std::string_view value) {
    draft.*Member = value;
    return true;
}

template <auto Member>
bool set_flag(Draft& draft, std::string_view /*value*/) {
    draft.request.*Member = true;
    return true;
}

/// A number from 1.
template <auto Member>
bool set_count(Draft& draft, std::string_view value) {
    const auto number = parse_int(value);
    if (!number || *number == 0) {
        return false;
    }
    draft.request.*Member = *number;
    return true;
}

bool set_tmp(Draft& draft, std::string_view value) {
    const auto size = parse_megabytes(value);
    if (size) {
        draft.request.tmp_disk_mb =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(*size, UINT32_MAX - 1));
    }
    return size.has_value();
}

template <auto Member>
bool set_memory(Draft& draft, std::string_view value) {
    draft.request.*Member = parse_megabytes(value);
    return (draft.request.*Member).has_value();
}

bool set_nodes(Draft& draft, std::string_view value) {
    const auto count = parse_node_count(value);
    if (!count) {
        return false;
    }
    draft.request.min_nodes = count->min;
    draft.request.max_nodes = count->max == 0 ? std::nullopt : std::optional{count->max};
    return true;
}

bool set_core_spec(Draft& draft, std::string_view value) {
    draft.request.core_spec = parse_int(value);
    return draft.request.core_spec.has_value();
}

bool set_time(Draft& draft, std::string_view value) {
    const auto minutes = parse_minutes(value);
    draft.request.time_limit_min = minutes == 0 ? unlimited : minutes;
    return minutes.has_value();
}

bool set_exclusive(Draft& draft, std::string_view value) {
    constexpr std::array whole{"", "exclusive", "allocation"};
    constexpr std::array partly{"user", "mcs", "topo"};
    const auto same = [value](std::string_view word) { return equals_ignoring_case(value, word); };
    if (std::ranges::any_of(whole, same)) {
        draft.request.sharing = Sharing::exclusive;
    } else if (std::ranges::any_of(partly, same)) {
        draft.request.sharing = Sharing::other;
    } else if (same("oversubscribe")) {
        draft.request.sharing = Sharing::shared;
    } else {
        return false;
    }
    return true;
}

bool set_oversubscribe(Draft& draft, std::string_view /*value*/) {
    draft.request.sharing = Sharing::shared;
    return true;
}

bool set_switch_wait(Draft& draft, std::string_view value) {
    const auto seconds = parse_seconds(value);
    draft.request.switch_wait_s.reset();
    if (seconds && *seconds < UINT32_MAX) {  // sbatch takes any text, and waits its default then
        draft.request.switch_wait_s = static_cast<std::uint32_t>(*seconds);
    }
    return true;
}

bool set_switches(Draft& draft, std::string_view value) {
    const auto at = value.find('@');
    if (at != std::string_view::npos) {
        set_switch_wait(draft, value.substr(at + 1));
    }
    return set_count<&JobRequest::switches>(draft, value.substr(0, at));
}

bool set_segment(Draft& draft, std::string_view value) {
    const auto size = parse_number<std::uint16_t>(value);
    if (!size || *size == UINT16_MAX - 1 || *size == UINT16_MAX) {
        return false;
    }
    draft.request.segment = *size == 0 ? std::nullopt : std::optional<std::uint32_t>{*size};
    return true;
}

bool set_node_info(Draft& draft, std::string_view value) {
    const auto info = parse_node_info(value);
    if (!info) {
        return false;
    }
    draft.request.sockets_per_node = info->sockets;
    draft.request.cores_per_socket = info->cores;
    draft.request.threads_per_core = info->threads;
    draft.extra_node_info = true;
    return true;
}

bool set_hint(Draft& draft, std::string_view value) {
    constexpr std::array known{"compute_bound", "memory_bound", "multithread", "nomultithread"};
    for (const auto word : split(value, ',')) {
        if (std::ranges::none_of(known, [&](auto k) { return equals_ignoring_case(word, k); })) {
            return false;
        }
    }
    draft.hint = value;
    return true;
}

bool set_array(Draft& draft, std::string_view value) {
    draft.request.array = !value.empty();
    return true;
}

template <bool IsGpu>
bool set_bind(Draft& draft, std::string_view value) {
    draft.tres_bind = value;
    draft.tres_bind_is_gpu = IsGpu;
    return true;
}

bool is_off(std::string_view value) {
    constexpr std::array off{"off", "0", "no", "false"};
    return std::ranges::any_of(
        off, [value](std::string_view word) { return equals_ignoring_case(value, word); });
}

bool is_on(std::string_view value) {
    constexpr std::array on{"on", "auto", "1", "yes", "true"};
    return std::ranges::any_of(
        on, [value](std::string_view word) { return equals_ignoring_case(value, word); });
}

bool set_railhead(Draft& draft, std::string_view value) {
    draft.request.off = is_off(value);
    return draft.request.off || is_on(value) || value.empty();
}

/// A switch of the launch, which no review depends on: a bad value is refused all the same.
bool check_switch(Draft& /*draft*/, std::string_view value) {
    return is_off(value) || is_on(value);
}

bool set_signal(Draft& draft, std::string_view value) {
    draft.request.signal = true;
    return is_signal_value(value);
}

template <bool Requeue>
bool set_requeue(Draft& draft, std::string_view /*value*/) {
    draft.request.requeue = Requeue;
    return true;
}

bool set_open_mode(Draft& draft, std::string_view value) {
    draft.request.open_mode = true;
    return value.starts_with('a') || value.starts_with('t');
}

bool set_least_time(Draft& draft, std::string_view value) {
    const auto minutes = parse_minutes(value);
    draft.request.least_time_limit_min = minutes == 0 ? std::nullopt : minutes;
    return minutes.has_value();
}

template <auto Member>
bool set_checkpoint(Draft& draft, std::string_view value) {
    draft.request.checkpoint.*Member = value;
    return true;
}

struct Setter {
    std::string_view name;
    Set set;
    std::string_view takes;  ///< for the message: what a value looks like
};

constexpr std::string_view a_count = "a number from 1";
constexpr std::string_view a_size = "a size like 64G";
constexpr std::string_view anything;

constexpr Setter setters[] = {
    {"account", &set_text<&JobRequest::account>, anything},
    {"array", &set_array, anything},
    {"ckpt-interval", &set_checkpoint<&CheckpointWords::interval>, anything},
    {"ckpt-signal", &set_checkpoint<&CheckpointWords::signal>, anything},
    {"constraint", &set_text<&JobRequest::constraint>, anything},
    {"contiguous", &set_flag<&JobRequest::contiguous>, anything},
    {"core-spec", &set_core_spec, "a number"},
    {"cores-per-socket", &set_count<&JobRequest::cores_per_socket>, a_count},
    {"cpus-per-gpu", &set_count<&JobRequest::cpus_per_gpu>, a_count},
    {"cpus-per-task", &set_count<&JobRequest::cpus_per_task>, a_count},
    {"exclude", &set_text<&JobRequest::exclude>, anything},
    {"exclusive", &set_exclusive, "user, mcs, topo or nothing"},
    {"extra-node-info", &set_node_info, "sockets[:cores[:threads]]"},
    {"gpu-affinity", &check_switch, "auto or off"},
    {"gpu-bind", &set_bind<true>, anything},
    {"gpus", &set_draft_text<&Draft::gpus>, anything},
    {"gpus-per-node", &set_draft_text<&Draft::gpus_per_node>, anything},
    {"gpus-per-socket", &set_draft_text<&Draft::gpus_per_socket>, anything},
    {"gpus-per-task", &set_draft_text<&Draft::gpus_per_task>, anything},
    {"gres", &set_draft_text<&Draft::gres>, anything},
    {"hint", &set_hint, "compute_bound, memory_bound, multithread or nomultithread"},
    {"mem", &set_memory<&JobRequest::mem_per_node_mb>, a_size},
    {"mem-per-cpu", &set_memory<&JobRequest::mem_per_cpu_mb>, a_size},
    {"mem-per-gpu", &set_memory<&JobRequest::mem_per_gpu_mb>, a_size},
    {"mincpus", &set_count<&JobRequest::min_cpus_per_node>, a_count},
    {"mp-group", &set_count<&JobRequest::model_parallel_group>, "a whole number from 1"},
    {"no-requeue", &set_requeue<false>, anything},
    {"nodefile", &set_text<&JobRequest::node_list>, anything},
    {"nodelist", &set_text<&JobRequest::node_list>, anything},
    {"nodes", &set_nodes, "a number or a range like 2-4"},
    {"ntasks", &set_count<&JobRequest::tasks>, a_count},
    {"ntasks-per-core", &set_count<&JobRequest::tasks_per_core>, a_count},
    {"ntasks-per-gpu", &set_count<&JobRequest::tasks_per_gpu>, a_count},
    {"ntasks-per-node", &set_count<&JobRequest::tasks_per_node>, a_count},
    {"ntasks-per-socket", &set_count<&JobRequest::tasks_per_socket>, a_count},
    {"ntasks-per-tres", &set_count<&JobRequest::tasks_per_gpu>, a_count},
    {"open-mode", &set_open_mode, "append or truncate"},
    {"overcommit", &set_flag<&JobRequest::overcommit>, anything},
    {"oversubscribe", &set_oversubscribe, anything},
    {"partition", &set_text<&JobRequest::partition>, anything},
    {"prefer", &set_text<&JobRequest::prefer>, anything},
    {"qos", &set_text<&JobRequest::qos>, anything},
    {"rail", &check_switch, "auto or off"},
    {"railhead", &set_railhead, "on or off"},
    {"req-switch", &set_count<&JobRequest::switches>, a_count},
    {"requeue", &set_requeue<true>, anything},
    {"reservation", &set_text<&JobRequest::reservation>, anything},
    {"segment", &set_segment, "a number of nodes"},
    {"signal", &set_signal, "a signal like USR1, B: in front, and @ with seconds behind"},
    {"sockets-per-node", &set_count<&JobRequest::sockets_per_node>, a_count},
    {"spread-job", &set_flag<&JobRequest::spread>, anything},
    {"switches", &set_switches, "a number from 1, and @ with a time"},
    {"thread-spec", &set_count<&JobRequest::core_spec>, a_count},
    {"threads-per-core", &set_count<&JobRequest::threads_per_core>, a_count},
    {"time", &set_time, "a time like 90, 1:30:00 or 2-12"},
    {"time-min", &set_least_time, "a time like 90, 1:30:00 or 2-12"},
    {"tmp", &set_tmp, a_size},
    {"tres-bind", &set_bind<false>, anything},
    {"tres-per-task", &set_draft_text<&Draft::tres_per_task>, anything},
    {"use-min-nodes", &set_flag<&JobRequest::use_min_nodes>, anything},
    {"wait4switch", &set_switch_wait, anything},
};

}  // namespace

Result<> set_option(Draft& draft, std::string_view name, std::string_view value) {
    const auto setter = std::ranges::find(setters, name, &Setter::name);
    if (setter == std::end(setters) || setter->set(draft, value)) {
        return {};
    }
    constexpr std::size_t shown = 60;
    return fail(Errc::bad_input, fmt::format("--{}={}: takes {}", name,
                                             printable(value.substr(0, shown)), setter->takes));
}

}  // namespace railhead::job
