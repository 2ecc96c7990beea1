#include "job/request_builder.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/gpu_request.hpp"
#include "job/gpu_rules.hpp"
#include "job/hostlist.hpp"
#include "job/option_setters.hpp"
#include "job/option_values.hpp"

namespace railhead::job {

namespace {

std::uint32_t saturate(std::uint64_t number) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(number, std::numeric_limits<std::int32_t>::max()));
}

/// Where the last option stands whose name contains `part`.
Position last_place(const std::vector<ScriptOption>& options, std::string_view part) {
    Position where;
    for (const auto& option : options) {
        if (option.name.find(part) != std::string::npos) {
            where = option.where;
        }
    }
    return where;
}

/// Writes each part of "h100:8,a100:1" as a resource string: "gpu:h100:8,gpu:a100:1".
std::string with_prefix(std::string_view list) {
    std::string text;
    for (const auto part : split(list, ',')) {
        if (!part.empty()) {
            text += fmt::format("{}gpu:{}", text.empty() ? "" : ",", part);
        }
    }
    return text;
}

class Finish {
 public:
    Finish(Draft& draft, const std::vector<ScriptOption>& options, std::deque<std::string>& storage,
           std::vector<Error>& warnings)
        : draft_{draft},
          request_{draft.request},
          options_{options},
          storage_{storage},
          warnings_{warnings} {}

    Result<> run();

 private:
    std::string_view keep(std::string text) { return storage_.emplace_back(std::move(text)); }
    void warn(std::string_view option, std::string message) {
        warnings_.push_back({Errc::bad_input, std::move(message), last_place(options_, option)});
    }
    void check_node_count();
    void set_hint();
    void set_gpus();
    void read_tres_per_task();
    Result<> count_node_list();
    void imply_tasks();
    void count_cpus();
    Result<> check_gpus();

    Draft& draft_;
    JobRequest& request_;
    const std::vector<ScriptOption>& options_;
    std::deque<std::string>& storage_;
    std::vector<Error>& warnings_;
};

void Finish::check_node_count() {
    const auto nodes = std::ranges::find(options_, "nodes", &ScriptOption::name);
    if (nodes != options_.end() && nodes->value.find_first_of(",:") != std::string::npos) {
        warn("nodes", fmt::format("--nodes={}: sbatch 22.05 takes a number or a range, no list",
                                  printable(nodes->value.substr(0, 60))));
    }
}

void Finish::set_hint() {
    for (const auto word : split(draft_.hint, ',')) {
        if (equals_ignoring_case(word, "compute_bound")) {
            request_.sockets_per_node.reset();
            request_.cores_per_socket.reset();
            request_.threads_per_core = 1;
        } else if (equals_ignoring_case(word, "memory_bound")) {
            request_.cores_per_socket = 1;
            request_.threads_per_core = 1;
        } else if (equals_ignoring_case(word, "nomultithread")) {
            request_.threads_per_core = 1;
        } else if (equals_ignoring_case(word, "multithread")) {
            request_.threads_per_core.reset();
        }
    }
}

/// --tres-per-task=cpu=4,gres/gpu=1 is another way to say -c and --gpus-per-task.
void Finish::read_tres_per_task() {
    for (const auto part : split(draft_.tres_per_task, ',')) {
        const auto at = part.find_first_of(":=");
        if (at != std::string_view::npos && part.substr(0, at) == "cpu" &&
            !request_.cpus_per_task) {
            request_.cpus_per_task = parse_int(part.substr(at + 1));
        }
    }
    const auto gpus = parse_gpus(draft_.tres_per_task);
    if (request_.gpus_per_task.empty() && gpus && !gpus->parts.empty()) {
        request_.gpus_per_task = draft_.tres_per_task;
    }
}

void Finish::set_gpus() {
    request_.gpus_per_job = keep(with_prefix(draft_.gpus));
    request_.gpus_per_socket = keep(with_prefix(draft_.gpus_per_socket));
    request_.gpus_per_task = keep(with_prefix(draft_.gpus_per_task));
    auto per_node = with_prefix(draft_.gpus_per_node);
    if (!draft_.gres.empty() && !equals_ignoring_case(draft_.gres, "none")) {
        per_node += fmt::format("{}{}", per_node.empty() ? "" : ",", draft_.gres);
    }
    request_.gpus_per_node = keep(std::move(per_node));
    read_tres_per_task();
    request_.gpu_bind = draft_.tres_bind;
    if (draft_.tres_bind_is_gpu) {
        request_.gpu_bind = keep(fmt::format("gres/gpu:{}", draft_.tres_bind));
    }
}

/// -w alone says how many nodes at least.
Result<> Finish::count_node_list() {
    const auto list = request_.node_list;
    if (list.empty()) {
        return {};
    }
    if (list.find('/') != std::string_view::npos) {
        warn("node", "the file of node names is not read here");
        return {};
    }
    auto names = expand_hostlist(list);
    if (!names) {
        return fail(Errc::bad_input, fmt::format("--nodelist: {}", names.error().message),
                    last_place(options_, "nodelist"));
    }
    std::ranges::sort(*names);
    names->erase(std::unique(names->begin(), names->end()), names->end());
    const auto count = saturate(names->size());
    if (!request_.min_nodes) {
        request_.min_nodes = count;
    } else if (request_.max_nodes && count > *request_.max_nodes) {
        warn("nodelist",
             fmt::format("--nodelist names {}, more than --nodes allows: sbatch 22.05 refuses that",
                         count_of(count, "node")));
    }
    return {};
}

/// What sbatch makes of nodes and tasks together.
void Finish::imply_tasks() {
    const bool fixed = !request_.max_nodes || request_.min_nodes == request_.max_nodes;
    if (!request_.tasks && !request_.tasks_per_node && fixed &&
        (request_.min_nodes || draft_.extra_node_info)) {
        if (request_.sockets_per_node || request_.cores_per_socket || request_.threads_per_core) {
            const auto nodes = std::max(request_.min_nodes.value_or(1), 1U);
            const auto cores = saturate(std::uint64_t{request_.sockets_per_node.value_or(1)} *
                                        request_.cores_per_socket.value_or(1));
            const auto each =
                saturate(std::uint64_t{cores} * request_.threads_per_core.value_or(1));
            request_.tasks = saturate(std::uint64_t{nodes} * each);
        }
    } else if (request_.min_nodes && request_.tasks) {
        if (request_.max_nodes) {
            request_.max_nodes = std::min(*request_.max_nodes, *request_.tasks);
        }
        if (*request_.tasks < *request_.min_nodes) {
            warn("ntasks", fmt::format("{} cannot run on {}: sbatch asks for {}",
                                       count_of(*request_.tasks, "task"),
                                       count_of(*request_.min_nodes, "node"), *request_.tasks));
            request_.min_nodes = request_.tasks;
            request_.max_nodes = request_.tasks;
        }
    }
}

/// The CPUs of the job as sbatch counts them, before it looks at GPUs.
void Finish::count_cpus() {
    const bool fixed = !request_.max_nodes || request_.min_nodes == request_.max_nodes;
    const auto nodes = std::max(request_.min_nodes.value_or(1), 1U);
    std::uint64_t tasks = request_.tasks.value_or(1);
    if (!request_.tasks && fixed) {
        tasks = std::uint64_t{nodes} * request_.tasks_per_node.value_or(1);
    }
    if (request_.overcommit) {
        request_.min_cpus = nodes;
    } else if (request_.min_nodes == 0U && !request_.cpus_per_task) {
        request_.min_cpus = 0;
    } else {
        request_.min_cpus =
            saturate(saturate(tasks) * std::uint64_t{request_.cpus_per_task.value_or(1)});
    }
}

/// Applies the GPU rules; what they complain of stands where the last GPU option does.
Result<> Finish::check_gpus() {
    const auto known = warnings_.size();
    auto done = apply_gpu_rules(request_, warnings_);
    const auto gpu = last_place(options_, "gpu");
    const auto where = gpu.line > 0 ? gpu : last_place(options_, "gres");
    for (auto i = known; i < warnings_.size(); ++i) {
        warnings_[i].where = where;
    }
    if (!done) {
        done.error().where = where;
        return done;
    }
    if (request_.tasks && request_.cpus_per_task) {
        const auto cpus = saturate(std::uint64_t{*request_.tasks} * *request_.cpus_per_task);
        request_.min_cpus = std::max(request_.min_cpus.value_or(0), cpus);
    }
    return done;
}

Result<> Finish::run() {
    check_node_count();
    set_hint();
    set_gpus();
    if (auto counted = count_node_list(); !counted) {
        return counted;
    }
    if (request_.cpus_per_task &&
        request_.min_cpus_per_node.value_or(0) < *request_.cpus_per_task) {
        request_.min_cpus_per_node = request_.cpus_per_task;
    }
    imply_tasks();
    count_cpus();
    return check_gpus();
}

}  // namespace

Result<> check_option(const ScriptOption& option) {
    Draft scratch;
    auto done = set_option(scratch, option.name, option.value);
    if (!done) {
        done.error().where = option.where;
    }
    return done;
}

Result<JobRequest> build_request(const std::vector<ScriptOption>& options,
                                 std::deque<std::string>& storage, std::vector<Error>& warnings) {
    Draft draft;
    draft.request.batch = true;
    for (const auto& option : options) {
        const std::string_view value = storage.emplace_back(option.value);
        if (auto done = set_option(draft, option.name, value); !done) {
            return propagate(done);
        }
    }
    if (auto done = Finish{draft, options, storage, warnings}.run(); !done) {
        return propagate(done);
    }
    return draft.request;
}

}  // namespace railhead::job
