// How long a step with GPUs waits for us on a node, and how long each of its tasks does.
//
//   step_bench [--repeats N]
//
// The real spank_railhead.so under a fake slurmstepd, so this is our own time; what Slurm takes to
// change a variable comes on top (tests/bench/launch).  The node is that of topology=FILE: 8 GPUs,
// 64 cores.  Cold is without kept facts, warm with them.
#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include <slurm/slurm.h>
}

#include <fmt/format.h>

#include "fakes/failing_memory.hpp"
#include "fakes/fake_spank.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Entry = int(spank_t, int, char**);

class Plugin {
 public:
    explicit Plugin(std::vector<std::string> arguments) : arguments_{std::move(arguments)} {
        for (auto& argument : arguments_) {
            pointers_.push_back(argument.data());
        }
        if (so_ == nullptr) {
            fmt::print(stderr, "{}\n", ::dlerror());
            std::exit(1);
        }
    }
    void call(const char* name) {
        auto* entry = reinterpret_cast<Entry*>(::dlsym(so_, name));
        entry(nullptr, static_cast<int>(pointers_.size()), pointers_.data());
    }

 private:
    std::vector<std::string> arguments_;
    std::vector<char*> pointers_;
    void* so_ = ::dlopen(SPANK_PLUGIN_FILE, RTLD_NOW | RTLD_LOCAL);
};

/// A step of `tasks` tasks as slurmstepd has it, with an environment of a usual size.
void set_step(std::uint32_t tasks, std::uint32_t task) {
    auto& job = fake_spank::reset();
    for (int i = 0; i < 100; ++i) {
        job.environment[fmt::format("SITE_VARIABLE_{}", i)] = std::string(40, 'x');
    }
    job.environment["SLURM_STEP_GPUS"] = "0,1,2,3,4,5,6,7";
    job.environment["CUDA_VISIBLE_DEVICES"] = "0,1,2,3,4,5,6,7";
    job.environment["SLURM_STEP_NODELIST"] = "n01";
    job.environment["SLURMD_NODENAME"] = "n01";
    job.environment["SLURM_CPU_BIND_TYPE"] = "mask_cpu:";
    std::string masks;
    for (std::uint32_t i = 0; i < tasks; ++i) {
        masks += fmt::format("{}0x{:016x}", i == 0 ? "" : ",",
                             tasks == 1 ? ~std::uint64_t{0} : std::uint64_t{1} << (i % 64));
    }
    job.environment["SLURM_CPU_BIND_LIST"] = masks;
    job.items = {{S_JOB_STEPID, 0},
                 {S_JOB_NODEID, 0},
                 {S_JOB_LOCAL_TASK_COUNT, tasks},
                 {S_TASK_ID, task},
                 {S_STEP_CPUS_PER_TASK, 1}};
}

struct Sample {
    double microseconds = 0;
    long allocations = 0;
    long faults = 0;  ///< of pages
};

struct Figures {
    std::vector<double> microseconds;
    long allocations = 0;
    long faults = 0;
};

long page_faults() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

Sample measure_one(const std::function<void()>& body) {
    const auto faults = page_faults();
    const fakes::FailingMemory memory{LONG_MAX - 1};
    const auto start = Clock::now();
    body();
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    return {took.count(), memory.count(), page_faults() - faults};
}

void add(Figures& figures, const Sample& sample) {
    figures.microseconds.push_back(sample.microseconds);
    figures.allocations = std::max(figures.allocations, sample.allocations);
    figures.faults = std::max(figures.faults, sample.faults);
}

Figures measure(int repeats, const std::function<void(int)>& prepare,
                const std::function<void()>& body) {
    Figures figures;
    for (int i = 0; i < repeats; ++i) {
        prepare(i);
        add(figures, measure_one(body));
    }
    std::ranges::sort(figures.microseconds);
    return figures;
}

/// The same in a process of its own each time, as slurmstepd forks its tasks: pages are its own
/// only once it writes them.
Figures measure_forked(int repeats, const std::function<void(int)>& prepare,
                       const std::function<void()>& body) {
    Figures all;
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        return all;
    }
    for (int i = 0; i < repeats; ++i) {
        prepare(i);
        if (const pid_t child = ::fork(); child != 0) {
            ::waitpid(child, nullptr, 0);
            Sample sample;
            if (::read(ends[0], &sample, sizeof sample) == sizeof sample) {
                add(all, sample);
            }
            continue;
        }
        const auto sample = measure_one(body);
        ::_exit(::write(ends[1], &sample, sizeof sample) == sizeof sample ? 0 : 1);
    }
    ::close(ends[0]);
    ::close(ends[1]);
    std::ranges::sort(all.microseconds);
    return all;
}

void show(std::string_view name, const Figures& figures) {
    const auto& sorted = figures.microseconds;
    fmt::print("{:28} {:9.0f} us {:9.0f} us {:7} {:7}\n", name, sorted[sorted.size() / 2],
               sorted[sorted.size() * 99 / 100], figures.allocations, figures.faults);
}

}  // namespace

int main(int count, char** words) {
    const bool given = count == 3 && std::string_view{words[1]} == "--repeats";
    const int repeats = given ? std::max(1, std::atoi(words[2])) : 500;
    const railhead::test::TempDir folder;
    const auto cache = folder.path("railhead");
    const auto file = folder.path("node.xml");
    std::filesystem::copy_file(railhead::test::node_file("dgx-h100.xml"), file);
    std::filesystem::permissions(file, std::filesystem::perms{0644});
    Plugin plugin{{"topology=" + file, "nccl_conf=/nonexistent", "cache=" + cache}};
    cpu_set_t mask;
    ::sched_getaffinity(0, sizeof mask, &mask);

    fmt::print("{:28} {:>12} {:>12} {:>7} {:>7}\n", "", "median", "p99", "allocs", "faults");
    const auto step = [&](const char* name, int times, const std::function<void(int)>& before) {
        show(name, measure(times, before, [&] {
                 plugin.call("slurm_spank_init_post_opt");
                 plugin.call("slurm_spank_user_init");
             }));
    };
    const auto init = [&](std::uint32_t tasks) {
        set_step(tasks, 0);
        plugin.call("slurm_spank_init");
    };
    step("step without GPUs", repeats, [&](int) {
        init(1);
        fake_spank::job().environment.erase("SLURM_STEP_GPUS");
        fake_spank::job().environment.erase("CUDA_VISIBLE_DEVICES");
    });
    step("step, cold", std::min(repeats, 50), [&](int) {
        std::filesystem::remove_all(cache);
        init(1);
    });
    step("step, warm", repeats, [&](int) { init(1); });
    step("step, told of checkpoints", repeats, [&](int) {
        init(1);
        fake_spank::job().environment["RAILHEAD_CKPT_INTERVAL"] = "30m";
        fake_spank::job().environment["SLURM_JOB_END_TIME"] = "1796040000";
    });
    for (const std::uint32_t tasks : {1U, 8U, 64U}) {
        init(tasks);
        plugin.call("slurm_spank_init_post_opt");
        plugin.call("slurm_spank_user_init");
        const auto before = [&](int i) {
            ::sched_setaffinity(0, sizeof mask, &mask);
            set_step(tasks, static_cast<std::uint32_t>(i) % tasks);
        };
        show(fmt::format("task of {} on the node", tasks),
             measure_forked(repeats, before, [&] { plugin.call("slurm_spank_task_init"); }));
    }
    ::sched_setaffinity(0, sizeof mask, &mask);
    init(1);
    plugin.call("slurm_spank_user_init");
    show("end of a task", measure(
                              repeats, [](int) {}, [&] { plugin.call("slurm_spank_task_exit"); }));
    return 0;
}
