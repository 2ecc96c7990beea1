// Whole commands: what they print and the status they leave.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/text.hpp"
#include "run_cli.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace railhead;

using namespace railhead::test;

std::vector<std::string> explain(const std::string& script, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"explain",      "--policy",
                                       data_file("sites/two-leaves/railhead.toml"),
                                       "--slurm-conf", data_file("sites/two-leaves/slurm.conf"),
                                       data_file("sites/scripts/" + script)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

}  // namespace

TEST_CASE("explain tells what becomes of a script, and why", "[cli][golden]") {
    struct Case {
        std::string why, golden;
        std::vector<std::string> arguments;
        int status;
    };
    const auto c = GENERATE(values<Case>({
        {"a gang", "pretrain.txt", explain("pretrain.sbatch"), 0},
        {"as JSON", "pretrain.json", explain("pretrain.sbatch", {"--json"}), 0},
        {"with further options", "pretrain-32.txt",
         explain("pretrain.sbatch", {"--", "--gpus=32", "-n32"}), 0},
        {"a refusal leaves status 1", "partial.txt", explain("partial.sbatch"), 1},
        {"a heterogeneous job", "het.txt", explain("het.sbatch"), 0},
        {"switched off", "off.txt", explain("pretrain.sbatch", {"--", "--railhead=off"}), 0},
    }));
    CAPTURE(c.why);

    const auto output = railhead_run(c.arguments);

    CAPTURE(output.err);
    CHECK(output.status == c.status);
    const auto text = scrubbed(output.out);
    CHECK(text == test::golden("golden/cli/" + c.golden, text));
    if (c.golden.ends_with(".txt")) {
        std::istringstream lines{text};
        for (std::string line; std::getline(lines, line);) {
            CHECK(line.size() <= 80);
        }
    }
}

TEST_CASE("an error names file, line and column, and leaves status 2", "[cli][errors]") {
    const auto broken = data_file("policies-broken/misspelt-key.toml");
    const auto conf = data_file("sites/two-leaves/slurm.conf");
    const auto script = data_file("sites/scripts/pretrain.sbatch");
    struct Case {
        std::string why;
        std::vector<std::string> arguments;
        std::string expected;
    };
    const auto c = GENERATE_COPY(values<Case>({
        {"no subcommand", {}, "subcommand is required"},
        {"unknown subcommand", {"explian"},
         "railhead: unknown command \"explian\", did you mean \"explain\"?"},
        {"unknown option", {"explain", "--polcy", "x", script}, "--polcy"},
        {"no script", {"explain"}, "script is required"},
        {"a script that is not there", {"explain", "/nowhere/x.sbatch"},
         "railhead: cannot open \"/nowhere/x.sbatch\": No such file or directory"},
        {"a folder", {"explain", "/"}, "railhead: \"/\" is not a regular file"},
        {"a policy that is not there", {"explain", "--policy", "/nowhere/p.toml", script},
         "railhead: there is no policy \"/nowhere/p.toml\""},
        {"a broken policy", {"explain", "--policy", broken, "--slurm-conf", conf, script},
         "misspelt-key.toml:3:1: unknown key \"wiat\", did you mean \"wait\"?"},
        {"an XML that is not there", {"rails", "--hwloc-xml", "/nowhere/node.xml"}, "/nowhere/node.xml"},
        {"an XML that is none", {"rails", "--hwloc-xml", script}, "railhead: "},
    }));
    CAPTURE(c.why);

    const auto output = railhead_run(c.arguments);

    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, ContainsSubstring(c.expected));
}

TEST_CASE("a job that has nowhere to run is a finding", "[cli]") {
    const auto output = railhead_run(explain("pretrain.sbatch", {"--", "-p", "nowhere"}));
    CHECK(output.status == 1);
    CHECK_THAT(output.out, ContainsSubstring("in no partition that slurm.conf has"));
}

TEST_CASE("every broken policy is refused with a place, and none crashes", "[cli][errors]") {
    for (const auto& entry : std::filesystem::directory_iterator{data_file("policies-broken")}) {
        if (entry.path().extension() != ".toml") {
            continue;
        }
        CAPTURE(entry.path().filename().string());
        const auto output =
            railhead_run({"explain", "--policy", entry.path().string(), "--slurm-conf",
                          data_file("sites/two-leaves/slurm.conf"), data_file("sites/scripts/pretrain.sbatch")});
        CHECK(output.status == 2);
        CHECK_THAT(output.err, ContainsSubstring(entry.path().string() + ":"));
    }
}

TEST_CASE("an option that sbatch does not know is told with what was meant", "[cli]") {
    const auto output = railhead_run(explain("typo.sbatch"));
    CHECK(output.status == 1);  // sbatch would refuse it
    CHECK_THAT(output.err, ContainsSubstring("typo.sbatch:3:"));
    CHECK_THAT(output.err, ContainsSubstring("exclusve"));
    CHECK_THAT(output.err, ContainsSubstring("exclusive"));
}

TEST_CASE("asking for the version or for help is fine", "[cli]") {
    CHECK(railhead_run({"--version"}).status == 0);
    CHECK(railhead_run({"--version"}).out.starts_with("railhead 0."));
    for (const std::string command : {"explain", "rails", "check"}) {
        CHECK(railhead_run({command, "--help"}).status == 0);
    }
}

TEST_CASE("help fits 80 columns, of each command that it lists", "[cli]") {
    const auto words_of = [](const std::vector<std::string>& command) {
        auto arguments = command;
        arguments.emplace_back("--help");
        const auto help = railhead_run(arguments).out;
        CAPTURE(command);
        CHECK_FALSE(help.empty());
        for (const auto line : split(help, '\n')) {
            CAPTURE(line);
            CHECK(line.size() <= 80);
        }
        return help;
    };
    std::size_t commands = 0;
    bool is_list = false;
    const auto all = words_of({});
    for (const auto line : split(all, '\n')) {
        const auto name = split_words(line);
        if (is_list && !name.empty() && line.size() > 2 && line[2] != ' ') {
            words_of({std::string{name.front()}});
            ++commands;
        }
        is_list = is_list || line.starts_with("Subcommands:") || line.starts_with("SUBCOMMANDS:");
    }
    CHECK(commands >= 19);
    words_of({"fabric", "plan"});
    words_of({"fabric", "show"});
    words_of({"ckpt", "status"});
    words_of({"policy", "test"});
}

TEST_CASE("no input of any kind crashes a command", "[cli]") {
    test::TempDir folder;
    std::mt19937 random{1};
    std::string noise(20'000, '\0');
    for (auto& c : noise) {
        c = static_cast<char>(random());
    }
    const std::vector<std::string> texts{
        "", "\n", "\xff\xfe", noise, std::string(100'000, '['), std::string(1'000'000, 'x'),
        "#!/bin/sh\n#SBATCH " + std::string(100'000, '-') + "\n", "<topology>", "<?xml version=\"1.0\"?>",
        "#!/bin/sh\r\n#SBATCH -N2\r\n", "SwitchName=a Switches=a\n", "NodeName=n[0-99999999]\n"};
    const auto script = data_file("sites/scripts/pretrain.sbatch");
    const auto policy = data_file("sites/two-leaves/railhead.toml");
    const auto conf = data_file("sites/two-leaves/slurm.conf");
    for (const auto& text : texts) {
        const auto bad = folder.write("bad", text);
        CAPTURE(text.substr(0, 40));
        for (const auto& arguments : std::vector<std::vector<std::string>>{
                 {"explain", "--policy", bad, "--slurm-conf", conf, script},
                 {"explain", "--policy", policy, "--slurm-conf", bad, script},
                 {"explain", "--policy", policy, "--slurm-conf", conf, "--topology", bad, script},
                 {"explain", "--policy", policy, "--slurm-conf", conf, bad},
                 {"check", "--policy", bad, "--slurm-conf", conf, "--plugstack", bad, "--plugin-dir", folder.path()},
                 {"rails", "--hwloc-xml", bad}}) {
            const auto output = railhead_run(arguments);
            CHECK(output.status >= 0);
            CHECK(output.status <= 2);
            for (const char c : output.err) {
                CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
            }
        }
    }
}

TEST_CASE("check finds what is wrong with a site", "[cli]") {
    test::TempDir folder;
    const auto site = data_file("sites/two-leaves/");
    for (const std::string name : {"slurm.conf", "gres.conf", "topology.conf", "railhead.toml"}) {
        std::filesystem::copy_file(site + name, folder.path(name));
        ::chmod(folder.path(name).c_str(), 0644);
    }
    const auto check = [&](std::vector<std::string> more = {}) {
        std::vector<std::string> arguments{"check", "--policy", folder.path("railhead.toml"),
                                           "--slurm-conf", folder.path("slurm.conf"),
                                           "--plugin-dir", folder.path(), "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return railhead_run(arguments);
    };
    SECTION("policy, slurm.conf and topology in order") {
        const auto output = check();
        CHECK_THAT(output.out, ContainsSubstring("gang enforce, placement enforce, checkpoint "));
        CHECK_THAT(output.out, ContainsSubstring("8 nodes of 8 GPUs on 2 leaf switches"));
        CHECK_THAT(output.out, ContainsSubstring("2 leaf switches of 4 nodes below 1 level of switches, 8 nodes"));
    }
    SECTION("a policy that others can write") {
        ::chmod(folder.path("railhead.toml").c_str(), 0666);
        const auto output = check();
        CHECK(output.status == 1);
        CHECK_THAT(output.out, ContainsSubstring("can be written by others"));
    }
    SECTION("a wait that slurmctld cuts") {
        folder.write("railhead.toml", "[placement]\nwait = \"2h\"\n");
        CHECK_THAT(check().out, ContainsSubstring("max_switch_wait cuts it to 10 min"));
    }
    SECTION("types of nodes") {
        folder.write("railhead.toml",
                     "[[node_type]]\nname = \"a\"\nnodes = \"n[01-07]\"\nrails = \"mlx5_0\"\n"
                     "topo_file = \"" + folder.path("absent.xml") + "\"\n");
        const auto output = check();
        CHECK_THAT(output.out, ContainsSubstring("n08 has no type while others of it have one"));
        CHECK_THAT(output.out, ContainsSubstring("absent.xml\\\" is not on this machine"));
        CHECK_THAT(output.out, ContainsSubstring("1 node type for 7 nodes"));
    }
    SECTION("a topology of the wrong kind") {
        folder.write("topology.conf", "BlockName=b1 Nodes=n[01-08]\nBlockSizes=4\n");
        CHECK_THAT(check().out, ContainsSubstring("is for topology/block, slurm.conf says"));
    }
    SECTION("nodes that no leaf has") {
        folder.write("topology.conf", "SwitchName=leaf1 Nodes=n[01-04]\n");
        CHECK_THAT(check().out, ContainsSubstring("that the topology does not name"));
    }
    SECTION("the controller does not load the plugin") {
        std::ifstream in{folder.path("slurm.conf")};
        std::string text{std::istreambuf_iterator<char>{in}, {}};
        text.replace(text.find("JobSubmitPlugins"), 1, "#");
        folder.write("slurm.conf", text);
        CHECK_THAT(check().out, ContainsSubstring("JobSubmitPlugins does not name railhead"));
    }
    SECTION("the controller loads the plugin twice") {
        std::ifstream in{folder.path("slurm.conf")};
        std::string text{std::istreambuf_iterator<char>{in}, {}};
        folder.write("slurm.conf", text + "JobSubmitPlugins=railhead,lua,job_submit/railhead\n");
        CHECK_THAT(check().out, ContainsSubstring("names railhead 2 times"));
    }
    SECTION("advice is no fault") {
        std::ifstream in{folder.path("slurm.conf")};
        std::string text{std::istreambuf_iterator<char>{in}, {}};
        folder.write("slurm.conf", text + "TaskPlugin=task/affinity\nKillOnBadExit=0\n");
        const auto output = check();
        CHECK_THAT(output.out, ContainsSubstring("\"level\": \"advice\""));
        CHECK_THAT(output.out, ContainsSubstring("KillOnBadExit=1"));
    }
    SECTION("as JSON") {
        CHECK_THAT(check().out, ContainsSubstring("\"schema\": \"railhead.check/1\""));
    }
#ifdef RAILHEAD_TEST_PLUGINS
    SECTION("a required plugstack line and a misspelt argument") {
        // Our own plugin stands for a stock one: it tells which Slurm is installed.
        std::filesystem::copy_file(RAILHEAD_TEST_PLUGINS "/job_submit_railhead.so",
                                   folder.path("select_cons_tres.so"));
        std::filesystem::copy_file(RAILHEAD_TEST_PLUGINS "/spank_railhead.so",
                                   folder.path("spank_railhead.so"));
        const auto plugstack =
            folder.write("plugstack.conf", "required spank_railhead.so topolgy=x\n");
        const auto output = check({"--plugstack", plugstack});
        CHECK(output.status == 1);
        CHECK_THAT(output.out, ContainsSubstring("write \\\"optional\\\""));
        CHECK_THAT(output.out, ContainsSubstring("topolgy"));
        CHECK_THAT(output.out, ContainsSubstring("fits Slurm"));
        CHECK_THAT(output.out, ContainsSubstring("job_submit_railhead.so is not in PluginDir"));
    }
    SECTION("a strict plugin that Slurm does not listen to, and one that is not there") {
        std::filesystem::copy_file(RAILHEAD_TEST_PLUGINS "/job_submit_railhead.so",
                                   folder.path("select_cons_tres.so"));
        const auto plugstack =
            folder.write("plugstack.conf", "optional spank_railhead.so strict=true\n");
        auto output = check({"--plugstack", plugstack});
        CHECK(output.status == 1);
        CHECK_THAT(output.out, ContainsSubstring("strict=true has no effect on an \\\"optional\\\" line"));
        CHECK_THAT(output.out, ContainsSubstring("/spank_railhead.so\\\": No such file or directory"));

        folder.write("plugstack.conf", "required spank_railhead.so strict=true\n");
        output = check({"--plugstack", plugstack});
        CHECK(output.out.find("strict") == std::string::npos);
        CHECK(output.out.find("write \\\"optional\\\"") == std::string::npos);
    }
#endif
}
