#include "job/script.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/scripts.hpp"

using namespace railhead;

TEST_CASE("what sbatch refuses is an error with its place", "[script][errors]") {
    struct Case {
        std::string why;
        std::string text;  ///< a whole script
        test::Arguments arguments;
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
        {"a NUL byte",
         std::string{"#!/bin/bash\n#SBATCH \0-N2\n", 25},
         {},
         "job.sbatch:2:9: a NUL byte"},
        {"an open quote",
         first + "#SBATCH -J \"x\n",
         {},
         "job.sbatch:2:12: a quote (\") that is not closed"},
        {"a word that is no option",
         first + "#SBATCH -N2 foo\n",
         {},
         "job.sbatch:2:13: \"foo\" is no option"},
        {"an argument that must be glued",
         first + "#SBATCH --exclusive user\n",
         {},
         "job.sbatch:2:21: \"user\" is no option"},
        {"letters behind #SBATCH",
         first + "#SBATCHx -N2\n",
         {},
         "job.sbatch:2:8: \"x\" is no option"},
        {"a word like hetjob",
         first + "#SBATCH hetjobs\n",
         {},
         "job.sbatch:2:9: \"hetjobs\" is no option"},
        {"a colon",
         first + "#SBATCH -N2 : -N3\n",
         {},
         "job.sbatch:2:13: a word that begins with \":\""},
        {"a time that begins with a colon",
         first + "#SBATCH -t :5\n",
         {},
         "job.sbatch:2:12: a word"},
        {"what stands behind --", first + "#SBATCH -N2 -- -n3\n", {}, "\"-n3\" is no option"},
        {"an ambiguous name",
         first + "#SBATCH --node=2\n",
         {},
         "job.sbatch:2:9: --node=2 is ambiguous: --nodefile, --nodelist, --nodes"},
        {"no argument", first + "#SBATCH -N\n", {}, "job.sbatch:2:9: -N needs an argument"},
        {"an argument too many",
         first + "#SBATCH --contiguous=yes\n",
         {},
         "--contiguous takes no argument"},
        {"one dash before a long name",
         first + "#SBATCH -nodes=2\n",
         {},
         "--ntasks=odes=2: takes a number"},
        {"no number of nodes",
         first + "#SBATCH -N x\n",
         {},
         "--nodes=x: takes a number or a range"},
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
        {"no way to share",
         first + "#SBATCH --exclusive=nope\n",
         {},
         "--exclusive=nope: takes user"},
        {"a bad value that a later one would replace",
         first + "#SBATCH -t x\n#SBATCH -t 5\n",
         {},
         "job.sbatch:2:9: --time=x"},
        {"memory said twice",
         first + "#SBATCH --mem=1G\n",
         {"--mem-per-cpu=2G"},
         "exclude one another"},
        {"core and thread specialization",
         first + "#SBATCH -S1 --thread-spec=1\n",
         {},
         "job.sbatch:2:13: --core-spec and --thread-spec"},
        {"a bad node list", first + "#SBATCH -w n[1-\n", {}, "job.sbatch:2:9: --nodelist: bracket"},
        {"a bad resource",
         first + "#SBATCH --gres=gpu:\n",
         {},
         "job.sbatch:2:9: \"gpu:\" is not a GPU request"},
        {"GPUs with and without a type",
         first + "#SBATCH -n2 --gres=gpu:8 --gpus-per-task=h100:1\n",
         {},
         "job.sbatch:2:26: GPUs are asked for with and without a type"},
        {"GPUs a task and no tasks",
         first + "#SBATCH --gpus-per-task=1\n",
         {},
         "--gpus-per-task without --gpus or --ntasks"},
        {"GPUs that are no multiple",
         first + "#SBATCH -G12 --gpus-per-node=8\n",
         {},
         "no multiple"},
        {"nodes that the GPUs contradict",
         first + "#SBATCH -N4 -G16 --gpus-per-node=8\n",
         {},
         "is not the number of nodes that --nodes says"},
        {"tasks that the GPUs contradict",
         first + "#SBATCH -n4 -G16 --gpus-per-task=1\n",
         {},
         "is not the number of tasks that --ntasks says"},
        {"fewer GPUs than nodes",
         first + "#SBATCH -N4 -G2\n",
         {},
         "less than a GPU for each of 4 nodes"},
        {"GPUs a socket without sockets",
         first + "#SBATCH --gpus-per-socket=4\n",
         {},
         "--gpus-per-socket needs --sockets-per-node"},
        {"memory a GPU without GPUs",
         first + "#SBATCH --mem-per-gpu=1G\n",
         {},
         "--mem-per-gpu without GPUs"},
        {"CPUs a GPU and a task",
         first + "#SBATCH -G8 -c4 --cpus-per-gpu=8\n",
         {},
         "exclude one another"},
        {"tasks a GPU and GPUs a task",
         first + "#SBATCH -n8 --ntasks-per-gpu=1 --gpus-per-task=1\n",
         {},
         "--gpus-per-task and --ntasks-per-gpu exclude one another"},
        {"a script on the command line",
         first,
         {"other.sh"},
         "\"other.sh\" is no option of sbatch"},
        {"a bad value on the command line", first, {"-N", "x"}, "--nodes=x"},
        {"no switch for Railhead",
         first + "#SBATCH --railhead=perhaps\n",
         {},
         "--railhead=perhaps: takes on or off"},
        {"no switch for the rails", first + "#SBATCH --rail=on,off\n", {},
         "job.sbatch:2:9: --rail=on,off: takes auto or off"},
        {"no switch for the CPUs", first, {"--gpu-affinity="}, "--gpu-affinity=: takes auto or off"},
        {"a group of no node", first + "#SBATCH --mp-group=0\n", {},
         "job.sbatch:2:9: --mp-group=0: takes a whole number from 1"},
    }));
    CAPTURE(c.why);

    const auto script = job::parse_script(c.text, "job.sbatch", c.arguments);

    REQUIRE_FALSE(script);
    CHECK(script.error().code == Errc::bad_input);
    CHECK_THAT(to_string(script.error()), ContainsSubstring(c.expected));
}

TEST_CASE("a bad variable is an error that names it", "[script][errors]") {
    const auto script = test::parse_directives("", {}, {{"SBATCH_TIMELIMIT", "soon"}});

    REQUIRE_FALSE(script);
    CHECK_THAT(to_string(script.error()),
               ContainsSubstring("SBATCH_TIMELIMIT in the environment: --time=soon"));
}

TEST_CASE("a bad variable of Railhead is refused as the plugin refuses it, an empty one is none",
          "[script][errors]") {
    const auto refusal = [](const std::string& name, const std::string& value) {
        const auto script = test::parse_directives("", {}, {{name, value}});
        return script ? std::string{} : to_string(script.error());
    };
    CHECK_THAT(refusal("RAILHEAD_RAIL", "offf"),
               ContainsSubstring("RAILHEAD_RAIL in the environment: --rail=offf: takes auto or off"));
    CHECK_THAT(refusal("RAILHEAD_MP_GROUP", "0"), ContainsSubstring("takes a whole number from 1"));
    CHECK(refusal("RAILHEAD_MP_GROUP", "").empty());
    CHECK(refusal("RAILHEAD_GPU_AFFINITY", "").empty());
}

TEST_CASE("what a person would stumble over is a warning with its place", "[script]") {
    struct Case {
        std::string why;
        std::string text;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"an unknown option", "#SBATCH --gpus-per-nod3=8\n",
         "job.sbatch:2:9: sbatch knows no option --gpus-per-nod3, it would refuse the script: did "
         "you "
         "mean --gpus-per-node?"},
        {"an unknown option and its argument", "#SBATCH --bogus-thing 3 -N2\n",
         "no option --bogus-thing"},
        {"an unknown letter", "#SBATCH -z 2\n", "sbatch knows no option -z"},
        {"a misspelt underscore", "#SBATCH --cpus_per_task=8\n", "did you mean --cpus-per-task?"},
        {"options behind hetjob", "#SBATCH hetjob -N2\n",
         "job.sbatch:2:16: sbatch reads nothing behind"},
        {"hetjob within a line", "#SBATCH -N1 hetjob\n",
         "job.sbatch:2:13: sbatch reads nothing from here"},
        {"an escaped blank", "#SBATCH -J a\\ b\n",
         "job.sbatch:2:14: sbatch before 24.05 splits the word here"},
        {"# in a word", "#SBATCH --comment=a#b -N2\n",
         "job.sbatch:2:20: sbatch takes the rest of the line"},
        {"an empty word", "#SBATCH '' -N2\n", "job.sbatch:2:9: sbatch stops reading the line"},
        {"a blank before #SBATCH", "  #SBATCH -N2\n", "job.sbatch:2:1: blanks before \"#SBATCH\""},
        {"small letters", "#Sbatch -N2\n", "job.sbatch:2:1: sbatch wants \"#SBATCH\" in capital"},
        {"!#SBATCH", "!#SBATCH --signal=SIGUSR1@90\n",
         "job.sbatch:2:1: \"!#SBATCH\" is no directive"},
        {"behind the first command", "module load x\n#SBATCH -N2\n",
         "job.sbatch:3:1: sbatch reads no #SBATCH line behind the first command"},
        {"PBS lines", "#PBS -l nodes=2\n", "job.sbatch:2:1: sbatch also obeys #PBS"},
        {"fewer tasks than nodes", "#SBATCH -N4 -n2\n",
         "2 tasks cannot run on 4 nodes: sbatch asks for 2"},
        {"more named nodes than nodes", "#SBATCH -w n[1-3] -N2\n", "--nodelist names 3 nodes"},
        {"a list of node counts", "#SBATCH -N 2,4\n",
         "job.sbatch:2:9: --nodes=2,4: sbatch 22.05 takes a number or a range, no list"},
        {"node counts in steps", "#SBATCH -N 2-8:2\n", "--nodes=2-8:2: sbatch 22.05 takes"},
        {"a file of nodes", "#SBATCH -F /nodes\n", "the file of node names is not read here"},
        {"exclusive and shared", "#SBATCH --exclusive -s\n",
         "from 23.02 on refuses --oversubscribe"},
        {"both ways to count GPUs a node", "#SBATCH --gres=gpu:8 --gpus-per-node=8\n",
         "from 26.05 on refuses --gres=gpu beside --gpus-per-node"},
        {"CPUs a GPU without GPUs", "#SBATCH --cpus-per-gpu=8\n",
         "from 23.02 on refuses --cpus-per-gpu"},
        {"GPUs a task, tasks a node, no nodes", "#SBATCH --ntasks-per-node=8 --gpus-per-task=1\n",
         "from 23.02 on refuses --gpus-per-task"},
    }));
    CAPTURE(c.why);

    const auto script = test::parse_directives(c.text);

    REQUIRE(script);
    CHECK_THAT(test::warnings_of(*script), ContainsSubstring(c.expected));
}

TEST_CASE("a warning about the command line comes once, whatever the number of components",
          "[script]") {
    const auto script = test::parse_directives("#SBATCH hetjob\n#SBATCH hetjob\n", {"--bogus=1"});

    REQUIRE(script);
    CHECK(script->warnings.size() == 1);
}

TEST_CASE("hostile scripts are read or refused, quickly", "[script][hostile]") {
    const std::size_t size = 10U << 20U;
    const std::size_t most = 4U << 20U;
    const auto read = [](std::string text) { return test::parse_directives(text).has_value(); };
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
    for (int i = 0; i < 500; ++i) {
        unknown += fmt::format("#SBATCH --bogus-option-{}=1\n", i);
    }
    CHECK(read(unknown));
}
