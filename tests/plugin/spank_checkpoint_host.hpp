// What tests of checkpoints in the plugin share: steps, the site's files, programs beside tasks.
#pragma once

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "plugin/spank_host.hpp"

namespace spank_host {

/// A step without GPUs on one of `nodes` nodes.
inline fake_spank::Job& cpu_step(std::uint32_t nodes, std::uint32_t node = 0) {
    auto& job = step("", 1, 0);
    job.environment = {};
    job.items[S_JOB_ID] = 7;
    job.items[S_JOB_NNODES] = nodes;
    job.items[S_JOB_NODEID] = node;
    return job;
}

/// The trust in files goes by the owner of slurm.conf: here, whoever runs the test.
inline railhead::test::ScopedVariable own_slurm_conf(const railhead::test::TempDir& folder) {
    return railhead::test::ScopedVariable{"SLURM_CONF", folder.write("slurm.conf", "")};
}

inline Plugin plugin_with(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"nccl_conf=/nonexistent", "health=off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Plugin{arguments};
}

inline void run(Plugin& plugin) {
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.post_opt() == 0);
    REQUIRE(plugin.user_init() == 0);
    REQUIRE(plugin.task_init() == 0);
}

/// A program that writes into `log` by which words it was started.
inline std::string telling_helper(const railhead::test::TempDir& folder, const std::string& log) {
    auto helper = folder.write("helper", "#!/bin/sh\necho \"$@\" >> " + log + "\n");
    ::chmod(helper.c_str(), 0755);
    return helper;
}

/// A task in a process of its own; returns when it has ended.
inline void run_task(Plugin& plugin) {
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    const pid_t task = ::fork();
    if (task == 0) {
        plugin.task_init();
        ::_exit(0);
    }
    REQUIRE(::waitpid(task, nullptr, 0) == task);
}

/// The same; returns when what it started has ended too.
inline void start_task(Plugin& plugin) {
    run_task(plugin);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
}

/// What is in a file, for which is waited.
inline std::string text_of(const std::filesystem::path& file) {
    for (int tries = 0; tries < 400 && !std::filesystem::exists(file); ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace spank_host
