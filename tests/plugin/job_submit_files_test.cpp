// The files of the real job_submit_railhead.so, bad, loose, and changing under it.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "plugin/job_submit_host.hpp"

using namespace job_submit_host;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

TEST_CASE("a lemon is one until its time, which the job's submission is compared with", "[plugin]") {
    const Host host{enforce};
    const auto excluded = [&host](const std::string& until) {
        const auto file = host.folder().write("railhead.lemons", "n8 " + until + " slow\n");
        ::chmod(file.c_str(), 0644);
        ::sleep(3);
        Job looks;
        looks.submit(host);
        Job job;
        job.gpus("gpu:16");
        CHECK(job.submit(host) == SLURM_SUCCESS);
        return std::string{job.desc.exc_nodes != nullptr ? job.desc.exc_nodes : ""};
    };
    CHECK(excluded("2001-01-01") == "");
    CHECK(excluded("9000-01-01") == "n8");
}

TEST_CASE("a lemons file that others can write is not used, and the policy works on", "[plugin][security]") {
    const Host host{enforce};
    const auto file = host.folder().write("railhead.lemons", "n8 never\n");
    ::chmod(file.c_str(), 0666);
    ::sleep(3);
    Job looks;
    looks.submit(host);
    Job job;
    job.gpus("gpu:16");
    CHECK(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.exc_nodes == nullptr);
    CHECK(job.desc.min_nodes == 2);
    CHECK(fake_slurm::has_logged("railhead.lemons\" can be written by others"));
}

TEST_CASE("without a policy, or with a broken one, every job passes unchanged", "[plugin]") {
    struct Case {
        std::string why, policy, log;
    };
    const auto c = GENERATE(values<Case>({
        {"none", "", "every job passes unchanged"},
        {"syntax", "mode = \n", "railhead.toml:1:"},
        {"the three bytes that abort toml++", "[\no", "railhead.toml:"},
        {"unknown key", "mood = \"enforce\"\n", "unknown key \"mood\""},
    }));
    CAPTURE(c.why);
    const Host host{c.policy};
    Job job;
    job.gpus("gpu:16");
    const auto before = job.desc;

    CHECK(job.submit(host) == SLURM_SUCCESS);

    CHECK(std::memcmp(&before, &job.desc, sizeof before) == 0);
    CHECK(job.told().empty());
    CHECK(fake_slurm::has_logged(c.log));
}

TEST_CASE("a policy that others can write is refused", "[plugin][security]") {
    TempDir folder;
    const auto policy = folder.write("loose.toml", enforce);
    ::chmod(policy.c_str(), 0666);
    const ScopedVariable named{"RAILHEAD_POLICY", policy};
    const Host host{""};
    Job job;
    job.gpus("gpu:16");
    CHECK(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.min_nodes == NO_VAL);
    CHECK(fake_slurm::has_logged("can be written by others"));
}

TEST_CASE("a policy that turns bad leaves the last good one in force", "[plugin]") {
    const Host host{enforce};
    host.folder().write("railhead.toml", "mode = ");
    ::sleep(3);  // it is looked at every two seconds
    Job first;   // this one looks
    first.gpus("gpu:16");
    CHECK(first.submit(host) == SLURM_SUCCESS);
    Job job;
    job.gpus("gpu:16");
    CHECK(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.min_nodes == 2);
    CHECK(fake_slurm::has_logged("the last good one stays"));

    SECTION("and the next good one takes over") {
        host.folder().write("railhead.toml", "enabled = false\n");
        ::sleep(3);
        Job looks;
        looks.submit(host);
        Job off;
        off.gpus("gpu:16");
        CHECK(off.submit(host) == SLURM_SUCCESS);
        CHECK(off.desc.min_nodes == NO_VAL);
    }
}

TEST_CASE("a topology caught half-written leaves the cluster as last known", "[plugin]") {
    const Host host{enforce};
    host.folder().write("topology.conf", "SwitchName=s1 Nod");
    ::sleep(3);
    Job looks;
    looks.submit(host);
    Job job;
    job.gpus("gpu:16");
    CHECK(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.req_switch == 1);
    CHECK(fake_slurm::has_logged("the cluster as last known stays in force"));
}
