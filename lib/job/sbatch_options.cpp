#include "job/sbatch_options.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace railhead::job {

namespace {

constexpr auto none = Argument::none;
constexpr auto required = Argument::required;
constexpr auto optional = Argument::optional;

/// Where the releases differ in what an option takes ("get-user-env", "requeue"), the widest.
constexpr SbatchOption options[] = {
    {"account", required, 'A', true},
    {"acctg-freq", required, 0, true},
    {"array", required, 'a', true},
    {"autocomplete", required, 0, true, 2302},
    {"batch", required, 0, true},
    {"bb", required},
    {"bbf", required, 0, true},
    {"begin", required, 'b', true},
    {"chdir", required, 'D', true},
    {"cluster", required, 0, true},
    {"cluster-constraint", required, 0, true},
    {"clusters", required, 'M', true},
    {"comment", required, 0, true},
    {"consolidate-segments", none, 0, false, 2511},
    {"constraint", required, 'C'},
    {"container", required, 0, true},
    {"container-id", required, 0, true, 2302},
    {"container-type", required, 0, true, 2605},
    {"context", required, 0, true},
    {"contiguous", none},
    {"core-spec", required, 'S'},
    {"cores-per-socket", required},
    {"cpu-freq", required},
    {"cpus-per-gpu", required},
    {"cpus-per-task", required, 'c'},
    {"deadline", required, 0, true},
    {"delay-boot", required, 0, true},
    {"dependency", required, 'd', true},
    {"distribution", required, 'm'},
    {"error", required, 'e', true},
    {"exclude", required, 'x', true},
    {"exclusive", optional},
    {"export", required, 0, true},
    {"export-file", required, 0, true},
    {"external", none, 0, false, 2505},
    {"extra", required, 0, true, 2302},
    {"extra-node-info", required, 'B'},
    {"get-user-env", optional, 0, true},
    {"gid", required, 0, true},
    {"gpu-bind", required},
    {"gpu-freq", required},
    {"gpus", required, 'G'},
    {"gpus-per-node", required},
    {"gpus-per-socket", required},
    {"gpus-per-task", required},
    {"gres", required},
    {"gres-flags", required},
    {"help", none, 'h', true},
    {"hint", required},
    {"hold", none, 'H', true},
    {"ignore-pbs", none, 0, true},
    {"input", required, 'i', true},
    {"job-name", required, 'J', true},
    {"kill-on-invalid-dep", required, 0, true},
    {"licenses", required, 'L'},
    {"mail-type", required},
    {"mail-user", required},
    {"mcs-label", required, 0, true},
    {"mem", required, 0, true},
    {"mem-bind", required},
    {"mem-per-cpu", required},
    {"mem-per-gpu", required},
    {"mem-update", required, 0, true, 2605},
    {"mincpus", required},
    {"network", required},
    {"nice", optional, 0, true},
    {"no-kill", optional, 'k', true},
    {"no-requeue", none, 0, true},
    {"nodefile", required, 'F'},
    {"nodelist", required, 'w'},
    {"nodes", required, 'N'},
    {"ntasks", required, 'n'},
    {"ntasks-per-core", required},
    {"ntasks-per-gpu", required},
    {"ntasks-per-node", required},
    {"ntasks-per-socket", required},
    {"ntasks-per-tres", required},
    {"oom-kill-step", optional, 0, true, 2411},
    {"open-mode", required, 0, true},
    {"output", required, 'o', true},
    {"overcommit", none, 'O'},
    {"oversubscribe", none, 's'},
    {"parsable", none, 0, true},
    {"partition", required, 'p'},
    {"power", required},
    {"prefer", required, 0, true},
    {"priority", required, 0, true},
    {"profile", required, 0, true},
    {"propagate", optional, 0, true},
    {"qos", required, 'q', true},
    {"quiet", none, 'Q', true},
    {"reboot", none, 0, true},
    {"requeue", optional, 0, true},
    {"reservation", required, 0, true},
    {"resources", required, 0, false, 2511},
    {"resv-ports", optional, 0, false, 2405},
    {"segment", required, 0, false, 2405},
    {"signal", required, 0, true},
    {"sockets-per-node", required},
    {"spread-job", none},
    {"spread-segments", none, 0, false, 2511},
    {"stepmgr", none, 0, true, 2405},
    {"switches", required},
    {"tasks-per-node", required},
    {"test-only", none, 0, true},
    {"thread-spec", required},
    {"threads-per-core", required},
    {"time", required, 't', true},
    {"time-min", required, 0, true},
    {"tmp", required},
    {"tres-bind", required, 0, false, 2311},
    {"tres-per-task", required, 0, false, 2302},
    {"uid", required, 0, true},
    {"usage", none, 0, true},
    {"use-min-nodes", none},
    {"verbose", none, 'v', true},
    {"version", none, 'V', true},
    {"wait", none, 'W', true},
    {"wait-all-nodes", required, 0, true},
    {"wckey", required, 0, true},
    {"wrap", required, 0, true},
};

/// Options of SPANK plugins.  sbatch refuses them where the plugin is not installed.
constexpr SbatchOption spank_options[] = {
    // Railhead
    {"railhead", required, 0, true, from_plugin},
    {"rail", required, 0, true, from_plugin},
    {"gpu-affinity", required, 0, true, from_plugin},
    {"mp-group", required, 0, true, from_plugin},
    {"ckpt-interval", required, 0, true, from_plugin},
    {"ckpt-signal", required, 0, true, from_plugin},
    {"ckpt-dir", required, 0, true, from_plugin},
    // NVIDIA pyxis
    {"container-image", required, 0, true, from_plugin},
    {"container-mounts", required, 0, true, from_plugin},
    {"container-workdir", required, 0, true, from_plugin},
    {"container-name", required, 0, true, from_plugin},
    {"container-save", required, 0, true, from_plugin},
    {"container-mount-home", none, 0, true, from_plugin},
    {"no-container-mount-home", none, 0, true, from_plugin},
    {"container-remap-root", none, 0, true, from_plugin},
    {"no-container-remap-root", none, 0, true, from_plugin},
    {"container-entrypoint", none, 0, true, from_plugin},
    {"no-container-entrypoint", none, 0, true, from_plugin},
    {"container-entrypoint-log", none, 0, true, from_plugin},
    {"container-writable", none, 0, true, from_plugin},
    {"container-readonly", none, 0, true, from_plugin},
    {"container-env", required, 0, true, from_plugin},
    // CSCS container engine and uenv
    {"environment", required, 0, true, from_plugin},
    {"uenv", required, 0, true, from_plugin},
    {"view", required, 0, true, from_plugin},
    {"repo", required, 0, true, from_plugin},
    // LLNL mpibind, auks
    {"mpibind", optional, 0, true, from_plugin},
    {"auks", required, 0, true, from_plugin},
};

/// "req-switch" and "wait4switch" are no options: each variable sets one half of --switches.
constexpr SbatchVariable variables[] = {
    {"SBATCH_ACCOUNT", "account"},
    {"SBATCH_ARRAY_INX", "array"},
    {"SBATCH_ACCTG_FREQ", "acctg-freq"},
    {"SBATCH_BATCH", "batch"},
    {"SBATCH_BURST_BUFFER", "bb"},
    {"SBATCH_CLUSTER_CONSTRAINT", "cluster-constraint"},
    {"SBATCH_CLUSTERS", "clusters"},
    {"SLURM_CLUSTERS", "clusters"},
    {"SBATCH_CONSOLIDATE_SEGMENTS", "consolidate-segments"},
    {"SBATCH_CONTAINER", "container"},
    {"SBATCH_CONTAINER_ID", "container-id"},
    {"SBATCH_CONTAINER_TYPE", "container-type"},
    {"SBATCH_CONSTRAINT", "constraint"},
    {"SBATCH_CORE_SPEC", "core-spec"},
    {"SBATCH_CPU_FREQ_REQ", "cpu-freq"},
    {"SBATCH_CPUS_PER_GPU", "cpus-per-gpu"},
    {"SBATCH_DEBUG", "verbose"},
    {"SBATCH_DELAY_BOOT", "delay-boot"},
    {"SBATCH_DISTRIBUTION", "distribution"},
    {"SBATCH_EXCLUSIVE", "exclusive"},
    {"SBATCH_EXPORT", "export"},
    {"SBATCH_GET_USER_ENV", "get-user-env"},
    {"SBATCH_GRES", "gres"},
    {"SBATCH_GRES_FLAGS", "gres-flags"},
    {"SBATCH_GPUS", "gpus"},
    {"SBATCH_GPU_BIND", "gpu-bind"},
    {"SBATCH_GPU_FREQ", "gpu-freq"},
    {"SBATCH_GPUS_PER_NODE", "gpus-per-node"},
    {"SBATCH_GPUS_PER_SOCKET", "gpus-per-socket"},
    {"SBATCH_GPUS_PER_TASK", "gpus-per-task"},
    {"SLURM_HINT", "hint"},
    {"SBATCH_HINT", "hint"},
    {"SBATCH_JOB_NAME", "job-name"},
    {"SBATCH_MEM_BIND", "mem-bind"},
    {"SBATCH_MEM_PER_CPU", "mem-per-cpu"},
    {"SBATCH_MEM_PER_GPU", "mem-per-gpu"},
    {"SBATCH_MEM_PER_NODE", "mem"},
    {"SBATCH_NETWORK", "network"},
    {"SBATCH_NO_KILL", "no-kill"},
    {"SBATCH_NO_REQUEUE", "no-requeue"},
    {"SBATCH_OPEN_MODE", "open-mode"},
    {"SBATCH_OVERCOMMIT", "overcommit"},
    {"SBATCH_PARTITION", "partition"},
    {"SBATCH_POWER", "power"},
    {"SBATCH_PROFILE", "profile"},
    {"SBATCH_QOS", "qos"},
    {"SBATCH_REQ_SWITCH", "req-switch"},
    {"SBATCH_REQUEUE", "requeue"},
    {"SBATCH_RESERVATION", "reservation"},
    {"SBATCH_SEGMENT_SIZE", "segment"},
    {"SBATCH_SIGNAL", "signal"},
    {"SBATCH_SPREAD_JOB", "spread-job"},
    {"SBATCH_SPREAD_SEGMENTS", "spread-segments"},
    {"SBATCH_THREAD_SPEC", "thread-spec"},
    {"SBATCH_THREADS_PER_CORE", "threads-per-core"},
    {"SBATCH_TIMELIMIT", "time"},
    {"SBATCH_TRES_BIND", "tres-bind"},
    {"SBATCH_TRES_PER_TASK", "tres-per-task"},
    {"SBATCH_USE_MIN_NODES", "use-min-nodes"},
    {"SBATCH_WAIT", "wait"},
    {"SBATCH_WAIT_ALL_NODES", "wait-all-nodes"},
    {"SBATCH_WAIT4SWITCH", "wait4switch"},
    {"SBATCH_WCKEY", "wckey"},
    {"SBATCH_ERROR", "error"},
    {"SBATCH_INPUT", "input"},
    {"SBATCH_OUTPUT", "output"},
    {"RAILHEAD", "railhead"},
    {"RAILHEAD_RAIL", "rail"},
    {"RAILHEAD_GPU_AFFINITY", "gpu-affinity"},
    {"RAILHEAD_MP_GROUP", "mp-group"},
    {"RAILHEAD_CKPT_INTERVAL", "ckpt-interval"},
    {"RAILHEAD_CKPT_SIGNAL", "ckpt-signal"},
    {"RAILHEAD_CKPT_DIR", "ckpt-dir"},
};

template <class Visit>
void for_each_option(Visit&& visit) {
    std::ranges::for_each(options, visit);
    std::ranges::for_each(spank_options, visit);
}

}  // namespace

std::span<const SbatchVariable> sbatch_variables() {
    return variables;
}

const SbatchOption* find_option(std::string_view name) {
    const SbatchOption* found = nullptr;
    for_each_option([&](const SbatchOption& o) { found = o.name == name ? &o : found; });
    return found;
}

const SbatchOption* find_option(char letter) {
    const auto found = std::ranges::find(options, letter, &SbatchOption::letter);
    return letter == 0 || found == std::end(options) ? nullptr : found;
}

std::vector<const SbatchOption*> complete_option(std::string_view prefix) {
    std::vector<const SbatchOption*> matches;
    for_each_option([&](const SbatchOption& o) {
        if (o.name.starts_with(prefix)) {
            matches.push_back(&o);
        }
    });
    return matches;
}

std::string_view suggest_option(std::string_view name) {
    constexpr std::size_t longest = 40;  // no option is longer, and the search is quadratic
    std::vector<std::string_view> names;
    for_each_option([&](const SbatchOption& o) { names.push_back(o.name); });
    return nearest_name(name.substr(0, longest), names).value_or("");
}

}  // namespace railhead::job
