// railhead exec, up to the point where it becomes the command; tests/slurm has the rest.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <sstream>

#include "command.hpp"
#include "gpu_map.hpp"
#include "local_rank.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace cli = railhead::cli;
using railhead::test::cpus;
using railhead::test::ScopedVariable;

namespace {

struct Ran {
    int status;
    std::string out, err;
};

Ran run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    cli::Console console{out, err};
    const int status = cli::run(arguments, console);
    return {status, out.str(), err.str()};
}

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
              "SLURM_LOCALID", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
            ::unsetenv(variable);
        }
    }
};

std::string rank_in(const std::map<std::string, std::string, std::less<>>& environment,
                    const std::string& from = "") {
    const auto rank =
        cli::find_local_rank(from, [&](std::string_view name) -> std::optional<std::string> {
            const auto found = environment.find(name);
            return found == environment.end() ? std::nullopt : std::optional{found->second};
        });
    return rank ? rank->variable + " " + std::to_string(rank->rank) : rank.error().message;
}

std::string place_of(std::optional<unsigned> rank, const std::optional<std::string>& visible) {
    const auto map = cli::parse_gpu_map(map_text);
    REQUIRE(map);
    const auto place = cli::find_place(*map, rank, visible);
    return place ? std::to_string(place->index) : place.error().message;
}

}  // namespace

TEST_CASE("the local rank comes from the launcher's variable, in a fixed order", "[cli][exec]") {
    CHECK(rank_in({{"LOCAL_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}) == "LOCAL_RANK 3");
    CHECK(rank_in({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"MPI_LOCALRANKID", "2"}}) ==
          "OMPI_COMM_WORLD_LOCAL_RANK 1");
    CHECK(rank_in({{"MPI_LOCALRANKID", "2"}, {"PMI_LOCAL_RANK", "5"}}) == "MPI_LOCALRANKID 2");
    CHECK(rank_in({{"PMI_LOCAL_RANK", "5"}}) == "PMI_LOCAL_RANK 5");
    CHECK(rank_in({{"LOCAL_RANK", "3"}, {"MINE", "6"}}, "MINE") == "MINE 6");
    CHECK(rank_in({{"LOCAL_RANK", "3"}}, "MINE") == "MINE is not set");
    CHECK(rank_in({{"LOCAL_RANK", "three"}}) == "LOCAL_RANK=three is no local rank");
    CHECK(rank_in({}) == "no local rank in the environment");
}

TEST_CASE("SLURM_LOCALID is a local rank only where the tasks are the ranks", "[cli][exec]") {
    const std::string id = "SLURM_LOCALID";
    const std::string binding = "RAILHEAD_BINDING";
    CHECK(rank_in({{id, "2"}, {binding, "none: 3 tasks share 8 GPUs unevenly"}}) ==
          "SLURM_LOCALID 2");
    // All processes of the task have the same number there.
    CHECK(rank_in({{id, "0"}, {binding, "none: it has all GPUs of the step"}}) ==
          "no local rank in the environment");
    CHECK(rank_in({{id, "1"}, {binding, "none: --cpu-bind was given"}}) ==
          "no local rank in the environment");
    CHECK(rank_in({{id, "1"}, {binding, "gpu"}}) == "no local rank in the environment");
    CHECK(rank_in({{id, "1"}}, id) == "SLURM_LOCALID 1");  // the user says so
}

TEST_CASE("a rank's place is that of the device it sees", "[cli][exec]") {
    struct Case {
        std::string why;
        std::optional<unsigned> rank;
        std::optional<std::string> visible;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"nothing narrowed", 1, {}, "5"},
        {"the task's own list", 1, "4,5", "5"},
        {"a range", 1, "4-5", "5"},
        {"put in another order", 0, "5,4", "5"},
        {"narrowed to one: the rank does not count", 0, "5", "5"},
        {"narrowed to one, without a rank", {}, "5", "5"},
        {"a device that is not the task's", 0, "7", "GPU 7 is not one of the task's"},
        {"more ranks than GPUs", 2, {}, "local rank 2 is beyond the task's 2 GPUs"},
        {"more ranks than it sees", 2, "4,5", "local rank 2 is beyond the 2 GPUs that it sees"},
        {"no rank", {}, "4,5", "no local rank"},
        {"no rank, no list", {}, {}, "no local rank"},
    }));
    CAPTURE(c.why);
    CHECK(place_of(c.rank, c.visible) == c.expected);
}

TEST_CASE("what is no map is refused", "[cli][exec][errors]") {
    for (const std::string text : {"", "[]", "{}", "[1]", "[{}]", R"([{"index":-1}])",
                                   R"([{"index":0,"cpus":"x"}])", "[{"}) {
        CAPTURE(text);
        CHECK_FALSE(cli::parse_gpu_map(text));
    }
}

TEST_CASE("a dry run says what a rank would get", "[cli][exec]") {
    const Job job;
    const ScopedVariable rank{"LOCAL_RANK", "0"};
    const auto ran = run({"exec", "--dry-run", "--", "python", "train.py", "--verbose"});
    CHECK(ran.status == 0);
    CHECK(ran.out ==
          "railhead: node n01 local rank 0 (LOCAL_RANK): GPU 4 (0000:9d:00.0), CPUs 0 (NUMA 0), "
          "memory 0, NIC mlx5_6:1 PXB\n");
    CHECK(ran.err.empty());
}

TEST_CASE("CPUs outside this process's mask are no reason to stop", "[cli][exec]") {
    const Job job;
    const ScopedVariable rank{"LOCAL_RANK", "1"};
    const auto ran = run({"exec", "--dry-run"});
    CHECK(ran.status == 0);
    CHECK_THAT(ran.out,
               ContainsSubstring("as they were: those near the GPU are not in this process's mask, "
                                 "memory as it was, NIC none\n"));
}

TEST_CASE("without a map or a rank the command runs as it is, and is told once",
          "[cli][exec][errors]") {
    Job job;
    SECTION("no rank") {
        const auto ran = run({"exec", "/nonexistent/train"});
        CHECK(ran.status == 127);
        CHECK(ran.err ==
              "railhead: exec: no local rank in the environment: /nonexistent/train is not bound\n"
              "railhead: exec: cannot run \"/nonexistent/train\": No such file or directory\n");
    }
    SECTION("no map") {
        ::unsetenv("RAILHEAD_GPU_MAP");
        const auto* const rank = GENERATE("0", "1");
        const ScopedVariable own{"LOCAL_RANK", rank};
        const auto ran = run({"exec", "--", "/nonexistent/train"});
        CHECK(ran.status == 127);
        const bool told = ran.err.find("there is no RAILHEAD_GPU_MAP") != std::string::npos;
        CHECK(told == (std::string{rank} == "0"));
    }
}

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
