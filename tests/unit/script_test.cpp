#include "job/script.hpp"

#include <memory>

#include "support/catch.hpp"
#include "support/scripts.hpp"

using namespace railhead;

TEST_CASE("#SBATCH lines are found and cut as sbatch does", "[script]") {
    struct Case {
        std::string why;
        std::string text;
        std::string expected;
    };
    // Every row was checked against sbatch: "sbatch -v" lists the options in force.
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
        {"a name cut short", "#SBATCH --part=x --ntasks-per-n=4\n",
         "ntasks-per-node=4 partition=x"},
        {"a name that only newer releases make ambiguous", "#SBATCH --res=r\n", "reservation=r"},
        {"the other name of an option", "#SBATCH --tasks-per-node=8\n", "ntasks-per-node=8"},
        {"the last one counts", "#SBATCH -N2\n#SBATCH -N3\n", "nodes=3"},
        {"double quotes", "#SBATCH --job-name=\"a b\" -N2\n", "job-name=a b nodes=2"},
        {"single quotes around double ones", "#SBATCH --comment='c \"d\"'\n", "comment=c \"d\""},
        {"quotes within a word", "#SBATCH -J a\"b c\"d -p \"x\"\"y\"\n",
         "job-name=ab cd partition=xy"},
        {"an escaped quote", "#SBATCH -J a\\\"b\n", "job-name=a\"b"},
        {"an escaped blank, from 24.05 on", "#SBATCH -J a\\ b\n", "job-name=a b"},
        {"an argument on the next line", "#SBATCH --nodes\n#SBATCH 3\n", "nodes=3"},
        {"a comment at the end", "#SBATCH -N2 # -n 4\n", "nodes=2"},
        {"# in quotes", "#SBATCH --comment=\"x # y\" -N2\n", "comment=x # y nodes=2"},
        {"an escaped #", "#SBATCH --comment=a\\#b -N2\n", "comment=a#b nodes=2"},
        {"# in a word ends the line", "#SBATCH --comment=a#b -N2\n", "comment=a"},
        {"an empty word ends the line", "#SBATCH \"\" -n4\n", ""},
        {"a backslash at the end means nothing", "#SBATCH -N2 \\\n#SBATCH -n3\n",
         "nodes=2 ntasks=3"},
        {"blank lines and comments between", "#SBATCH -N2\n\n# x\n   \n#SBATCH -n9\n",
         "nodes=2 ntasks=9"},
        {"nothing counts behind the first command", "#SBATCH -N2\nset -e\n#SBATCH -n9\n",
         "nodes=2"},
        {"a blank before #SBATCH", " #SBATCH -N2\n", ""},
        {"a blank behind #", "# SBATCH -N2\n", ""},
        {"two #", "##SBATCH -N2\n", ""},
        {"small letters", "#sbatch -N2\n", ""},
        {"the old name", "#SLURM -N2\n", "nodes=2"},
        {"no line end at the end", "#SBATCH -N2", "nodes=2"},
    }));
    CAPTURE(c.why, c.text);

    const auto script = test::parse_directives(c.text);

    REQUIRE(script);
    CHECK(test::options_of(*script) == c.expected);
}

TEST_CASE("the command line goes before the environment, and that before the script", "[script]") {
    struct Case {
        std::string why;
        std::string text;
        test::Arguments arguments;
        test::Environment environment;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"command line before all",
         "#SBATCH -t5\n",
         {"-t7"},
         {{"SBATCH_TIMELIMIT", "6"}},
         "time=7"},
        {"environment before the script",
         "#SBATCH -p a\n",
         {},
         {{"SBATCH_PARTITION", "e"}},
         "partition=e"},
        {"--gres replaces --gres, nothing adds up",
         "#SBATCH --gres=gpu:1\n",
         {"--gres=nic:2"},
         {},
         "gres=nic:2"},
        {"an empty variable sets the option",
         "#SBATCH -p a\n",
         {},
         {{"SBATCH_PARTITION", ""}, {"SBATCH_EXCLUSIVE", ""}},
         "exclusive partition"},
        {"a flag set to 0 is taken back", "#SBATCH -O\n", {}, {{"SBATCH_OVERCOMMIT", "0"}}, ""},
        {"a flag set to 1, yes or nothing", "", {}, {{"SBATCH_OVERCOMMIT", "yes"}}, "overcommit"},
        {"a flag set to no", "", {}, {{"SBATCH_OVERCOMMIT", "no"}}, ""},
        {"of two variables the later in sbatch's table",
         "",
         {},
         {{"SLURM_HINT", "nomultithread"}, {"SBATCH_HINT", "compute_bound"}},
         "hint=compute_bound"},
        {"other variables do not matter",
         "",
         {},
         {{"SBATCH_NODES", "7"}, {"SLURM_NNODES", "7"}},
         ""},
        {"memory: what is said cancels the environment",
         "#SBATCH --mem=1G\n",
         {},
         {{"SBATCH_MEM_PER_CPU", "2G"}},
         "mem=1G"},
        {"CPUs a task cancel CPUs a GPU of the environment",
         "#SBATCH -c8 --gpus=1\n",
         {},
         {{"SBATCH_CPUS_PER_GPU", "4"}},
         "cpus-per-task=8 gpus=1"},
        {"a hint cancels threads of the environment",
         "#SBATCH --hint=nomultithread\n",
         {},
         {{"SBATCH_THREADS_PER_CORE", "2"}},
         "hint=nomultithread"},
        {"threads that are said cancel a hint",
         "#SBATCH --hint=nomultithread\n",
         {"--threads-per-core=2"},
         {},
         "threads-per-core=2"},
        {"a node file cancels a node list", "#SBATCH -w n1\n", {"-F", "/f"}, {}, "nodefile=/f"},
        {"Railhead's own variable stands behind the script",
         "#SBATCH --railhead=on\n",
         {},
         {{"RAILHEAD", "off"}},
         "railhead=on"},
    }));
    CAPTURE(c.why);

    const auto script = test::parse_directives(c.text, c.arguments, c.environment);

    REQUIRE(script);
    CHECK(test::options_of(*script) == c.expected);
}

TEST_CASE("components of a heterogeneous job are read as sbatch does", "[script][hetjob]") {
    struct Case {
        std::string why;
        std::string text;
        test::Arguments arguments;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"a separator in any case, and its old name",
         "#SBATCH -N1\n#SBATCH HetJob\n#SBATCH -N2\n#SBATCH packjob\n#SBATCH -N3\n",
         {},
         "nodes=1 | nodes=2 | nodes=3"},
        {"options on the separator's line are lost",
         "#SBATCH -N1\n#SBATCH hetjob -N2\n#SBATCH -n2\n",
         {},
         "nodes=1 | ntasks=2"},
        {"the word within a line ends the line, no more",
         "#SBATCH -N1 hetjob -N2\n#SBATCH -n2\n",
         {},
         "nodes=1 ntasks=2"},
        {"the word within a path is no separator",
         "#SBATCH -o /home/hetjob/out -N1\n",
         {},
         "nodes=1 output=/home/hetjob/out"},
        {"shape is not inherited, what holds for the whole job is",
         "#SBATCH -N1 -p a --exclusive -t5 -A acc --mem=1G -q q\n#SBATCH hetjob\n#SBATCH -N2\n",
         {},
         "account=acc exclusive mem=1G nodes=1 partition=a qos=q time=5 | "
         "account=acc mem=1G nodes=2 qos=q time=5"},
        {"the command line holds for all components",
         "#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n",
         {"-n7"},
         "nodes=1 ntasks=7 | nodes=2 ntasks=7"},
        {"a colon divides it",
         "#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n",
         {"-n7", ":", "-n8"},
         "nodes=1 ntasks=7 | nodes=2 ntasks=8"},
        {"its last part holds for the rest",
         "#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n#SBATCH hetjob\n#SBATCH -N3\n",
         {"-n7", ":", "-n8"},
         "nodes=1 ntasks=7 | nodes=2 ntasks=8 | nodes=3 ntasks=8"},
        {"more parts than the script has components",
         "#SBATCH -N1 -t5\n",
         {"-n7", ":", "-n8"},
         "nodes=1 ntasks=7 time=5 | ntasks=8 time=5"},
        {"a hint reaches later components by the environment",
         "#SBATCH --hint=nomultithread -n1\n#SBATCH hetjob\n#SBATCH -N2\n",
         {},
         "hint=nomultithread ntasks=1 | hint=nomultithread nodes=2"},
    }));
    CAPTURE(c.why);

    const auto script = test::parse_directives(c.text, c.arguments);

    REQUIRE(script);
    CHECK(test::options_of(*script) == c.expected);
    for (std::size_t i = 0; i < script->components.size(); ++i) {
        CHECK(script->components[i].request.component == (i > 0));
    }
}

TEST_CASE("a request outlives moves and copies of its script", "[script]") {
    auto script =
        std::make_unique<job::Script>(test::parse_directives("#SBATCH -p a -G 8\n").value());
    const auto copy = *script;
    script.reset();

    CHECK(copy.components[0].request.partition == "a");
    CHECK(copy.components[0].request.gpus_per_job == "gpu:8");
}

TEST_CASE("an option says where it was written", "[script]") {
    const auto script =
        test::parse_directives("#SBATCH -N2  --gres=gpu:8\n", {"-t5"}, {{"SBATCH_QOS", "q"}});

    REQUIRE(script);
    const auto& options = script->components[0].options;
    REQUIRE(options.size() == 4);
    CHECK(options[1].name == "gres");
    CHECK(options[1].where.line == 2);
    CHECK(options[1].where.column == 14);
    CHECK(options[2].source == job::ScriptOption::Source::environment);
    CHECK(options[3].source == job::ScriptOption::Source::command_line);
    CHECK(options[3].where.line == 0);
}
