#include <fmt/format.h>
#include <fmt/ranges.h>

#include "affinity/binding.hpp"
#include "affinity/cpu_bind.hpp"
#include "affinity/cpu_mask.hpp"
#include "affinity/task_gpus.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"

namespace affinity = railhead::affinity;
using affinity::StepTasks;
using affinity::TaskGpus;
using railhead::CpuSet;
using railhead::test::cpus;
using railhead::test::node_with;
using railhead::test::recorded_node;

namespace {

using Positions = std::vector<std::size_t>;

const Positions eight{0, 1, 2, 3, 4, 5, 6, 7};

affinity::Binding bind(const railhead::node::Node& node, const affinity::StepTasks& step,
                       const affinity::TaskGpus& task, const affinity::Grant& grant) {
    return affinity::bind_task(node, affinity::share_step(node, step, grant), task, grant);
}

/// What each task of a step is bound to when it sees all the step's GPUs: "0-7 | 8-15", or the
/// reason in brackets.
std::string bindings(const railhead::node::Node& node, const StepTasks& step,
                     affinity::Grant grant) {
    std::vector<std::string> all;
    for (unsigned task = 0; task < step.tasks; ++task) {
        const auto binding = bind(node, step, affinity::gpus_of_task(step, step.gpus, task), grant);
        all.push_back(binding.reason.empty() ? to_string(binding.cpus)
                                             : "[" + binding.reason + "]");
    }
    return fmt::format("{}", fmt::join(all, " | "));
}

affinity::Grant granted(const std::string& list, unsigned cpus_per_task = 1) {
    return {cpus(list), cpus(list), cpus_per_task};
}

/// Two sockets of 8 cores with 2 threads each, as Linux numbers them: siblings are c and c + 16.
railhead::node::Node smt_node(std::size_t gpus_per_socket) {
    auto node = node_with(std::vector<std::vector<railhead::node::Path>>(2 * gpus_per_socket));
    std::vector<std::string> near(gpus_per_socket, "0-7,16-23");
    near.resize(2 * gpus_per_socket, "8-15,24-31");
    railhead::test::add_cores(node, 16, 2, near);
    return node;
}

}  // namespace

// ---- which GPUs a task uses ---------------------------------------------------------------

TEST_CASE("tasks that see all GPUs take them by local rank", "[affinity]") {
    struct Case {
        std::string why;
        unsigned tasks, local_id;
        Positions gpus;
        unsigned sharers, turn;
        bool certain;
    };
    const auto c = GENERATE(values<Case>({
        {"one each", 8, 5, {5}, 1, 0, true},
        {"two each", 4, 3, {6, 7}, 1, 0, true},
        {"half each", 2, 1, {4, 5, 6, 7}, 1, 0, true},
        {"all for one", 1, 0, {0, 1, 2, 3, 4, 5, 6, 7}, 1, 0, true},
        {"two tasks a GPU", 16, 11, {3}, 2, 1, true},
        {"one more task than GPUs", 9, 0, {0}, 2, 0, true},
        {"one more task than GPUs: the others alone", 9, 1, {1}, 1, 0, true},
        {"uneven", 3, 1, {0, 1, 2, 3, 4, 5, 6, 7}, 3, 1, false},
    }));
    CAPTURE(c.why);
    const auto task = affinity::gpus_of_task({eight, c.tasks}, eight, c.local_id);
    CHECK(task.gpus == c.gpus);
    CHECK(task.sharers == c.sharers);
    CHECK(task.turn == c.turn);
    CHECK(task.certain == c.certain);
}

TEST_CASE("a task that Slurm narrowed uses what it sees", "[affinity]") {
    const auto task =
        affinity::gpus_of_task({eight, 8}, {6}, 0);  // --gpu-bind: task 0 is not GPU 0
    CHECK(task.gpus == Positions{6});
    CHECK(task.certain);
}

TEST_CASE("where the step's GPUs are not known, only one GPU or one task is certain",
          "[affinity]") {
    CHECK(affinity::gpus_of_task({{}, 4}, {6}, 2).gpus == Positions{6});
    CHECK(affinity::gpus_of_task({{}, 4}, {6}, 2).certain);
    CHECK(affinity::gpus_of_task({{}, 1}, {6, 7}, 0).certain);
    CHECK_FALSE(affinity::gpus_of_task({{}, 4}, {6, 7}, 2).certain);
}

// ---- shares -------------------------------------------------------------------------------

TEST_CASE("eight tasks on a DGX H100 get eight cores each, near their GPUs", "[affinity]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    CHECK(bindings(dgx, {eight, 8}, granted("0-63")) ==
          "0-7 | 8-15 | 16-23 | 24-31 | 32-39 | 40-47 | 48-55 | 56-63");
    CHECK(bindings(dgx, {eight, 2}, granted("0-63")) == "0-31 | 32-63");
}

TEST_CASE("shares keep the threads of a core together", "[affinity]") {
    CHECK(bindings(smt_node(2), {{0, 1, 2, 3}, 4}, granted("0-31")) ==
          "0-3,16-19 | 4-7,20-23 | 8-11,24-27 | 12-15,28-31");
}

TEST_CASE("a step without the second threads gets none of them", "[affinity]") {
    CHECK(bindings(smt_node(1), {{0, 1}, 2}, granted("0-15")) == "0-7 | 8-15");
}

TEST_CASE("shares that do not go round evenly differ by one core", "[affinity]") {
    auto node = node_with(std::vector<std::vector<railhead::node::Path>>(3));
    railhead::test::add_cores(node, 8, 1, {"0-7", "0-7", "0-7"});
    CHECK(bindings(node, {{0, 1, 2}, 3}, granted("0-7")) == "0-1 | 2-4 | 5-7");
}

TEST_CASE("tasks on one GPU divide its share", "[affinity]") {
    CHECK(bindings(smt_node(1), {{0, 1}, 4}, granted("0-31")) ==
          "0-3,16-19 | 8-11,24-27 | 4-7,20-23 | 12-15,28-31");
}

TEST_CASE("only GPUs of the step take part", "[affinity]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    CHECK(bindings(dgx, {{1, 3}, 2}, granted("0-63")) == "0-15 | 16-31");
    CHECK(bindings(dgx, {{6}, 1}, granted("0-63")) == "32-63");
}

TEST_CASE("no share overlaps another or leaves the grant", "[affinity]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    const auto list = GENERATE("0-63", "0-40", "3,5,7-20,33,35-60", "0,2,4,6,8,32,34,36,38,40");
    const auto grant = cpus(list);
    CpuSet seen;
    for (const auto& share : affinity::share_cpus(dgx, eight, grant)) {
        CHECK((share.cpus & seen).empty());
        CHECK((share.cpus - grant).empty());
        seen |= share.cpus;
    }
    CHECK(seen == grant);
}

TEST_CASE("a GPU without own locality shares the whole machine", "[affinity]") {
    auto vm = node_with(std::vector<std::vector<railhead::node::Path>>(2));
    railhead::test::add_cores(vm, 8, 1, {"0-7", "0-7"});
    CHECK(bindings(vm, {{0, 1}, 2}, granted("0-7")) == "0-3 | 4-7");
}

// ---- when a task is left alone ------------------------------------------------------------

TEST_CASE("CPUs on the wrong socket are no error", "[affinity]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    // All CPUs of the job are on socket 0: the task of GPU 1 stays, that of GPU 7 has none near.
    CHECK(bindings(dgx, {{1, 7}, 1}, granted("0-7")) == "0-7");
    const StepTasks step{{1, 7}, 2};
    const affinity::Grant second{cpus("0-7"), cpus("4-7"), 4};
    const auto binding = bind(dgx, step, {{7}}, second);
    CHECK(binding.cpus.empty());
    CHECK(binding.reason == "no granted CPU is near GPU 7");
}

TEST_CASE("beside a task that is left alone, nobody takes its CPUs", "[affinity]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    const StepTasks step{{1, 7}, 2};
    const affinity::Grant first{cpus("0-7"), cpus("0-3"), 4};
    CHECK(bind(dgx, step, {{1}}, first).cpus == cpus("0-3"));
}

TEST_CASE("a task is never left with fewer CPUs than it asked for", "[affinity]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    SECTION("12 CPUs on one socket, 4 on the other, 8 asked for") {
        CHECK(bindings(dgx, {{0, 4}, 2}, granted("0-11,32-35", 8)) ==
              "0-11 | [too few granted CPUs are near GPU 4]");
    }
    SECTION("two tasks would share the only CPU near both") {
        CHECK(bindings(dgx, {{0, 1}, 2}, granted("0,32")) ==
              "[too few granted CPUs are near GPU 0] | [too few granted CPUs are near GPU 1]");
    }
    SECTION("overcommitted, sharing is what was asked for") {
        const auto two = recorded_node("two-cpu-8gpu.xml");
        CHECK(bindings(two, {eight, 8}, granted("0-1")) == "0 | 0 | 0 | 0 | 1 | 1 | 1 | 1");
    }
}

TEST_CASE("a task whose GPUs cannot be told is left alone", "[affinity]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    CHECK(bind(dgx, {eight, 3}, affinity::gpus_of_task({eight, 3}, eight, 0), granted("0-63"))
              .reason == "3 tasks share 8 GPUs unevenly");
    CHECK(bind(dgx, {eight, 8}, {}, granted("0-63")).reason == "it has no GPU");
}

// ---- whose binding ------------------------------------------------------------------------

TEST_CASE("the option --cpu-bind is found in srun's command line", "[affinity][cpu_bind]") {
    using namespace std::string_literals;
    const auto [line, expected] = GENERATE(table<std::string, bool>({
        {"srun\0-n2\0--cpu-bind=cores\0./a.out\0"s, true},
        {"srun\0--cpu-bind\0none\0./a.out\0"s, true},
        {"srun\0--cpu_bind=map_cpu:0,1\0./a.out\0"s, true},
        {"srun\0--cpu-b=sockets\0./a.out\0"s, true},
        {"srun\0--cpu-bind=verbose\0--cpu-bind=rank\0./a.out\0"s, true},
        {"srun\0--cpu-bind=verbose\0./a.out\0"s, false},
        {"srun\0--cpu-bind\0quiet\0./a.out\0"s, false},
        {"srun\0--cpus-per-task=8\0--cpu-freq=high\0./a.out\0"s, false},
        {"srun\0--cpu-bind"s, false},
        {""s, false},
    }));
    CAPTURE(line);
    CHECK(affinity::command_binds_tasks(line) == expected);
}

TEST_CASE("only srun's own options bind; in doubt a task stays unbound", "[affinity][cpu_bind]") {
    using namespace std::string_literals;
    const auto [why, line, expected] = GENERATE(table<std::string, std::string, bool>({
        {"another option", "srun\0--cpu-burn=4\0a.out\0"s, false},
        {"longer than the name", "srun\0--cpu-binding=4\0a.out\0"s, false},
        {"both spellings mixed up", "srun\0--cpu_bin=none\0a.out\0"s, true},
        {"not long enough to be clear", "srun\0--cpu=none\0a.out\0"s, false},
        {"the program's: after --", "srun\0--\0a.out\0--cpu-bind=none\0"s, false},
        {"after -- that may be a value", "srun\0-l\0--\0a.out\0--cpu-bind=none\0"s, false},
        {"-- is a value", "srun\0--comment\0--\0--cpu-bind=none\0a.out\0"s, true},
        {"the program's: at once", "srun\0a.out\0--cpu-bind=none\0"s, false},
        {"after a value", "srun\0-n\0002\0a.out\0--cpu-bind=none\0"s, false},
        {"after an option with its value", "srun\0--mpi=pmix\0a.out\0--cpu-bind=x\0"s, false},
        {"after a short one with its value", "srun\0-n16\0./a.out\0--cpu-bind=x\0"s, false},
        {"in doubt: -l has no value", "srun\0-l\0a.out\0--cpu-bind=x\0"s, true},
        {"in doubt, until two words", "srun\0-l\0python\0a.py\0--cpu-bind=x\0"s, false},
        {"a value with a path is no program",
         "srun\0--output\0logs/a.sh\0--cpu-bind=none\0a.out\0"s, true},
        {"a value that looks like it", "srun\0--comment\0--cpu-bind=none\0a.out\0"s, true},
        {"short ones in one word", "srun\0-ln\0002\0--cpu-bind=none\0a.out\0"s, true},
        {"the next component's", "srun\0a.out\0:\0--cpu-bind=none\0b.out\0"s, true},
        {"the next component's program", "srun\0a.out\0:\0b.out\0--cpu-bind=none\0"s, false},
    }));
    CAPTURE(why);
    CHECK(affinity::command_binds_tasks(line) == expected);
}

TEST_CASE("the option --mem-bind is found as --cpu-bind is", "[affinity][cpu_bind]") {
    using namespace std::string_literals;
    const auto [line, expected] = GENERATE(table<std::string, bool>({
        {"srun\0--mem-bind=local\0./a.out\0"s, true},
        {"srun\0--mem-bind\0none\0./a.out\0"s, true},
        {"srun\0--mem_bind=verbose,map_mem:0\0./a.out\0"s, true},
        {"srun\0--mem-bind=verbose\0./a.out\0"s, false},
        {"srun\0--mem-bind=nosort\0./a.out\0"s, false},
        {"srun\0--mem-bandwidth=9\0./a.out\0"s, false},
        {"srun\0./a.out\0--mem-bind=local\0"s, false},
        {"srun\0--mem-per-cpu=4G\0--mem=0\0./a.out\0"s, false},
        {"srun\0--cpu-bind=cores\0./a.out\0"s, false},
    }));
    CAPTURE(line);
    CHECK(affinity::command_binds_memory(line) == expected);
    CHECK(affinity::variables_bind_memory("local"));
    CHECK(affinity::variables_bind_memory("map_mem:"));
    CHECK_FALSE(affinity::variables_bind_memory(""));
    CHECK_FALSE(affinity::variables_bind_memory("prefer,"));
}

TEST_CASE("Slurm's variables tell --cpu-bind from --hint", "[affinity][cpu_bind]") {
    const auto [type, list, expected] = GENERATE(table<std::string, std::string, bool>({
        {"cores", "cores", true},
        {"none", "", true},
        {"rank", "", true},
        {"map_cpu:", "0,1", true},
        {"threads,mask_cpu:", "0x1,0x2", true},
        {"threads", "", false},
        {"", "verbose", false},
        {"", "", false},
    }));
    CAPTURE(type, list);
    CHECK(affinity::variables_bind_tasks(type, list) == expected);
}

// ---- masks --------------------------------------------------------------------------------

TEST_CASE("Slurm's masks are read", "[affinity][mask]") {
    CHECK(affinity::parse_cpu_mask("0x1") == cpus("0"));
    CHECK(affinity::parse_cpu_mask("0xFf00") == cpus("8-15"));
    CHECK(affinity::parse_cpu_mask("8000000000000000000000000001") == cpus("0,111"));
    CHECK(affinity::parse_cpu_mask("0x0") == CpuSet{});
    CHECK(affinity::parse_cpu_masks("0x1,0x2,0x10") == cpus("0-1,4"));
}

TEST_CASE("what is no mask is refused", "[affinity][mask][errors]") {
    for (const std::string& text : {std::string{}, std::string{"0x"}, std::string{"cores"},
                                    std::string{"0x1g"}, "0x" + std::string(20000, 'f')}) {
        CHECK_FALSE(affinity::parse_cpu_mask(text));
    }
    CHECK_FALSE(affinity::parse_cpu_masks("0x1,,0x2"));
}
