// The real spank_railhead.so in a host that plays srun and slurmstepd.
#pragma once

#include <dlfcn.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include <slurm/slurm.h>
}

#include "fakes/fake_spank.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace spank_host {

using fake_spank::job;

inline constexpr std::uint32_t batch_step = 0xfffffffb;
inline constexpr std::uint32_t interactive_step = 0xfffffffa;

inline const std::string eight_rails =
    "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1";

/// The CPU mask of the test's process, put back at the end.
class OwnMask {
 public:
    OwnMask() { ::sched_getaffinity(0, sizeof mask_, &mask_); }
    OwnMask(const OwnMask&) = delete;
    OwnMask& operator=(const OwnMask&) = delete;
    ~OwnMask() { restore(); }
    void restore() const { ::sched_setaffinity(0, sizeof mask_, &mask_); }
    /// Whether CPUs 0 and 1, which the fixture is made of, are ours.
    [[nodiscard]] bool has_two() const { return CPU_ISSET(0, &mask_) && CPU_ISSET(1, &mask_); }
    static std::string now() {
        cpu_set_t mask;
        ::sched_getaffinity(0, sizeof mask, &mask);
        railhead::CpuSet cpus;
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &mask)) {
                cpus.add(cpu);
            }
        }
        return to_string(cpus);
    }

 private:
    cpu_set_t mask_{};
};

/// The plugin loaded, with plugstack arguments.  Nothing is kept below /run unless they say so.
class Plugin {
 public:
    explicit Plugin(std::vector<std::string> arguments = {"topology=" + railhead::test::node_file(
                                                                            "two-cpu-8gpu.xml"),
                                                          "nccl_conf=/nonexistent", "health=off"})
        : arguments_{std::move(arguments)} {
        INFO((so_ ? "" : ::dlerror()));
        REQUIRE(so_);
        if (std::ranges::none_of(arguments_, [](const auto& a) { return a.starts_with("cache="); })) {
            arguments_.emplace_back("cache=off");
        }
        for (auto& argument : arguments_) {
            pointers_.push_back(argument.data());
        }
    }

    template <class F>
    F* symbol(const char* name) const {
        return reinterpret_cast<F*>(::dlsym(so_.get(), name));
    }
    int call(const char* name) {
        auto* entry = symbol<int(spank_t, int, char**)>(name);
        return entry(nullptr, static_cast<int>(pointers_.size()), pointers_.data());
    }
    int init() { return call("slurm_spank_init"); }
    int post_opt() { return call("slurm_spank_init_post_opt"); }
    int user_init() { return call("slurm_spank_user_init"); }
    int task_init() { return call("slurm_spank_task_init"); }

    /// A step up to its first task; gives what task_init returned.
    int run_step() {
        REQUIRE(init() == 0);
        REQUIRE(post_opt() == 0);
        REQUIRE(user_init() == 0);
        return task_init();
    }

 private:
    std::vector<std::string> arguments_;
    std::vector<char*> pointers_;
    std::unique_ptr<void, int (*)(void*)> so_{::dlopen(SPANK_PLUGIN_FILE, RTLD_NOW | RTLD_LOCAL),
                                              &::dlclose};
};

/// A step of `tasks` tasks with these GPUs, at task `local_id`, on the job's first node.
inline fake_spank::Job& step(const std::string& gpus, std::uint32_t tasks, std::uint32_t local_id) {
    auto& job = fake_spank::reset();
    job.environment = {{"SLURM_STEP_GPUS", gpus}, {"CUDA_VISIBLE_DEVICES", gpus}};
    job.items = {{S_JOB_STEPID, 0},
                 {S_JOB_NODEID, 0},
                 {S_JOB_LOCAL_TASK_COUNT, tasks},
                 {S_TASK_ID, local_id},
                 {S_STEP_CPUS_PER_TASK, 1}};
    return job;
}

inline std::string variable(const std::string& name) {
    const auto found = job().environment.find(name);
    return found == job().environment.end() ? "(unset)" : found->second;
}

/// Names of Railhead's and the libraries' variables in the job's environment.
inline std::vector<std::string> traces() {
    std::vector<std::string> names;
    for (const auto& [name, value] : job().environment) {
        if (name.starts_with("RAILHEAD_") || name.starts_with("NCCL_") ||
            name.starts_with("UCX_")) {
            names.push_back(name);
        }
    }
    return names;
}

/// What a process that calls `body` prints through the log, and its exit status; the plugin may
/// end it.
struct Ended {
    int status = -1;
    std::string log;
};
inline Ended in_child(const std::function<void()>& body) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        job().tee = ends[1];
        body();
        ::_exit(0);
    }
    ::close(ends[1]);
    Ended ended;
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = ::read(ends[0], block.data(), block.size())) > 0;) {
        ended.log.append(block.data(), static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return ended;
}

/// What a step with these GPUs leaves to the steps inside of it.
inline std::map<std::string, std::string> environment_of_step(const std::string& gpus) {
    step(gpus, 1, 0);
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    return job().environment;
}

}  // namespace spank_host
