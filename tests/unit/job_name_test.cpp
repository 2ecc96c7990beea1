// The name that a job gets, from what its submitter typed, set and wrote.
#include "job/job_name.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace railhead::job;

TEST_CASE("a job's name is told by Slurm's precedence", "[job-name]") {
    struct Case {
        std::string why;
        Command command;
        std::vector<std::string> arguments;
        std::map<std::string, std::string, std::less<>> environment;
        std::string expected;
    };
    const std::string script =
        "#!/bin/bash\n#SBATCH -N2\n#SBATCH --job-name=\"from script\"\nsrun a\n";
    const auto c = GENERATE(values<Case>({
        {"the command line", Command::sbatch, {"-N2", "-J", "mine", "train.sh"}, {}, "mine"},
        {"its last word", Command::sbatch, {"-Ja", "--job-name=b", "train.sh"}, {}, "b"},
        {"the environment", Command::sbatch, {"train.sh"}, {{"SBATCH_JOB_NAME", "env"}}, "env"},
        {"the command line before it",
         Command::sbatch,
         {"-Jme", "train.sh"},
         {{"SBATCH_JOB_NAME", "env"}},
         "me"},
        {"the script",
         Command::sbatch,
         {"-N", "4", "train.sh", "--job-name=argument"},
         {},
         "from script"},
        {"the script's file", Command::sbatch, {"/home/me/other.sh"}, {}, "other.sh"},
        {"--wrap", Command::sbatch, {"--wrap", "hostname"}, {}, "wrap"},
        {"standard input", Command::sbatch, {"-N2"}, {}, "sbatch"},
        {"a program of srun", Command::srun, {"-n4", "/usr/bin/python3", "-J", "x"}, {}, "python3"},
        {"srun in its own words", Command::srun, {"--job-name", "run", "python3"}, {}, "run"},
        {"behind --", Command::srun, {"-n4", "--", "./a.out"}, {}, "a.out"},
        {"a shell of salloc", Command::salloc, {"-N2"}, {}, "interactive"},
        {"salloc's environment",
         Command::salloc,
         {"-N2"},
         {{"SALLOC_JOB_NAME", "s"}, {"SBATCH_JOB_NAME", "b"}},
         "s"},
        {"options that nobody can read", Command::sbatch, {"--job"}, {}, ""},
        {"nothing at all", Command::sbatch, {}, {}, "sbatch"},
    }));
    CAPTURE(c.why);
    NameSources sources;
    sources.command = c.command;
    sources.arguments = c.arguments;
    sources.environment = [&](std::string_view name) -> std::optional<std::string> {
        const auto at = c.environment.find(name);
        return at == c.environment.end() ? std::nullopt : std::optional{at->second};
    };
    sources.script = [&](const std::string& path) {
        return path == "train.sh" ? std::optional{script} : std::nullopt;
    };
    CHECK(find_job_name(sources) == c.expected);
}
