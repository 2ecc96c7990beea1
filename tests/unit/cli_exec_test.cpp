// railhead exec, up to the point where it becomes the command; tests/slurm has the rest.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <sstream>

#include "base/text.hpp"
#include "command.hpp"
#include "rank_binding.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace cli = railhead::cli;
using railhead::test::cpus;
using railhead::test::ScopedVariable;

using railhead::test::Ran;
using railhead::test::run;

namespace {

const std::string map_text =
    R"([{"gpu":0,"visible":"4","index":4,"pci":"0000:9d:00.0","numa":0,"cpus":"0","memory":0,)"
    R"("memory_policy":"prefer","nic":"mlx5_6:1","path":"PXB"},)"
    R"({"gpu":1,"visible":"5","index":5,"cpus":"9000","nic":""}])";

/// An environment with the map, and none of the variables that say a rank.
struct Job {
    ScopedVariable map{"RAILHEAD_GPU_MAP", map_text};
    ScopedVariable name{"SLURMD_NODENAME", "n01"};
    Job() {
        for (const auto* const variable :
             {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
              "SLURM_LOCALID", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
              "HIP_VISIBLE_DEVICES"}) {
            ::unsetenv(variable);
        }
    }
};

/// A text that was broken into lines, without that.
std::string one_line(const std::string& text) {
    std::string line;
    for (const auto word : railhead::split_words(text)) {
        line.append(line.empty() ? "" : " ").append(railhead::trim(word));
    }
    return line;
}

}  // namespace

TEST_CASE("a dry run says what a rank would get", "[cli][exec]") {
    const Job job;
    const ScopedVariable rank{"LOCAL_RANK", "0"};
    const auto ran = run({"exec", "--dry-run", "--", "python", "train.py", "--verbose"});
    CHECK(ran.status == 0);
    CHECK(ran.out ==
          "railhead: node n01 local rank 0 (LOCAL_RANK): GPU 4 (0000:9d:00.0), CPUs 0\n"
          "    (NUMA 0), memory 0, NIC mlx5_6:1 PXB\n");
    CHECK(ran.err.empty());
}

TEST_CASE("CPUs outside this process's mask are no reason to stop", "[cli][exec]") {
    const Job job;
    const ScopedVariable rank{"LOCAL_RANK", "1"};
    const auto ran = run({"exec", "--dry-run"});
    CHECK(ran.status == 0);
    const auto line = one_line(ran.out);
    CHECK_THAT(line, ContainsSubstring("as they were: those near the GPU are not in this process's "
                                       "mask, memory as it was, NIC none"));
}

TEST_CASE("lines of a dry run fit into 80 columns, whatever the CPUs", "[cli][exec]") {
    Job job;
    std::string all;
    for (int cpu = 0; cpu < 400; cpu += 2) {
        all += (all.empty() ? "" : ",") + std::to_string(cpu);
    }
    const ScopedVariable map{"RAILHEAD_GPU_MAP", R"([{"index":0,"cpus":")" + all +
                                                     R"(","pci":"0000:9d:00.0","nic":"a)" + "\x1b" +
                                                     R"([2J:1"},{"index":1}])"};
    const ScopedVariable rank{"LOCAL_RANK", "0"};
    const auto ran = run({"exec", "--dry-run"});
    for (const auto line : railhead::split(ran.out, '\n')) {
        CAPTURE(line);
        CHECK(line.size() <= 80);
    }
}

TEST_CASE("what the map says cannot move the cursor", "[cli][exec][security]") {
    Job job;
    const auto text = GENERATE(values<std::string>({"nic", "pci", "path"}));
    CAPTURE(text);
    const ScopedVariable map{"RAILHEAD_GPU_MAP", R"([{"index":0,"nic":"mlx5_0:1",")" + text +
                                                     R"(":"\u001b[2Jx\ny"},{"index":1}])"};
    const ScopedVariable rank{"LOCAL_RANK", "0"};
    const auto ran = run({"exec", "--dry-run"});
    CHECK_THAT(one_line(ran.out), ContainsSubstring("?[2Jx?y"));
    CHECK(ran.out.find('\x1b') == std::string::npos);
}

namespace {

/// Which of these processes of a node say that they are not bound: "0,3".  Each is a process, since
/// those that have a place are bound.
std::string speakers(const std::vector<std::map<std::string, std::string>>& processes,
                     const std::vector<std::string>& options = {}) {
    std::vector<std::string> line{"exec"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", "/nonexistent/train"});
    std::string said;
    for (std::size_t i = 0; i < processes.size(); ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            for (const auto& [name, value] : processes[i]) {
                ::setenv(name.c_str(), value.c_str(), 1);
            }
            ::_exit(run(line).err.find("is not bound") != std::string::npos ? 1 : 0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        REQUIRE(WIFEXITED(status));
        if (WEXITSTATUS(status) == 1) {
            said += (said.empty() ? "" : ",") + std::to_string(i);
        }
    }
    return said;
}

/// Processes whose variable `name` is `before` and their number, counted from 0.
std::vector<std::map<std::string, std::string>> ranks(int count, const std::string& name,
                                                      const std::string& before = "") {
    std::vector<std::map<std::string, std::string>> processes;
    for (int i = 0; i < count; ++i) {
        processes.push_back({{name, before + std::to_string(i)}});
    }
    return processes;
}

}  // namespace

TEST_CASE("of a node's processes the first that has the trouble speaks", "[cli][exec][errors]") {
    Job job;
    SECTION("none has, since the CPUs of the second are no reason") {
        CHECK(speakers(ranks(1, "LOCAL_RANK")).empty());
    }
    SECTION("more ranks than GPUs: rank 0 is fine") {
        CHECK(speakers(ranks(5, "LOCAL_RANK")) == "2");
        CHECK(speakers(ranks(5, "MINE"), {"--local-rank-from", "MINE"}) == "2");
    }
    SECTION("more ranks than the GPUs of their list") {
        const ScopedVariable list{"CUDA_VISIBLE_DEVICES", "4,7"};
        CHECK(speakers(ranks(4, "LOCAL_RANK")) == "1");
    }
    SECTION("no map: all have it") {
        ::unsetenv("RAILHEAD_GPU_MAP");
        CHECK(speakers(ranks(4, "LOCAL_RANK")) == "0");
        CHECK(speakers(ranks(4, "MINE"), {"--local-rank-from", "MINE"}) == "0");
    }
    SECTION("a broken map: all have it") {
        ::setenv("RAILHEAD_GPU_MAP", "[", 1);
        CHECK(speakers(ranks(4, "LOCAL_RANK")) == "0");
    }
    SECTION("a rank that cannot be read, beside one that can") {
        auto processes = ranks(3, "LOCAL_RANK", "x");
        for (std::size_t i = 0; i < processes.size(); ++i) {
            processes[i]["PMI_LOCAL_RANK"] = std::to_string(i);
        }
        CHECK(speakers(processes) == "0");
    }
    SECTION("the variable that was named is not set, another is") {
        CHECK(speakers(ranks(3, "LOCAL_RANK"), {"--local-rank-from", "MINE"}) == "0");
    }
    SECTION("nothing tells which is the first: each") {
        CHECK(speakers(ranks(3, "LOCAL_RANK", "x")) == "0,1,2");
        CHECK(speakers(ranks(3, "NOBODYS")) == "0,1,2");
    }
    SECTION("each narrowed to a device that is not the task's: nobody knows of the others") {
        CHECK(speakers(ranks(3, "CUDA_VISIBLE_DEVICES")) == "0,1,2");
        const ScopedVariable rank{"LOCAL_RANK", GENERATE("x", "1")};
        CHECK(speakers(ranks(3, "ROCR_VISIBLE_DEVICES")) == "0,1,2");
    }
    SECTION("no GPU is wanted") {
        const ScopedVariable list{GENERATE("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
                                  GENERATE("", "-1", "NoDevFiles")};
        CHECK(speakers(ranks(3, "LOCAL_RANK")).empty());
        CHECK(speakers(ranks(3, "LOCAL_RANK"), {"--verbose"}) == "0,1,2");
    }
}

TEST_CASE("without a rank the command runs as it is", "[cli][exec][errors]") {
    const Job job;
    const auto ran = run({"exec", "/nonexistent/train"});
    CHECK(ran.status == 127);
    CHECK(ran.err ==
          "railhead: exec: no local rank in the environment: /nonexistent/train is not bound\n"
          "railhead: exec: cannot run \"/nonexistent/train\": No such file or directory\n");
}

// ---- what a rank gets ----------------------------------------------------------------------

namespace {

std::string told(const cli::RankBinding& binding) {
    cli::GpuPlace place;
    std::string text;
    for (const auto& [name, value] : cli::variables_of(
             place, binding, [](std::string_view) { return std::optional<std::string>{}; })) {
        text += (text.empty() ? "" : "; ") + name.substr(name.find('_') + 1) + "=" + value;
    }
    return text;
}

cli::GpuPlace place_near(const std::string& list, unsigned memory) {
    cli::GpuPlace place;
    place.cpus = cpus(list);
    place.memory.policy = railhead::affinity::MemoryPolicy::bind;
    place.memory.nodes.add(memory);
    return place;
}

}  // namespace

TEST_CASE("what a rank was given is told in the plugin's words", "[cli][exec]") {
    struct Case {
        std::string why, mask, allowed, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"all", "0-7", "0-1", "CPUS=2-3; BINDING=gpu; MEMORY=bind: 1"},
        {"part of the CPUs", "3", "0-1", "CPUS=3; BINDING=gpu; MEMORY=bind: 1"},
        {"no memory there", "0-7", "0",
         "CPUS=2-3; BINDING=gpu; MEMORY=none: memory node 1 is not allowed here"},
        {"no CPU there", "4-7", "0-1",
         "BINDING=none: those near the GPU are not in this process's mask; "
         "MEMORY=none: the CPUs are not those near the GPU"},
    }));
    CAPTURE(c.why);
    CHECK(told(cli::plan_binding(place_near("2-3", 1), cpus(c.mask), cpus(c.allowed))) ==
          c.expected);
}

TEST_CASE("what the kernel refuses is told as not done", "[cli][exec]") {
    auto binding = cli::plan_binding(place_near("2-3", 1), cpus("0-7"), cpus("0-1"));
    SECTION("the mask") {
        cli::keep_mask(binding, cpus("0-7"), "cannot bind to CPUs 2-3: Invalid argument");
        CHECK(told(binding) ==
              "CPUS=2-3; BINDING=none: cannot bind to CPUs 2-3: Invalid argument; "
              "MEMORY=none: the CPUs are not those near the GPU");
        CHECK(binding.cpus == cpus("0-7"));
    }
    SECTION("the memory") {
        cli::keep_memory(binding, "the kernel refuses memory node 1: Operation not permitted");
        CHECK(told(binding) ==
              "CPUS=2-3; BINDING=gpu; MEMORY=none: the kernel refuses memory node 1: Operation "
              "not permitted");
    }
}

TEST_CASE("memory that is not allowed is told in the line", "[cli][exec]") {
    const auto place = place_near("2-3", 1);
    const auto binding = cli::plan_binding(place, cpus("0-7"), cpus("0"));
    CHECK_THAT(to_string(cli::line_of("node n01 process 1", place, binding)),
               ContainsSubstring("memory as it was: memory node 1 is not allowed here, NIC"));
}

// ---- the command line ----------------------------------------------------------------------

TEST_CASE("a command that cannot run is 126, none at all is a mistake", "[cli][exec][errors]") {
    const Job job;
    CHECK(run({"exec", "--", "/"}).status == 126);
    CHECK(run({"exec"}).status == 2);
    CHECK(run({"exec", "--"}).status == 2);
    CHECK(run({"exec", "--local-rank-form", "X", "--", "true"}).status == 2);
}

TEST_CASE("the options of the command are not read, with or without --", "[cli][exec]") {
    struct Case {
        std::vector<std::string> line, command, rest;
    };
    const auto c = GENERATE(values<Case>({
        {{"exec", "--", "a", "--verbose"}, {"a", "--verbose"}, {"exec"}},
        {{"exec", "a", "--", "b"}, {"a", "--", "b"}, {"exec"}},
        {{"exec", "--verbose", "a", "-x"}, {"a", "-x"}, {"exec", "--verbose"}},
        {{"exec", "--local-rank-from", "R", "a"}, {"a"}, {"exec", "--local-rank-from", "R"}},
        {{"exec", "--local-rank-from=R", "a"}, {"a"}, {"exec", "--local-rank-from=R"}},
        {{"exec", "--help"}, {}, {"exec", "--help"}},
        {{"rails", "--", "a"}, {}, {"rails", "--", "a"}},
    }));
    auto line = c.line;
    CHECK(cli::cut_command(line) == c.command);
    CHECK(line == c.rest);
}

TEST_CASE("the command inherits the rank's CPUs, memory and NIC", "[cli][exec]") {
    const Job job;
    const ScopedVariable rank{"LOCAL_RANK", "0"};
    const ScopedVariable nic{"RAILHEAD_NIC", "mlx5_6:1,mlx5_7:1"};
    const auto [user, expected] = GENERATE(
        table<std::string, std::string>({{"mlx5_6:1,mlx5_7:1", "mlx5_6:1"}, {"mine", "mine"}}));
    const ScopedVariable ucx{"UCX_NET_DEVICES", user};
    const pid_t child = ::fork();
    if (child == 0) {
        const auto script = "test \"$UCX_NET_DEVICES $RAILHEAD_CPUS $RAILHEAD_MEMORY\" = '" +
                            expected +
                            " 0 prefer: 0' && grep -q '^Cpus_allowed_list:.0$' /proc/self/status "
                            "&& grep -q ' prefer:0 ' /proc/self/numa_maps";
        ::_exit(run({"exec", "--", "/bin/sh", "-c", script}).status);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
}
