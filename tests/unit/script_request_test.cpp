#include "job/script.hpp"

#include "support/catch.hpp"
#include "support/scripts.hpp"

using namespace railhead;

TEST_CASE("node counts, times and sizes are read in all their forms", "[script]") {
    struct Case {
        std::string option;
        std::string nodes;
    };
    const auto nodes = GENERATE(values<Case>({
        {"-N 4", "4"},
        {"-N2-4", "2-4"},
        {"-N -4", "1-4"},
        {"-N 4k", "4096"},
        {"-N1m", "1048576"},
        {"-N \"2 \"", "2"},
        {"-N 0", "0-"},
        {"-N 2-8:2", "2-8"},
        {"-N 1,4,16", "1-16"},
        {"-w n[1-3]", "3-"},
        {"-w n[1-3],n2", "3-"},
        {"-w n[1-3] -N5", "5"},
        {"--nodelist= -N2", "2"},
    }));
    CAPTURE(nodes.option);

    const auto script = test::parse_directives("#SBATCH " + nodes.option + "\n");

    REQUIRE(script);
    CHECK(test::nodes_of(script->components[0].request) == nodes.nodes);
}

TEST_CASE("a time limit is minutes unless it says more", "[script]") {
    const auto [text, minutes] = GENERATE(table<std::string, std::uint32_t>({
        {"15", 15},
        {"15:00", 15},
        {"0:61", 2},
        {"1:30:00", 90},
        {"1-0", 1440},
        {"1-", 1440},
        {"1-2:3:4", 1564},
        {"2-12:30", 3630},
        {"0", job::unlimited},
        {"UNLIMITED", job::unlimited},
        {"infinite", job::unlimited},
        {"-1", job::unlimited},
    }));
    CAPTURE(text);

    const auto script = test::parse_directives("#SBATCH -t " + text + "\n");

    REQUIRE(script);
    CHECK(script->components[0].request.time_limit_min == minutes);
}

TEST_CASE("a size is MiB unless it says more", "[script]") {
    const auto [text, megabytes] = GENERATE(table<std::string, std::uint64_t>({
        {"64", 64},
        {"64M", 64},
        {"16g", 16384},
        {"16GB", 16384},
        {"1T", 1048576},
        {"1500k", 2},
        {"0", 0},
    }));
    CAPTURE(text);

    const auto script = test::parse_directives("#SBATCH --mem=" + text + "\n");

    REQUIRE(script);
    CHECK(script->components[0].request.mem_per_node_mb == megabytes);
}

TEST_CASE("GPU options become resource strings", "[script][gpu]") {
    struct Case {
        std::string why;
        std::string options;
        std::string per_job, per_node, per_socket, per_task, bind;
    };
    const auto c = GENERATE(values<Case>({
        {"--gpus", "--gpus=16", "gpu:16", "", "", "", ""},
        {"-G, typed", "-G h100:16", "gpu:h100:16", "", "", "", ""},
        {"several types", "-G a100:2,h100:1", "gpu:a100:2,gpu:h100:1", "", "", "", ""},
        {"--gres", "--gres=gpu:h100:8,nic:2", "", "gpu:h100:8,nic:2", "", "", ""},
        {"--gres=none", "--gres=none", "", "", "", "", ""},
        {"--gpus-per-node and --gres, as sbatch joins them", "--gpus-per-node=8 --gres=gpu:4", "",
         "gpu:8,gpu:4", "", "", ""},
        {"--gpus-per-task", "-n2 --gpus-per-task=h100:1", "", "", "", "gpu:h100:1", ""},
        {"--gpus-per-socket", "--gpus-per-socket=4 --sockets-per-node=2", "", "", "gpu:4", "", ""},
        {"--tres-per-task", "-n2 --tres-per-task=cpu=4,gres/gpu=1", "", "", "", "cpu=4,gres/gpu=1",
         ""},
        {"--gpu-bind", "--gpu-bind=closest", "", "", "", "", "gres/gpu:closest"},
        {"--tres-bind", "--tres-bind=gres/gpu:none", "", "", "", "", "gres/gpu:none"},
    }));
    CAPTURE(c.why);

    const auto script = test::parse_directives("#SBATCH " + c.options + "\n");

    REQUIRE(script);
    const auto& request = script->components[0].request;
    CHECK(request.gpus_per_job == c.per_job);
    CHECK(request.gpus_per_node == c.per_node);
    CHECK(request.gpus_per_socket == c.per_socket);
    CHECK(request.gpus_per_task == c.per_task);
    CHECK(request.gpu_bind == c.bind);
}

TEST_CASE("nodes and tasks that sbatch works out are in the request", "[script][gpu]") {
    struct Case {
        std::string why;
        std::string options;
        std::string nodes;
        std::optional<std::uint32_t> tasks;
        std::optional<std::uint32_t> tasks_per_node;
    };
    constexpr std::nullopt_t open = std::nullopt;
    const auto c = GENERATE_REF(values<Case>({
        {"GPUs alone", "--gpus=16", "", open, open},
        {"GPUs by GPUs a node are nodes", "--gpus=16 --gpus-per-node=8", "2", open, open},
        {"GPUs by GPUs a task are tasks", "--gpus=16 --gpus-per-task=1", "", 16, open},
        {"GPUs a node by GPUs a task are tasks a node", "-n16 --gres=gpu:8 --gpus-per-task=1", "",
         16, 8},
        {"tasks a GPU", "--gpus=8 --ntasks-per-gpu=2", "", 16, open},
        {"fixed nodes, GPUs by task", "-N2 --ntasks-per-node=8 --gpus-per-task=1", "2", 16, 8},
        {"fixed nodes alone set no tasks", "-N2", "2", open, open},
        {"-B sets tasks", "-N2 -B 2:4:1", "2", 16, open},
        {"a hint sets threads, and those set tasks", "-N2 --hint=nomultithread", "2", 2, open},
        {"fewer tasks than nodes", "-N4 -n2", "2", 2, open},
        {"never more nodes than tasks", "-N1-8 -n4", "1-4", 4, open},
        {"never more nodes than GPUs", "-N1-8 -G4", "1-4", open, open},
    }));
    CAPTURE(c.why);

    const auto script = test::parse_directives("#SBATCH " + c.options + "\n");

    REQUIRE(script);
    const auto& request = script->components[0].request;
    CHECK(test::nodes_of(request) == c.nodes);
    CHECK(request.tasks == c.tasks);
    CHECK(request.tasks_per_node == c.tasks_per_node);
}

TEST_CASE("the CPUs of a job are counted as sbatch counts them", "[script]") {
    const auto [options, cpus] = GENERATE(table<std::string, std::uint32_t>({
        {"", 1},
        {"-n 8", 8},
        {"-n 8 -c 4", 32},
        {"-N 4", 4},
        {"-N 4 -c 4", 16},
        {"-N 2-4 -c 4", 4},
        {"-N 2 --ntasks-per-node=8 -c 4", 64},
        {"-N 4 -n 8 -O", 4},
        {"-N 0", 0},
        {"-G 16 --gpus-per-task=1 -c 4", 64},
    }));
    CAPTURE(options);

    const auto script = test::parse_directives("#SBATCH " + options + "\n");

    REQUIRE(script);
    CHECK(script->components[0].request.min_cpus == cpus);
}

TEST_CASE("every other option finds its place in the request", "[script]") {
    const auto script = test::parse_directives(
        "#SBATCH -p a,b -A acc -q q --reservation=r -C 'x&y' --prefer=z -x n[8-9] --exclusive\n"
        "#SBATCH -n8 -c4 --mem-per-cpu=2G --tmp=1G -S2 --contiguous -O --spread-job "
        "--use-min-nodes\n"
        "#SBATCH --switches=2@10:00 --segment=4 -a 0-9 --ntasks-per-socket=2 --ntasks-per-core=1\n"
        "#SBATCH --mp-group=4 --railhead=off --container-image=x\n");

    REQUIRE(script);
    const auto& r = script->components.at(0).request;
    CHECK(r.partition == "a,b");
    CHECK(r.account == "acc");
    CHECK(r.qos == "q");
    CHECK(r.reservation == "r");
    CHECK(r.constraint == "x&y");
    CHECK(r.prefer == "z");
    CHECK(r.exclude == "n[8-9]");
    CHECK(r.sharing == job::Sharing::exclusive);
    CHECK(r.tasks == 8);
    CHECK(r.cpus_per_task == 4);
    CHECK(r.min_cpus_per_node == 4);  // as sbatch fills it in
    CHECK(r.mem_per_cpu_mb == 2048);
    CHECK_FALSE(r.mem_per_node_mb);
    CHECK(r.tmp_disk_mb == 1024);
    CHECK(r.core_spec == 2);
    CHECK(r.contiguous);
    CHECK(r.overcommit);
    CHECK(r.spread);
    CHECK(r.use_min_nodes);
    CHECK(r.switches == 2);
    CHECK(r.switch_wait_s == 600);
    CHECK(r.segment == 4);
    CHECK(r.tasks_per_socket == 2);
    CHECK(r.tasks_per_core == 1);
    CHECK(r.model_parallel_group == 4);
    CHECK(r.off);
    CHECK(r.array);
    CHECK(r.batch);
    CHECK(test::warnings_of(*script).empty());
}

TEST_CASE("the variables of --switches set one half each", "[script]") {
    const auto script =
        test::parse_directives("#SBATCH --switches=2@10:00\n", {}, {{"SBATCH_REQ_SWITCH", "1"}})
            .value();
    CHECK(script.components[0].request.switches == 1);
    CHECK(script.components[0].request.switch_wait_s == 600);

    const auto waiting =
        test::parse_directives("", {}, {{"SBATCH_WAIT4SWITCH", "1:00:00"}}).value();
    CHECK_FALSE(waiting.components[0].request.switches);
    CHECK(waiting.components[0].request.switch_wait_s == 3600);
}

TEST_CASE("RAILHEAD in the environment acts like the option", "[script]") {
    CHECK(test::parse_directives("", {}, {{"RAILHEAD", "off"}})->components[0].request.off);
    CHECK(test::parse_directives("", {}, {{"RAILHEAD", "0"}})->components[0].request.off);
    CHECK_FALSE(test::parse_directives("", {}, {{"RAILHEAD", "on"}})->components[0].request.off);
    CHECK_FALSE(test::parse_directives("", {"--railhead=on"}, {{"RAILHEAD", "off"}})
                    ->components[0]
                    .request.off);
    CHECK(test::parse_directives("", {}, {{"RAILHEAD_MP_GROUP", "8"}})
              ->components[0]
              .request.model_parallel_group == 8);
}
