// Who gets a checkpoint's signal, on trees of processes made by hand.
#include "checkpoint/targets.hpp"

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace railhead::checkpoint;

namespace {

struct Process {
    std::string name;
    bool catches = false;
    std::vector<pid_t> children;
};
using Tree = std::map<pid_t, Process>;

ProcessView view_of(const Tree& tree) {
    return {[&tree](pid_t pid) -> std::optional<ProcessStatus> {
                const auto found = tree.find(pid);
                if (found == tree.end()) {
                    return std::nullopt;
                }
                constexpr std::uint64_t usr1 = std::uint64_t{1} << (SIGUSR1 - 1U);
                return ProcessStatus{found->second.name, 1, found->second.catches ? usr1 : 0};
            },
            [&tree](pid_t pid) { return tree.at(pid).children; }};
}

using Pids = std::vector<pid_t>;

}  // namespace

TEST_CASE("only processes that catch the signal get it, of a family the eldest",
          "[checkpoint][targets]") {
    struct Case {
        std::string why;
        Tree tree;
        Pids signalled;
    };
    const auto c = GENERATE(values<Case>({
        {"a trainer", {{1, {"python3", true, {}}}}, {1}},
        {"an unprepared program", {{1, {"a.out", false, {}}}}, {}},
        {"data loaders have inherited the handler, not its meaning",
         {{1, {"python3", true, {2, 3}}}, {2, {"python3", true, {}}}, {3, {"python3", true, {}}}},
         {1}},
        {"data loaders that do not catch it",
         {{1, {"python3", true, {2}}}, {2, {"python3", false, {}}}},
         {1}},
        {"a shell between", {{1, {"bash", false, {2}}}, {2, {"python3", true, {}}}}, {2}},
        {"a shell with a trap passes it on itself",
         {{1, {"bash", true, {2}}}, {2, {"python3", true, {}}}},
         {1}},
        {"torchrun's workers, by what its program is called",
         {{1, {"torchrun", false, {2, 3}}},
          {2, {"python3", true, {4}}},
          {3, {"python3", true, {}}},
          {4, {"python3", true, {}}}},
         {2, 3}},
        {"a launcher that ends at what it catches, as torchrun at TERM",
         {{1, {"torchrun", true, {2}}}, {2, {"python3", true, {}}}},
         {2}},
        {"a launcher that would hand it on to ranks that do not catch it",
         {{1, {"mpirun", true, {2}}}, {2, {"a.out", false, {}}}},
         {}},
        {"one rank that catches it beside one that does not",
         {{1, {"bash", false, {2, 3}}}, {2, {"a.out", false, {}}}, {3, {"python3", true, {}}}},
         {3}},
        {"a task that Slurm has not started yet", {{1, {"slurmstepd", true, {}}}}, {}},
        {"a child that ended meanwhile", {{1, {"bash", false, {2}}}}, {}},
    }));
    CAPTURE(c.why);
    CHECK(find_catching(view_of(c.tree), 1, SIGUSR1, true).pids == c.signalled);
}

TEST_CASE("nothing is sent through srun, whose step has its own clock", "[checkpoint][targets]") {
    const Tree tree{{1, {"bash", false, {2}}}, {2, {"srun", true, {3}}}, {3, {"srun", true, {}}}};
    const auto found = find_catching(view_of(tree), 1, SIGUSR1, true);
    CHECK(found.pids.empty());
    CHECK(found.has_step);
}

TEST_CASE("a batch script's own trap is not for the ranks' signal", "[checkpoint][targets]") {
    const Tree tree{{1, {"slurm_script", true, {2}}}, {2, {"python3", true, {}}}};
    CHECK(find_catching(view_of(tree), 1, SIGUSR1, true).pids == Pids{1});
    CHECK(find_catching(view_of(tree), 1, SIGUSR1, false).pids == Pids{2});
}

TEST_CASE("a process that is gone is told from one that does not catch it",
          "[checkpoint][targets]") {
    const Tree tree{{1, {"sleep", false, {}}}};
    CHECK(find_catching(view_of(tree), 1, SIGUSR1, true).name == "sleep");
    CHECK(find_catching(view_of(tree), 9, SIGUSR1, true).name.empty());
}

TEST_CASE("a table of processes with a ring in it is not followed for ever",
          "[checkpoint][targets]") {
    const Tree tree{{1, {"a", false, {2}}}, {2, {"b", false, {1}}}};
    CHECK(find_catching(view_of(tree), 1, SIGUSR1, true).pids.empty());
}

TEST_CASE("the kernel's words on a process are read", "[checkpoint][targets]") {
    const auto status = parse_process_status(
        "Name:\ttorch run\nUmask:\t0022\nState:\tS (sleeping)\nPid:\t7\nPPid:\t5\n"
        "SigIgn:\t0000000001001000\nSigCgt:\t0000000000000a00\n");
    REQUIRE(status);
    CHECK(status->name == "torch run");
    CHECK(status->parent == 5);
    CHECK(status->catches(SIGUSR1));  // bit 9
    CHECK(status->catches(SIGUSR2));  // bit 11
    CHECK_FALSE(status->catches(SIGTERM));
    CHECK_FALSE(status->catches(0));
    CHECK_FALSE(status->catches(65));
}

TEST_CASE("how many PID namespaces lie between /proc and a process is read", "[checkpoint][targets]") {
    const std::string status = "Name:\tx\nPPid:\t1\nSigCgt:\t0\n";
    CHECK(parse_process_status(status)->namespaces == 0);  // Linux 4.0
    CHECK(parse_process_status(status + "NSpid:\t7\n")->namespaces == 1);
    CHECK(parse_process_status(status + "NSpid:\t7\t1\n")->namespaces == 2);
}

TEST_CASE("a status without what is asked is none", "[checkpoint][targets]") {
    const std::string text =
        GENERATE("", "Name:\tx\nPPid:\t1\n", "Name:\tx\nPPid:\t1\nSigCgt:\tzz\n",
                 "Name:\tx\nPPid:\t\nSigCgt:\t0\n");
    CHECK_FALSE(parse_process_status(text));
}
