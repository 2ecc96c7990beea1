#include "job/gpu_rules.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/gpu_request.hpp"

namespace railhead::job {

namespace {

/// What is asked of one GPU type; 0 where nothing is.
struct Asked {
    std::uint64_t per_job = 0;
    std::uint64_t per_node = 0;
    std::uint64_t per_socket = 0;
    std::uint64_t per_task = 0;
};
using AskedByType = std::map<std::string_view, Asked>;

std::optional<std::uint32_t> narrow(std::uint64_t number) {
    if (number > std::numeric_limits<std::uint32_t>::max()) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(number);
}

template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) {
    return fail(Errc::bad_input, fmt::format(format, std::forward<Args>(args)...));
}

Result<> collect(std::string_view tres, std::uint64_t Asked::*field, AskedByType& asked) {
    const auto gpus = parse_gpus(tres);
    if (!gpus) {
        return tl::unexpected{gpus.error()};
    }
    for (const auto& part : gpus->parts) {
        asked[part.type].*field = part.count;
    }
    return {};
}

Result<AskedByType> collect_all(const JobRequest& request) {
    AskedByType asked;
    for (const auto& [tres, field] : {std::pair{request.gpus_per_job, &Asked::per_job},
                                      std::pair{request.gpus_per_node, &Asked::per_node},
                                      std::pair{request.gpus_per_socket, &Asked::per_socket},
                                      std::pair{request.gpus_per_task, &Asked::per_task}}) {
        if (auto done = collect(tres, field, asked); !done) {
            return propagate(done);
        }
    }
    if (asked.size() > 1 && asked.contains("")) {
        return refuse("GPUs are asked for with and without a type");
    }
    return asked;
}

/// The more is counted together, the more there must be.
Result<> check_order(const Asked& asked, JobRequest& request) {
    const auto less = [](std::uint64_t whole, std::uint64_t part) {
        return whole > 0 && part > whole;
    };
    if (less(asked.per_job, asked.per_node) || less(asked.per_job, asked.per_task) ||
        less(asked.per_job, asked.per_socket)) {
        return refuse("--gpus={} is less than what a node, socket or task asks for", asked.per_job);
    }
    if (less(asked.per_node, asked.per_socket) || less(asked.per_node, asked.per_task)) {
        return refuse("{} GPUs a node are less than what a socket or task asks for",
                      asked.per_node);
    }
    if (asked.per_socket > 0 && !request.sockets_per_node) {
        return refuse("--gpus-per-socket needs --sockets-per-node");
    }
    return {};
}

/// GPUs per node and per socket must agree on the sockets.
Result<> check_sockets(const Asked& asked, JobRequest& request) {
    if (asked.per_node == 0 || asked.per_socket == 0) {
        return {};
    }
    if (asked.per_node % asked.per_socket != 0 ||
        asked.per_node / asked.per_socket != request.sockets_per_node) {
        return refuse("{} GPUs a node by --gpus-per-socket={} is not what --sockets-per-node says",
                      asked.per_node, asked.per_socket);
    }
    return {};
}

/// --gpus-per-task with --gpus-per-socket fixes the tasks a socket.
Result<> fix_tasks_per_socket(const Asked& asked, JobRequest& request) {
    if (asked.per_task == 0 || asked.per_socket == 0) {
        return {};
    }
    const auto tasks = narrow(asked.per_socket / asked.per_task);
    if (asked.per_socket % asked.per_task != 0 ||
        (request.tasks_per_socket && request.tasks_per_socket != tasks)) {
        return refuse("--gpus-per-socket={} by --gpus-per-task={} does not give the tasks a socket",
                      asked.per_socket, asked.per_task);
    }
    request.tasks_per_socket = tasks;
    return {};
}

/// --cpus-per-gpu goes with GPUs and without --cpus-per-task; with --gpus-per-task it fixes that.
Result<> fix_cpus(const AskedByType& asked, JobRequest& request, std::vector<Error>& warnings) {
    if (asked.empty() && request.mem_per_gpu_mb) {
        return refuse("--mem-per-gpu without GPUs");
    }
    if (asked.empty() && request.cpus_per_gpu) {
        warnings.push_back(
            {Errc::bad_input, "sbatch from 23.02 on refuses --cpus-per-gpu without GPUs", {}});
    }
    if (request.cpus_per_gpu && request.cpus_per_task) {
        return refuse("--cpus-per-gpu and --cpus-per-task exclude one another");
    }
    const auto untyped = asked.find("");
    if (request.cpus_per_gpu && untyped != asked.end() && untyped->second.per_task > 0) {
        request.cpus_per_task = narrow(untyped->second.per_task * *request.cpus_per_gpu);
    }
    return {};
}

/// --gpus and --gpus-per-node together fix the nodes.
Result<> fix_nodes(const Asked& asked, JobRequest& request) {
    if (asked.per_job == 0 || asked.per_node == 0) {
        return {};
    }
    if (asked.per_job % asked.per_node != 0) {
        return refuse("--gpus={} is no multiple of the {} GPUs a node", asked.per_job,
                      asked.per_node);
    }
    const auto nodes = narrow(asked.per_job / asked.per_node);
    if (!nodes || (request.min_nodes && *nodes < *request.min_nodes) ||
        (request.max_nodes && *nodes > *request.max_nodes)) {
        return refuse("{} GPUs by {} a node is not the number of nodes that --nodes says",
                      asked.per_job, asked.per_node);
    }
    request.min_nodes = nodes;
    request.max_nodes = nodes;
    return {};
}

/// --gpus-per-task with --gpus or --ntasks fixes the tasks.
Result<> fix_tasks(const Asked& asked, JobRequest& request) {
    if (asked.per_task == 0) {
        return {};
    }
    if (asked.per_job == 0) {
        return request.tasks || (request.tasks_per_node && !request.max_nodes)
                   ? Result<>{}
                   : refuse(
                         "--gpus-per-task without --gpus or --ntasks: sbatch cannot tell the "
                         "number of tasks");
    }
    if (asked.per_job % asked.per_task != 0) {
        return refuse("--gpus={} is no multiple of --gpus-per-task={}", asked.per_job,
                      asked.per_task);
    }
    const auto tasks = narrow(asked.per_job / asked.per_task);
    if (!tasks || (request.tasks && *request.tasks != *tasks)) {
        return refuse(
            "--gpus={} by --gpus-per-task={} is not the number of tasks that --ntasks says",
            asked.per_job, asked.per_task);
    }
    request.tasks = tasks;
    return {};
}

/// --gpus-per-task with GPUs per node fixes the tasks a node.
Result<> fix_tasks_per_node(const Asked& asked, JobRequest& request) {
    if (asked.per_task == 0 || asked.per_node == 0) {
        return {};
    }
    if (asked.per_node % asked.per_task != 0) {
        return refuse("{} GPUs a node are no multiple of --gpus-per-task={}", asked.per_node,
                      asked.per_task);
    }
    const auto tasks = narrow(asked.per_node / asked.per_task);
    if (!tasks || (request.tasks_per_node && *request.tasks_per_node != *tasks)) {
        return refuse("{} GPUs a node by --gpus-per-task={} is not what --ntasks-per-node says",
                      asked.per_node, asked.per_task);
    }
    request.tasks_per_node = tasks;
    return {};
}

/// A node has at least one of the GPUs of a job.
Result<> limit_nodes(const Asked& asked, JobRequest& request) {
    if (asked.per_job == 0) {
        return {};
    }
    if (request.min_nodes && asked.per_job < *request.min_nodes) {
        return refuse("--gpus={} is less than a GPU for each of {}", asked.per_job,
                      count_of(*request.min_nodes, "node"));
    }
    if (request.max_nodes && asked.per_job < *request.max_nodes) {
        request.max_nodes = narrow(asked.per_job);
    }
    return {};
}

/// A fixed number of nodes fixes the tasks, where GPUs are counted by tasks.
void imply_tasks(const AskedByType& asked, JobRequest& request) {
    const bool by_task = request.tasks_per_gpu || std::ranges::any_of(asked, [](const auto& entry) {
                             return entry.second.per_task > 0;
                         });
    if (!by_task || request.tasks || !request.min_nodes || request.min_nodes != request.max_nodes) {
        return;
    }
    if (request.tasks_per_gpu || request.tasks_per_node) {
        const auto each = request.tasks_per_gpu.value_or(request.tasks_per_node.value_or(1));
        request.tasks = narrow(std::uint64_t{*request.min_nodes} * each);
    } else if (!request.cpus_per_task) {
        request.tasks = request.min_nodes;
    }
}

/// sbatch 22.05 takes one node for --ntasks-per-node without -N.
void warn_about_open_tasks(const AskedByType& asked, const JobRequest& request,
                           std::vector<Error>& warnings) {
    const auto open = [](const auto& entry) {
        return entry.second.per_task > 0 && entry.second.per_job == 0;
    };
    if (request.tasks_per_node && !request.tasks && std::ranges::any_of(asked, open)) {
        warnings.push_back({Errc::bad_input,
                            "sbatch from 23.02 on refuses --gpus-per-task without --gpus, --ntasks "
                            "or a fixed --nodes",
                            {}});
    }
}

/// --ntasks-per-gpu counts the tasks by the GPUs of the job, or the GPUs by the tasks.
Result<> relate_tasks_and_gpus(AskedByType& asked, JobRequest& request) {
    if (!request.tasks_per_gpu) {
        return {};
    }
    std::uint64_t gpus = 0;
    for (const auto& [type, each] : asked) {
        const auto on_nodes = each.per_node * request.min_nodes.value_or(1);
        gpus += std::max(each.per_job, on_nodes);
    }
    if (gpus > 0) {
        request.tasks = narrow(gpus * *request.tasks_per_gpu);
    } else if (!request.tasks) {
        return refuse("--ntasks-per-gpu needs GPUs or a number of tasks");
    } else if (*request.tasks % *request.tasks_per_gpu != 0) {
        return refuse("--ntasks={} is no multiple of --ntasks-per-gpu={}", *request.tasks,
                      *request.tasks_per_gpu);
    } else {
        asked[""].per_job = *request.tasks / *request.tasks_per_gpu;
    }
    return {};
}

}  // namespace

Result<> apply_gpu_rules(JobRequest& request, std::vector<Error>& warnings) {
    auto asked = collect_all(request);
    if (!asked) {
        return propagate(asked);
    }
    imply_tasks(*asked, request);
    warn_about_open_tasks(*asked, request, warnings);
    if (auto related = relate_tasks_and_gpus(*asked, request); !related) {
        return related;
    }
    if (auto fixed = fix_cpus(*asked, request, warnings); !fixed) {
        return fixed;
    }
    for (const auto& [type, each] : *asked) {
        for (const auto rule : {&check_order, &fix_nodes, &check_sockets, &fix_tasks,
                                &fix_tasks_per_node, &fix_tasks_per_socket, &limit_nodes}) {
            if (auto done = rule(each, request); !done) {
                return done;
            }
        }
    }
    return {};
}

}  // namespace railhead::job
