// The reader of sbatch scripts against sbatch itself.
//
// "sbatch -vvv" lists the options in force before it talks to a controller, so neither a cluster nor
// a daemon is needed: only the command.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "job/script.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"

using namespace railhead;

namespace {

/// What sbatch says of a script.
struct Verdict {
    std::string options;  ///< names in force, sorted; components apart
    std::string said;     ///< all of its output
};

class Sbatch {
 public:
    Sbatch() {
        std::filesystem::create_directories(folder_);
        std::ofstream{folder_ / "slurm.conf"}
            << "ClusterName=x\nSlurmctldHost=localhost\n"
               "SlurmctldPort=1\nMessageTimeout=1\nGresTypes=gpu,nic\n"
               "SelectType=select/cons_tres\nNodeName=n1\n";
    }
    ~Sbatch() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    Sbatch(const Sbatch&) = delete;
    Sbatch& operator=(const Sbatch&) = delete;

    [[nodiscard]] Verdict ask(const std::string& script, const std::string& arguments = "",
                              const std::string& environment = "") const {
        const auto file = folder_ / "job.sh";
        std::ofstream{file, std::ios::binary} << script;
        Verdict verdict;
        verdict.said = run(fmt::format(
            "cd {0} && exec env {1} SLURM_CONF={0}/slurm.conf timeout --foreground 10 "
            "sbatch -vvv --test-only {2} {3} 2>&1 </dev/null",
            folder_.string(), environment, arguments, file.string()));
        verdict.options = options_in(verdict.said);
        return verdict;
    }

 private:
    /// What the command says until it has listed all options: what follows is the search for a
    /// controller, which Slurm 26.05 does not give up for two seconds.
    static std::string run(const std::string& command) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            return {};
        }
        const auto child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::setpgid(0, 0);
            ::dup2(ends[1], STDOUT_FILENO);
            ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(ends[1]);
        std::string said;
        std::array<char, 4096> buffer{};
        for (ssize_t got = 0; said.find("Connection refused") == std::string::npos &&
                              (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
            said.append(buffer.data(), static_cast<std::size_t>(got));
        }
        ::close(ends[0]);
        ::kill(-child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        return said;
    }

    static std::string options_in(const std::string& output) {
        std::vector<std::string> components;
        std::set<std::string> names;
        bool inside = false;
        for (auto line : split(output, '\n')) {
            line = line.substr(std::min(line.find(' '), line.size()));  // "sbatch:"
            const auto name = trim(line.substr(0, line.find(':')));
            if (name == "defined options") {
                inside = true;
            } else if (name == "end of defined options") {
                components.push_back(fmt::format("{}", fmt::join(names, " ")));
                names.clear();
                inside = false;
            } else if (inside && !name.starts_with("--")) {
                names.emplace(name);
            }
        }
        return fmt::format("{}", fmt::join(components, " | "));
    }
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / fmt::format("railhead-sbatch-{}", ::getpid());
};

/// Our view in the same form; --verbose and --test-only are on sbatch's command line, too.
std::string options_of(const job::Script& script) {
    std::vector<std::string> components;
    for (const auto& component : script.components) {
        std::set<std::string> names{"test-only", "verbose"};
        for (const auto& option : component.options) {
            names.insert(option.name);
        }
        components.push_back(fmt::format("{}", fmt::join(names, " ")));
    }
    return fmt::format("{}", fmt::join(components, " | "));
}

bool is_usable(const Verdict& verdict) {
    return verdict.options == "nodes test-only verbose";
}

const std::string first = "#!/bin/sh\n";

struct Case {
    std::string text;
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;
};

/// What every release from 22.05 on reads alike.
const auto taken = std::vector<Case>{
    {"#SBATCH -N2 --gres=gpu:8 -t 5\n", {}, {}},
    {"#SBATCH-N2\n#SBATCH\t-n\t4\n", {}, {}},
    {"#SBATCH -HN2 -On4 -koff\n", {}, {}},
    {"#SBATCH --part=x --ntasks-per-n=4 --tasks-per-node=8\n", {}, {}},
    {"#SBATCH -J \"a b\" --comment='c \"d\"' # -n4\n", {}, {}},
    {"#SBATCH --comment=a#b -n4\n", {}, {}},
    {"#SBATCH --comment=a\\#b -n4\n", {}, {}},
    {"#SBATCH \"\" -n4\n", {}, {}},
    {"#SBATCH --nodes\n#SBATCH 3\n", {}, {}},
    {" #SBATCH -N2\n# SBATCH -n2\n##SBATCH -t2\n#sbatch -pa\n", {}, {}},
    {"#SBATCH -N2\n\n# x\nset -e\n#SBATCH -n9\n", {}, {}},
    {"#SBATCH --exclusive=user -C 'a&b'\n", {"-p", "b"}, {{"SBATCH_QOS", "q"}}},
    {"#SBATCH -O\n", {}, {{"SBATCH_OVERCOMMIT", "0"}}},
    {"#SBATCH --mem=1G\n", {}, {{"SBATCH_MEM_PER_CPU", "2G"}}},
    {"#SBATCH --hint=nomultithread -n2\n", {}, {{"SBATCH_THREADS_PER_CORE", "2"}}},
    {"#SBATCH -N1\n#SBATCH hetjob -N2\n#SBATCH -n2\n", {}, {}},
    {"#SBATCH -N1 hetjob -N2\n", {}, {}},
    {"#SBATCH -N1 -p a --exclusive -t5 -A acc\n#SBATCH hetjob\n#SBATCH -N2\n", {}, {}},
    {"#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n", {"-n7"}, {}},
    {"#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n#SBATCH hetjob\n#SBATCH -N3\n",
     {"-n7", ":", "-n8"},
     {}},
    {"#SBATCH -N1 -t5\n", {"-n7", ":", "-n8"}, {}},
    {"#SBATCH -N 2-4 --switches=2@10:00 -a 1-3%2 -w n[1-3] -x n9\n", {}, {}},
    {"#SBATCH -G16 --gpus-per-task=1 --gpu-bind=closest\n", {}, {}},
};

/// What every release from 22.05 on refuses.
const auto refused = std::vector<Case>{
    {"#SBATCH -N2 foo\n", {}, {}},
    {"#SBATCH -J \"x\n", {}, {}},
    {"#SBATCH -N2 : -N3\n", {}, {}},
    {"#SBATCH hetjobs\n", {}, {}},
    {"#SBATCH --exclusive user\n", {}, {}},
    {"#SBATCH -N2 -- -n3\n", {}, {}},
    {"#SBATCH --node=2\n", {}, {}},
    {"#SBATCH --contiguous=yes\n", {}, {}},
    {"#SBATCH --gpus-per-nod3=2\n", {}, {}},
    {"#SBATCH -N=4\n", {}, {}},
    {"#SBATCH -N4-2\n", {}, {}},
    {"#SBATCH -n0\n", {}, {}},
    {"#SBATCH -n4k\n", {}, {}},
    {"#SBATCH -t 1h\n", {}, {}},
    {"#SBATCH -t x\n#SBATCH -t 5\n", {}, {}},
    {"#SBATCH --mem=16GiB\n", {}, {}},
    {"#SBATCH --mem=1G\n", {"--mem-per-cpu=2G"}, {}},
    {"#SBATCH --switches=0\n", {}, {}},
    {"", {}, {{"SBATCH_TIMELIMIT", "soon"}}},
};

std::string joined(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, " "));
}

std::string joined(const std::map<std::string, std::string>& variables) {
    std::string text;
    for (const auto& [name, value] : variables) {
        text += fmt::format("{}={} ", name, value);
    }
    return text;
}

}  // namespace

TEST_CASE("sbatch puts the same options in force", "[script][slurm]") {
    const Sbatch sbatch;
    const auto probe = sbatch.ask(first + "#SBATCH -N2\n");
    if (!is_usable(probe)) {
        SKIP("no sbatch that lists its options: " << probe.said.substr(0, 200));
    }
    for (const auto& c : taken) {
        CAPTURE(c.text, c.arguments, c.environment);
        const auto verdict = sbatch.ask(first + c.text, joined(c.arguments), joined(c.environment));
        CAPTURE(verdict.said);

        const auto script = job::parse_script(first + c.text, "job.sh", c.arguments, c.environment);

        REQUIRE(script);
        CHECK(options_of(*script) == verdict.options);
    }
}

TEST_CASE("sbatch refuses the same scripts", "[script][slurm]") {
    const Sbatch sbatch;
    if (!is_usable(sbatch.ask(first + "#SBATCH -N2\n"))) {
        SKIP("no sbatch that lists its options");
    }
    for (const auto& c : refused) {
        CAPTURE(c.text);
        const auto verdict = sbatch.ask(first + c.text, joined(c.arguments), joined(c.environment));
        CAPTURE(verdict.said);

        const auto script = job::parse_script(first + c.text, "job.sh", c.arguments, c.environment);

        CHECK((!script || !script->warnings.empty()));
        CHECK(verdict.options.empty());
    }
}

TEST_CASE("sbatch reads the public scripts alike", "[script][slurm]") {
    RAILHEAD_NEED_CORPUS();
    const Sbatch sbatch;
    if (!is_usable(sbatch.ask(first + "#SBATCH -N2\n"))) {
        SKIP("no sbatch that lists its options");
    }
    for (const auto& name : test::list_corpus("sbatch", ".sbatch")) {
        CAPTURE(name);
        const auto text = test::read_corpus("sbatch/" + name);
        const auto verdict = sbatch.ask(text);
        CAPTURE(verdict.said);

        const auto script = job::parse_script(text, name);

        // sbatch does not know the options of plugins, and newer ones; it then lists nothing.
        if (script && !verdict.options.empty()) {
            CHECK(options_of(*script) == verdict.options);
        }
    }
}
