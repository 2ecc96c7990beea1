#include "job/script.hpp"

#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/catch.hpp"

using namespace railhead;
using job::Script;
using job::ScriptOption;

namespace {

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

Result<Script> parse(const std::string& directives, const Arguments& arguments = {},
                     const Environment& environment = {}) {
    return job::parse_script("#!/bin/bash\n" + directives, "job.sbatch", arguments, environment);
}

/// "nodes=2 exclusive | ntasks=4": the options in force, sorted by name, components apart.
std::string options_of(const Script& script) {
    std::vector<std::string> components;
    for (const auto& component : script.components) {
        std::vector<std::string> options;
        for (const auto& option : component.options) {
            options.push_back(option.value.empty() ? option.name : option.name + "=" + option.value);
        }
        std::ranges::sort(options);
        components.push_back(fmt::format("{}", fmt::join(options, " ")));
    }
    return fmt::format("{}", fmt::join(components, " | "));
}

std::string warnings_of(const Script& script) {
    std::string text;
    for (const auto& warning : script.warnings) {
        text += to_string(warning) + "\n";
    }
    return text;
}

/// "2", "2-4", "2-", "": a node count.
std::string nodes_of(const job::JobRequest& request) {
    const auto shown = [](const auto& number) {
        return number ? std::to_string(*number) : std::string{};
    };
    if (request.min_nodes == request.max_nodes) {
        return shown(request.min_nodes);
    }
    return shown(request.min_nodes) + "-" + shown(request.max_nodes);
}

}  // namespace

TEST_CASE("#SBATCH lines are found and cut as sbatch does", "[script]") {
    struct Case {
        std::string why;
        std::string text;
        std::string expected;
    };
    // Every row was checked against sbatch 22.05.8: "sbatch -v" lists the options in force.
    const auto c = GENERATE(values<Case>({
        {"short option, glued", "#SBATCH -N2\n", "nodes=2"},
        {"short option, apart", "#SBATCH -N 2\n", "nodes=2"},
        {"long option with =", "#SBATCH --nodes=2\n", "nodes=2"},
        {"long option, apart", "#SBATCH --nodes 2\n", "nodes=2"},
        {"several on a line", "#SBATCH -N2 --gres=gpu:8 -t 5\n", "gres=gpu:8 nodes=2 time=5"},
        {"tabs", "#SBATCH\t-N\t2\n", "nodes=2"},
        {"no blank behind #SBATCH", "#SBATCH-N2\n", "nodes=2"},
        {"flags stand together", "#SBATCH -HN2 -On4\n", "hold nodes=2 ntasks=4 overcommit"},
        {"an optional argument only glued", "#SBATCH -k -N2\n", "no-kill nodes=2"},
        {"an optional argument, glued", "#SBATCH -koff\n", "no-kill=off"},
        {"an optional argument by =", "#SBATCH --exclusive=user\n", "exclusive=user"},
        {"a name cut short", "#SBATCH --part=x --ntasks-per-n=4\n", "ntasks-per-node=4 partition=x"},
        {"a name that only newer releases make ambiguous", "#SBATCH --res=r\n", "reservation=r"},
        {"the other name of an option", "#SBATCH --tasks-per-node=8\n", "ntasks-per-node=8"},
        {"the last one counts", "#SBATCH -N2\n#SBATCH -N3\n", "nodes=3"},
        {"double quotes", "#SBATCH --job-name=\"a b\" -N2\n", "job-name=a b nodes=2"},
        {"single quotes around double ones", "#SBATCH --comment='c \"d\"'\n", "comment=c \"d\""},
        {"quotes within a word", "#SBATCH -J a\"b c\"d -p \"x\"\"y\"\n", "job-name=ab cd partition=xy"},
        {"an escaped quote", "#SBATCH -J a\\\"b\n", "job-name=a\"b"},
        {"an argument on the next line", "#SBATCH --nodes\n#SBATCH 3\n", "nodes=3"},
        {"a comment at the end", "#SBATCH -N2 # -n 4\n", "nodes=2"},
        {"# in quotes", "#SBATCH --comment=\"x # y\" -N2\n", "comment=x # y nodes=2"},
        {"an escaped #", "#SBATCH --comment=a\\#b -N2\n", "comment=a#b nodes=2"},
        {"# in a word ends the line", "#SBATCH --comment=a#b -N2\n", "comment=a"},
        {"an empty word ends the line", "#SBATCH \"\" -n4\n", ""},
        {"a backslash at the end means nothing", "#SBATCH -N2 \\\n#SBATCH -n3\n", "nodes=2 ntasks=3"},
        {"blank lines and comments between", "#SBATCH -N2\n\n# x\n   \n#SBATCH -n9\n",
         "nodes=2 ntasks=9"},
        {"nothing counts behind the first command", "#SBATCH -N2\nset -e\n#SBATCH -n9\n", "nodes=2"},
        {"a blank before #SBATCH", " #SBATCH -N2\n", ""},
        {"a blank behind #", "# SBATCH -N2\n", ""},
        {"two #", "##SBATCH -N2\n", ""},
        {"small letters", "#sbatch -N2\n", ""},
        {"the old name", "#SLURM -N2\n", "nodes=2"},
        {"no line end at the end", "#SBATCH -N2", "nodes=2"},
    }));
    CAPTURE(c.why, c.text);

    const auto script = parse(c.text);

    REQUIRE(script);
    CHECK(options_of(*script) == c.expected);
}

TEST_CASE("the command line goes before the environment, and that before the script", "[script]") {
    struct Case {
        std::string why;
        std::string text;
        Arguments arguments;
        Environment environment;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"command line before all", "#SBATCH -t5\n", {"-t7"}, {{"SBATCH_TIMELIMIT", "6"}}, "time=7"},
        {"environment before the script", "#SBATCH -p a\n", {}, {{"SBATCH_PARTITION", "e"}},
         "partition=e"},
        {"--gres replaces --gres, nothing adds up", "#SBATCH --gres=gpu:1\n", {"--gres=nic:2"}, {},
         "gres=nic:2"},
        {"an empty variable sets the option", "#SBATCH -p a\n", {},
         {{"SBATCH_PARTITION", ""}, {"SBATCH_EXCLUSIVE", ""}}, "exclusive partition"},
        {"a flag set to 0 is taken back", "#SBATCH -O\n", {}, {{"SBATCH_OVERCOMMIT", "0"}}, ""},
        {"a flag set to 1, yes or nothing", "", {}, {{"SBATCH_OVERCOMMIT", "yes"}}, "overcommit"},
        {"a flag set to no", "", {}, {{"SBATCH_OVERCOMMIT", "no"}}, ""},
        {"of two variables the later in sbatch's table", "", {},
         {{"SLURM_HINT", "nomultithread"}, {"SBATCH_HINT", "compute_bound"}}, "hint=compute_bound"},
        {"other variables do not matter", "", {}, {{"SBATCH_NODES", "7"}, {"SLURM_NNODES", "7"}}, ""},
        {"memory: what is said cancels the environment", "#SBATCH --mem=1G\n", {},
         {{"SBATCH_MEM_PER_CPU", "2G"}}, "mem=1G"},
        {"CPUs a task cancel CPUs a GPU of the environment", "#SBATCH -c8 --gpus=1\n", {},
         {{"SBATCH_CPUS_PER_GPU", "4"}}, "cpus-per-task=8 gpus=1"},
        {"a hint cancels threads of the environment", "#SBATCH --hint=nomultithread\n", {},
         {{"SBATCH_THREADS_PER_CORE", "2"}}, "hint=nomultithread"},
        {"threads that are said cancel a hint", "#SBATCH --hint=nomultithread\n",
         {"--threads-per-core=2"}, {}, "threads-per-core=2"},
        {"a node file cancels a node list", "#SBATCH -w n1\n", {"-F", "/f"}, {}, "nodefile=/f"},
        {"Railhead's own variable stands behind the script", "#SBATCH --railhead=on\n", {},
         {{"RAILHEAD", "off"}}, "railhead=on"},
    }));
    CAPTURE(c.why);

    const auto script = parse(c.text, c.arguments, c.environment);

    REQUIRE(script);
    CHECK(options_of(*script) == c.expected);
}

TEST_CASE("components of a heterogeneous job are read as sbatch does", "[script][hetjob]") {
    struct Case {
        std::string why;
        std::string text;
        Arguments arguments;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"a separator in any case, and its old name",
         "#SBATCH -N1\n#SBATCH HetJob\n#SBATCH -N2\n#SBATCH packjob\n#SBATCH -N3\n", {},
         "nodes=1 | nodes=2 | nodes=3"},
        {"options on the separator's line are lost", "#SBATCH -N1\n#SBATCH hetjob -N2\n#SBATCH -n2\n",
         {}, "nodes=1 | ntasks=2"},
        {"the word within a line ends the line, no more", "#SBATCH -N1 hetjob -N2\n#SBATCH -n2\n", {},
         "nodes=1 ntasks=2"},
        {"the word within a path is no separator", "#SBATCH -o /home/hetjob/out -N1\n", {},
         "nodes=1 output=/home/hetjob/out"},
        {"shape is not inherited, what holds for the whole job is",
         "#SBATCH -N1 -p a --exclusive -t5 -A acc --mem=1G -q q\n#SBATCH hetjob\n#SBATCH -N2\n", {},
         "account=acc exclusive mem=1G nodes=1 partition=a qos=q time=5 | "
         "account=acc mem=1G nodes=2 qos=q time=5"},
        {"the command line holds for all components", "#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n",
         {"-n7"}, "nodes=1 ntasks=7 | nodes=2 ntasks=7"},
        {"a colon divides it", "#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n", {"-n7", ":", "-n8"},
         "nodes=1 ntasks=7 | nodes=2 ntasks=8"},
        {"its last part holds for the rest",
         "#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n#SBATCH hetjob\n#SBATCH -N3\n",
         {"-n7", ":", "-n8"}, "nodes=1 ntasks=7 | nodes=2 ntasks=8 | nodes=3 ntasks=8"},
        {"more parts than the script has components", "#SBATCH -N1 -t5\n", {"-n7", ":", "-n8"},
         "nodes=1 ntasks=7 time=5 | ntasks=8 time=5"},
        {"a hint reaches later components by the environment",
         "#SBATCH --hint=nomultithread -n1\n#SBATCH hetjob\n#SBATCH -N2\n", {},
         "hint=nomultithread ntasks=1 | hint=nomultithread nodes=2"},
    }));
    CAPTURE(c.why);

    const auto script = parse(c.text, c.arguments);

    REQUIRE(script);
    CHECK(options_of(*script) == c.expected);
    for (std::size_t i = 0; i < script->components.size(); ++i) {
        CHECK(script->components[i].request.component == (i > 0));
    }
}

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

    const auto script = parse("#SBATCH " + nodes.option + "\n");

    REQUIRE(script);
    CHECK(nodes_of(script->components[0].request) == nodes.nodes);
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

    const auto script = parse("#SBATCH -t " + text + "\n");

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

    const auto script = parse("#SBATCH --mem=" + text + "\n");

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
        {"--tres-per-task", "-n2 --tres-per-task=cpu=4,gres/gpu=1", "", "", "",
         "cpu=4,gres/gpu=1", ""},
        {"--gpu-bind", "--gpu-bind=closest", "", "", "", "", "gres/gpu:closest"},
        {"--tres-bind", "--tres-bind=gres/gpu:none", "", "", "", "", "gres/gpu:none"},
    }));
    CAPTURE(c.why);

    const auto script = parse("#SBATCH " + c.options + "\n");

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
        {"GPUs a node by GPUs a task are tasks a node", "-n16 --gres=gpu:8 --gpus-per-task=1", "", 16,
         8},
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

    const auto script = parse("#SBATCH " + c.options + "\n");

    REQUIRE(script);
    const auto& request = script->components[0].request;
    CHECK(nodes_of(request) == c.nodes);
    CHECK(request.tasks == c.tasks);
    CHECK(request.tasks_per_node == c.tasks_per_node);
}

TEST_CASE("every other option finds its place in the request", "[script]") {
    const auto script = parse(
        "#SBATCH -p a,b -A acc -q q --reservation=r -C 'x&y' --prefer=z -x n[8-9] --exclusive\n"
        "#SBATCH -n8 -c4 --mem-per-cpu=2G --tmp=1G -S2 --contiguous -O --spread-job --use-min-nodes\n"
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
    CHECK(warnings_of(*script).empty());
}

TEST_CASE("the variables of --switches set one half each", "[script]") {
    const auto script =
        parse("#SBATCH --switches=2@10:00\n", {}, {{"SBATCH_REQ_SWITCH", "1"}}).value();
    CHECK(script.components[0].request.switches == 1);
    CHECK(script.components[0].request.switch_wait_s == 600);

    const auto waiting = parse("", {}, {{"SBATCH_WAIT4SWITCH", "1:00:00"}}).value();
    CHECK_FALSE(waiting.components[0].request.switches);
    CHECK(waiting.components[0].request.switch_wait_s == 3600);
}

TEST_CASE("RAILHEAD in the environment acts like the option", "[script]") {
    CHECK(parse("", {}, {{"RAILHEAD", "off"}})->components[0].request.off);
    CHECK(parse("", {}, {{"RAILHEAD", "0"}})->components[0].request.off);
    CHECK_FALSE(parse("", {}, {{"RAILHEAD", "on"}})->components[0].request.off);
    CHECK_FALSE(parse("", {"--railhead=on"}, {{"RAILHEAD", "off"}})->components[0].request.off);
    CHECK(parse("", {}, {{"RAILHEAD_MP_GROUP", "8"}})->components[0].request.model_parallel_group == 8);
}

TEST_CASE("a request outlives moves and copies of its script", "[script]") {
    auto script = std::make_unique<Script>(parse("#SBATCH -p a -G 8\n").value());
    const auto copy = *script;
    script.reset();

    CHECK(copy.components[0].request.partition == "a");
    CHECK(copy.components[0].request.gpus_per_job == "gpu:8");
}

TEST_CASE("what sbatch refuses is an error with its place", "[script][errors]") {
    struct Case {
        std::string why;
        std::string text;  ///< a whole script
        Arguments arguments;
        std::string expected;
    };
    const std::string first = "#!/bin/bash\n";
    const auto c = GENERATE_REF(values<Case>({
        {"empty", "", {}, "job.sbatch:1:1: the script is empty"},
        {"blanks only", "\n \n", {}, "the script is empty"},
        {"no #!", "echo x\n", {}, "job.sbatch:1:1: a batch script begins with \"#!\""},
        {"##!", "##!/bin/bash\n", {}, "a batch script begins with"},
        {"a blank before #!", " #!/bin/bash\n", {}, "a batch script begins with"},
        {"a byte order mark", "\xef\xbb\xbf#!/bin/bash\n", {}, "a batch script begins with"},
        {"DOS line ends", "#!/bin/bash\r\n#SBATCH -N2\r\n", {}, "job.sbatch:1:12: DOS line ends"},
        {"a NUL byte", std::string{"#!/bin/bash\n#SBATCH \0-N2\n", 25}, {}, "job.sbatch:2:9: a NUL byte"},
        {"an open quote", first + "#SBATCH -J \"x\n", {}, "job.sbatch:2:12: a quote (\") that is not closed"},
        {"a blank that a backslash does not keep", first + "#SBATCH -J a\\ b\n", {},
         "job.sbatch:2:15: \"b\" is no option"},
        {"a word that is no option", first + "#SBATCH -N2 foo\n", {}, "job.sbatch:2:13: \"foo\" is no option"},
        {"an argument that must be glued", first + "#SBATCH --exclusive user\n", {},
         "job.sbatch:2:21: \"user\" is no option"},
        {"letters behind #SBATCH", first + "#SBATCHx -N2\n", {}, "job.sbatch:2:8: \"x\" is no option"},
        {"a word like hetjob", first + "#SBATCH hetjobs\n", {}, "job.sbatch:2:9: \"hetjobs\" is no option"},
        {"a colon", first + "#SBATCH -N2 : -N3\n", {}, "job.sbatch:2:13: a word that begins with \":\""},
        {"a time that begins with a colon", first + "#SBATCH -t :5\n", {}, "job.sbatch:2:12: a word"},
        {"what stands behind --", first + "#SBATCH -N2 -- -n3\n", {}, "\"-n3\" is no option"},
        {"an ambiguous name", first + "#SBATCH --node=2\n", {},
         "job.sbatch:2:9: --node=2 is ambiguous: --nodefile, --nodelist, --nodes"},
        {"no argument", first + "#SBATCH -N\n", {}, "job.sbatch:2:9: -N needs an argument"},
        {"an argument too many", first + "#SBATCH --contiguous=yes\n", {}, "--contiguous takes no argument"},
        {"one dash before a long name", first + "#SBATCH -nodes=2\n", {}, "--ntasks=odes=2: takes a number"},
        {"no number of nodes", first + "#SBATCH -N x\n", {}, "--nodes=x: takes a number or a range"},
        {"= behind a short name", first + "#SBATCH -N=4\n", {}, "--nodes==4"},
        {"a range that shrinks", first + "#SBATCH -N4-2\n", {}, "--nodes=4-2"},
        {"an open range", first + "#SBATCH -N2-\n", {}, "--nodes=2-"},
        {"no tasks", first + "#SBATCH -n0\n", {}, "--ntasks=0: takes a number from 1"},
        {"tasks have no K", first + "#SBATCH -n4k\n", {}, "--ntasks=4k"},
        {"no time", first + "#SBATCH -t 1h\n", {}, "--time=1h: takes a time like"},
        {"half a time", first + "#SBATCH -t 1::2\n", {}, "--time=1::2"},
        {"no size", first + "#SBATCH --mem=16GiB\n", {}, "--mem=16GiB: takes a size like 64G"},
        {"a fraction", first + "#SBATCH --mem=1.5G\n", {}, "--mem=1.5G"},
        {"no switches", first + "#SBATCH --switches=0\n", {}, "--switches=0"},
        {"no way to share", first + "#SBATCH --exclusive=nope\n", {}, "--exclusive=nope: takes user"},
        {"a bad value that a later one would replace", first + "#SBATCH -t x\n#SBATCH -t 5\n", {},
         "job.sbatch:2:9: --time=x"},
        {"memory said twice", first + "#SBATCH --mem=1G\n", {"--mem-per-cpu=2G"}, "exclude one another"},
        {"core and thread specialization", first + "#SBATCH -S1 --thread-spec=1\n", {},
         "job.sbatch:2:13: --core-spec and --thread-spec"},
        {"a bad node list", first + "#SBATCH -w n[1-\n", {}, "job.sbatch:2:9: --nodelist: bracket"},
        {"a bad resource", first + "#SBATCH --gres=gpu:\n", {}, "job.sbatch:2:9: \"gpu:\" is not a GPU request"},
        {"GPUs with and without a type", first + "#SBATCH -n2 --gres=gpu:8 --gpus-per-task=h100:1\n", {},
         "job.sbatch:2:26: GPUs are asked for with and without a type"},
        {"GPUs a task and no tasks", first + "#SBATCH --gpus-per-task=1\n", {},
         "--gpus-per-task without --gpus or --ntasks"},
        {"GPUs that are no multiple", first + "#SBATCH -G12 --gpus-per-node=8\n", {}, "no multiple"},
        {"nodes that the GPUs contradict", first + "#SBATCH -N4 -G16 --gpus-per-node=8\n", {},
         "is not the number of nodes that --nodes says"},
        {"tasks that the GPUs contradict", first + "#SBATCH -n4 -G16 --gpus-per-task=1\n", {},
         "is not the number of tasks that --ntasks says"},
        {"fewer GPUs than nodes", first + "#SBATCH -N4 -G2\n", {}, "less than a GPU for each of 4 nodes"},
        {"GPUs a socket without sockets", first + "#SBATCH --gpus-per-socket=4\n", {},
         "--gpus-per-socket needs --sockets-per-node"},
        {"memory a GPU without GPUs", first + "#SBATCH --mem-per-gpu=1G\n", {}, "--mem-per-gpu without GPUs"},
        {"CPUs a GPU and a task", first + "#SBATCH -G8 -c4 --cpus-per-gpu=8\n", {}, "exclude one another"},
        {"tasks a GPU and GPUs a task", first + "#SBATCH -n8 --ntasks-per-gpu=1 --gpus-per-task=1\n", {},
         "--gpus-per-task and --ntasks-per-gpu exclude one another"},
        {"a script on the command line", first, {"other.sh"}, "\"other.sh\" is no option of sbatch"},
        {"a bad value on the command line", first, {"-N", "x"}, "--nodes=x"},
        {"no switch for Railhead", first + "#SBATCH --railhead=perhaps\n", {}, "--railhead=perhaps: takes on or off"},
    }));
    CAPTURE(c.why);

    const auto script = job::parse_script(c.text, "job.sbatch", c.arguments);

    REQUIRE_FALSE(script);
    CHECK(script.error().code == Errc::bad_input);
    CHECK_THAT(to_string(script.error()), ContainsSubstring(c.expected));
}

TEST_CASE("a bad variable is an error that names it", "[script][errors]") {
    const auto script = parse("", {}, {{"SBATCH_TIMELIMIT", "soon"}});

    REQUIRE_FALSE(script);
    CHECK_THAT(to_string(script.error()), ContainsSubstring("SBATCH_TIMELIMIT in the environment: --time=soon"));
}

TEST_CASE("what a person would stumble over is a warning with its place", "[script]") {
    struct Case {
        std::string why;
        std::string text;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"an unknown option", "#SBATCH --gpus-per-nod3=8\n",
         "job.sbatch:2:9: sbatch knows no option --gpus-per-nod3, it would refuse the script: did you "
         "mean --gpus-per-node?"},
        {"an unknown option and its argument", "#SBATCH --bogus-thing 3 -N2\n", "no option --bogus-thing"},
        {"an unknown letter", "#SBATCH -z 2\n", "sbatch knows no option -z"},
        {"a misspelt underscore", "#SBATCH --cpus_per_task=8\n", "did you mean --cpus-per-task?"},
        {"options behind hetjob", "#SBATCH hetjob -N2\n", "job.sbatch:2:16: sbatch reads nothing behind"},
        {"hetjob within a line", "#SBATCH -N1 hetjob\n", "job.sbatch:2:13: sbatch reads nothing from here"},
        {"# in a word", "#SBATCH --comment=a#b -N2\n", "job.sbatch:2:20: sbatch takes the rest of the line"},
        {"an empty word", "#SBATCH '' -N2\n", "job.sbatch:2:9: sbatch stops reading the line"},
        {"a blank before #SBATCH", "  #SBATCH -N2\n", "job.sbatch:2:1: blanks before \"#SBATCH\""},
        {"small letters", "#Sbatch -N2\n", "job.sbatch:2:1: sbatch wants \"#SBATCH\" in capital"},
        {"!#SBATCH", "!#SBATCH --signal=SIGUSR1@90\n", "job.sbatch:2:1: \"!#SBATCH\" is no directive"},
        {"behind the first command", "module load x\n#SBATCH -N2\n",
         "job.sbatch:3:1: sbatch reads no #SBATCH line behind the first command"},
        {"PBS lines", "#PBS -l nodes=2\n", "job.sbatch:2:1: sbatch also obeys #PBS"},
        {"fewer tasks than nodes", "#SBATCH -N4 -n2\n", "2 tasks cannot run on 4 nodes: sbatch asks for 2"},
        {"more named nodes than nodes", "#SBATCH -w n[1-3] -N2\n", "--nodelist names 3 nodes"},
        {"a file of nodes", "#SBATCH -F /nodes\n", "the file of node names is not read here"},
        {"exclusive and shared", "#SBATCH --exclusive -s\n", "from 23.02 on refuses --oversubscribe"},
        {"both ways to count GPUs a node", "#SBATCH --gres=gpu:8 --gpus-per-node=8\n",
         "from 26.05 on refuses --gres=gpu beside --gpus-per-node"},
        {"CPUs a GPU without GPUs", "#SBATCH --cpus-per-gpu=8\n", "from 23.02 on refuses --cpus-per-gpu"},
        {"GPUs a task, tasks a node, no nodes", "#SBATCH --ntasks-per-node=8 --gpus-per-task=1\n",
         "from 23.02 on refuses --gpus-per-task"},
    }));
    CAPTURE(c.why);

    const auto script = parse(c.text);

    REQUIRE(script);
    CHECK_THAT(warnings_of(*script), ContainsSubstring(c.expected));
}

TEST_CASE("a warning about the command line comes once, whatever the number of components", "[script]") {
    const auto script = parse("#SBATCH hetjob\n#SBATCH hetjob\n", {"--bogus=1"});

    REQUIRE(script);
    CHECK(script->warnings.size() == 1);
}

TEST_CASE("an option says where it was written", "[script]") {
    const auto script = parse("#SBATCH -N2  --gres=gpu:8\n", {"-t5"}, {{"SBATCH_QOS", "q"}});

    REQUIRE(script);
    const auto& options = script->components[0].options;
    REQUIRE(options.size() == 4);
    CHECK(options[1].name == "gres");
    CHECK(options[1].where.line == 2);
    CHECK(options[1].where.column == 14);
    CHECK(options[2].source == ScriptOption::Source::environment);
    CHECK(options[3].source == ScriptOption::Source::command_line);
    CHECK(options[3].where.line == 0);
}

TEST_CASE("hostile scripts are read or refused, quickly", "[script][hostile]") {
    const std::size_t size = 10U << 20U;
    const std::size_t most = 4U << 20U;
    const auto read = [](std::string text) { return parse(text).has_value(); };
    CHECK_FALSE(read(std::string(size, 'x')));
    CHECK_FALSE(read("#SBATCH " + std::string(most - 100, 'x')));
    CHECK_FALSE(read("#SBATCH -N " + std::string(most - 100, '9')));
    CHECK_FALSE(read("#SBATCH " + std::string(most - 101, '"')));
    CHECK_FALSE(read("#SBATCH -w " + std::string(most - 100, '[')));
    CHECK_FALSE(read("#SBATCH -w n[0-99999999]"));
    CHECK(read("#SBATCH --" + std::string(most - 100, 'x')));  // an unknown option: a warning
    CHECK(read("#SBATCH -J " + std::string(most - 100, '\\')));
    CHECK(read(std::string(most - 100, '\n')));
    std::string components;
    for (int i = 0; i < 1000; ++i) {
        components += "#SBATCH hetjob\n";
    }
    CHECK_FALSE(read(components));
    std::string unknown;
    for (int i = 0; i < 2000; ++i) {
        unknown += fmt::format("#SBATCH --bogus-option-{}=1\n", i);
    }
    CHECK(read(unknown));
}
