// railhead order and railhead verify-placement, with a scontrol of the test's own.
#include <sys/stat.h>

#include <cstdlib>

#include <string>
#include <vector>

#include "job_record.hpp"
#include "run_cli.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace railhead;
using namespace railhead::test;

std::vector<std::string> on_site(std::vector<std::string> command, const std::vector<std::string>& more = {}) {
    for (const auto& word : {std::string{"--policy"}, data_file("sites/two-leaves/railhead.toml"),
                             std::string{"--slurm-conf"}, data_file("sites/two-leaves/slurm.conf")}) {
        command.push_back(word);
    }
    command.insert(command.end(), more.begin(), more.end());
    return command;
}

/// A folder in PATH with a scontrol that prints `text`, or fails.
class FakeScontrol {
 public:
    explicit FakeScontrol(const std::string& text, int status = 0)
        : path_{"PATH", folder_.path() + ":" + std::getenv("PATH")} {
        folder_.write("out", text);
        const auto program = folder_.write(
            "scontrol", "#!/bin/sh\n[ \"$1 $2\" = 'show job' ] || exit 9\n" +
                            std::string{status == 0 ? "exec cat " : "exec >&2; cat "} +
                            folder_.path("out") + "\nexit " + std::to_string(status) + "\n");
        ::chmod(program.c_str(), 0755);
    }

 private:
    TempDir folder_;
    ScopedVariable path_;
};

/// A record as scontrol of 22.05 to 26.05 prints it, as far as it is read.
std::string record(const std::string& ids, const std::string& state, const std::string& nodes) {
    return ids + " JobName=x NodeList=n99 Partition=nope\n   UserId=u(1) GroupId=u(1) MCS_label=N/A\n"
           "   JobState=" + state + " Reason=None Dependency=(null)\n"
           "   Partition=main AllocNode:Sid=localhost:1\n   ReqNodeList=(null) ExcNodeList=(null)\n"
           "   NodeList=" + nodes + "\n   BatchHost=n01\n   NumNodes=2 NumCPUs=2\n"
           "   Features=(null) DelayBoot=00:00:00\n   Comment=Partition=nope NodeList=n98\n\n";
}

}  // namespace

TEST_CASE("nodes are ordered by the site's topology", "[cli][order]") {
    const auto output = railhead_run(on_site({"order"}, {"n01,n05", "n[02,06]"}));
    CHECK(output.status == 0);
    CHECK(output.err.empty());
    CHECK(output.out == "n01\nn02\nn05\nn06\n");

    CHECK(railhead_run(on_site({"order", "--slots", "8"}, {"n01,n05,n02"})).out ==
          "n01 slots=8\nn02 slots=8\nn05 slots=8\n");
    CHECK(railhead_run(on_site({"order", "--format", "list"}, {"n01,n05,n02"})).out == "n01,n02,n05\n");
}

TEST_CASE("within a job its own nodes are ordered", "[cli][order]") {
    const ScopedVariable nodes{"SLURM_JOB_NODELIST", "n[04-05]"};
    CHECK(railhead_run(on_site({"order"})).out == "n04\nn05\n");
}

TEST_CASE("a topology alone is enough to order", "[cli][order]") {
    const TempDir folder;
    const auto topology = folder.write("t.conf", "SwitchName=a Nodes=m[1,3]\nSwitchName=b Nodes=m2\n");
    const auto output = railhead_run({"order", "--slurm-conf", folder.path("none"), "--policy", folder.path("none"),
                                      "--topology", topology, "m[1-3]"});
    CHECK(output.status == 0);
    CHECK(output.out == "m1\nm3\nm2\n");
}

TEST_CASE("nodes are ordered by their addresses", "[cli][order]") {
    const TempDir folder;
    const auto addresses = folder.write("a", "n1 x.n1\nn2 y.n2\nn3 x.n3\n");
    CHECK(railhead_run({"order", "--addresses", addresses}).out == "n1\nn3\nn2\n");

    const auto some = railhead_run({"order", "--addresses", addresses, "n[2-4]"});
    CHECK(some.out == "n2\nn3\nn4\n");
    CHECK(some.err == "railhead: warning: nobody says where n4 stands: last in the order\n");
}

TEST_CASE("what cannot be ordered is an error that says what to do", "[cli][order][errors]") {
    struct Case {
        std::string why;
        std::vector<std::string> arguments;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"no nodes", on_site({"order"}), "no node to order: name some, or run inside a job"},
        {"a bad list", on_site({"order"}, {"n[1-"}), "node list \"n[1-\": "},
        {"a partition that is not there", on_site({"order", "--partition", "x"}, {"n01"}),
         "slurm.conf has no partition \"x\""},
        {"no topology", {"order", "--slurm-conf", "/nowhere/slurm.conf", "n1"}, "no switches and no blocks are known: name a topology"},
        {"addresses that are not there", {"order", "--addresses", "/nowhere/a"}, "cannot open \"/nowhere/a\""},
        {"no format", on_site({"order", "--format", "toml"}, {"n01"}), "--format"},
        {"no slots", on_site({"order", "--slots", "0"}, {"n01"}), "--slots"},
    }));
    CAPTURE(c.why);

    const auto output = railhead_run(c.arguments);

    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, ContainsSubstring(c.expected));
}

TEST_CASE("nodes are verified against the least leaves", "[cli][verify]") {
    const auto good = railhead_run(on_site({"verify-placement", "--nodes", "n[01-04]"}));
    CHECK(good.status == 0);
    CHECK(good.out ==
          "  nodes      4 nodes in partition \"main\": n[01-04]\n"
          "  placement  minimal\n"
          "\n"
          "  level          span  least\n"
          "  leaf switches  1     1\n"
          "\n"
          "  leaf switch  nodes\n"
          "  leaf1        4      n[01-04]\n");

    const auto wide = railhead_run(on_site({"verify-placement", "--nodes", "n[01-02,07]"}));
    CHECK(wide.status == 1);
    CHECK_THAT(wide.out, ContainsSubstring("placement  wider than need be\n"));
    CHECK_THAT(wide.out, ContainsSubstring("leaf1        2      n[01-02]\n  leaf2        1      n07\n"));
}

TEST_CASE("a job is asked for and verified", "[cli][verify]") {
    const FakeScontrol scontrol{record("JobId=12", "RUNNING", "n[04-05]")};
    const auto output = railhead_run(on_site({"verify-placement"}, {"12", "--json"}));
    CHECK(output.status == 1);
    CHECK_THAT(output.out, ContainsSubstring("\"schema\": \"railhead.placement/1\""));
    CHECK_THAT(output.out, ContainsSubstring("\"job\": \"12\""));
    CHECK_THAT(output.out, ContainsSubstring("\"minimal\": false"));
    CHECK_THAT(output.out, ContainsSubstring("\"partition\": \"main\""));
}

TEST_CASE("parts of a job are verified each, and one that waits is said to", "[cli][verify]") {
    const FakeScontrol scontrol{record("JobId=12 HetJobId=12 HetJobOffset=0", "RUNNING", "n[01-02]") +
                                record("JobId=13 HetJobId=12 HetJobOffset=1", "PENDING", "(null)")};
    const auto output = railhead_run(on_site({"verify-placement"}, {"12"}));
    CHECK(output.status == 0);
    CHECK_THAT(output.out, ContainsSubstring("job 12+0\n  nodes      2 nodes"));
    CHECK_THAT(output.out, ContainsSubstring("job 12+1\n  placement  none: the job is PENDING and has no nodes\n"));
}

TEST_CASE("a job that waits cannot be verified", "[cli][verify][errors]") {
    const FakeScontrol scontrol{record("JobId=12", "PENDING", "")};
    const auto output = railhead_run(on_site({"verify-placement"}, {"12"}));
    CHECK(output.status == 2);
    CHECK_THAT(output.out, ContainsSubstring("none: the job is PENDING and has no nodes"));
    CHECK_THAT(output.err, ContainsSubstring("no placement could be verified"));
}

TEST_CASE("a job that slurmctld does not know is told in its words", "[cli][verify][errors]") {
    const FakeScontrol scontrol{"slurm_load_jobs error: Invalid job id specified\n", 1};
    const auto output = railhead_run(on_site({"verify-placement"}, {"99"}));
    CHECK(output.status == 2);
    CHECK_THAT(output.err, ContainsSubstring("job 99: \"scontrol\" ended with an error: slurm_load_jobs "
                                             "error: Invalid job id specified"));
}

TEST_CASE("what is no job is not asked for", "[cli][verify][errors]") {
    for (const std::string word : {"-o", "twelve", "12;ls", "12 13", ""}) {
        CAPTURE(word);
        CHECK_FALSE(cli::is_job_name(word));
    }
    for (const std::string word : {"12", "12_3", "12_[1-4]", "12+1"}) {
        CHECK(cli::is_job_name(word));
    }
    CHECK(railhead_run(on_site({"verify-placement"}, {"twelve"})).status == 2);
    CHECK(railhead_run(on_site({"verify-placement"})).status == 2);
    CHECK(railhead_run(on_site({"verify-placement", "--nodes", "n01"}, {"12"})).status == 2);
}

TEST_CASE("what a user wrote into a record is not read as Slurm's", "[verify]") {
    const auto records = cli::parse_job_records(
        record("JobId=14 ArrayJobId=12 ArrayTaskId=3", "RUNNING", "n[01-02]"));
    REQUIRE(records);
    REQUIRE(records->size() == 1);
    CHECK(records->front().name == "12_3");
    CHECK(records->front().partition == "main");
    CHECK(records->front().node_list == "n[01-02]");
    CHECK(records->front().excluded.empty());
    CHECK_FALSE(cli::parse_job_records("No jobs in the system\n"));
}
