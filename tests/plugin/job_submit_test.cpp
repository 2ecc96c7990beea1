// What the real job_submit_railhead.so makes of a job.
#include <cstring>
#include <string>

#include "plugin/job_submit_host.hpp"

using namespace job_submit_host;

TEST_CASE("the plugin names itself and the Slurm that it is for", "[plugin]") {
    const Host host{enforce};
    CHECK(std::string{host.symbol<const char>("plugin_type")} == "job_submit/railhead");
    CHECK(*host.symbol<const uint32_t>("plugin_version") == SLURM_VERSION_NUMBER);
    CHECK(fake_slurm::has_logged("in force, 1 partition, 8 nodes"));
}

TEST_CASE("a gang is rewritten, its GPU fields left as they are, and its user told", "[plugin]") {
    const Host host{enforce};
    Job job;
    job.gpus("gres:gpu:h100:16");
    job.desc.num_tasks = 16;

    REQUIRE(job.submit(host) == SLURM_SUCCESS);

    CHECK(job.desc.min_nodes == 2);
    CHECK(job.desc.max_nodes == 2);
    CHECK(job.desc.shared == 0);
    CHECK(job.desc.req_switch == 1);
    CHECK(job.desc.wait4switch == 300);
    CHECK(job.desc.num_tasks == 16);
    CHECK(std::string{job.desc.tres_per_job} == "gres:gpu:h100:16");
    CHECK_THAT(job.told(), ContainsSubstring("16 GPUs become 2 whole nodes"));
    CHECK(fake_slurm::has_logged("uid 1000 partition main gpus 16"));
}

TEST_CASE("prefer and -x are given to Slurm in its own memory, what was there before is freed", "[plugin]") {
    const Host host{all_rules};
    Job job;
    job.gpus("gpu:16");
    job.desc.features = const_cast<char*>("fast");
    job.exclude("n1");

    REQUIRE(job.submit(host) == SLURM_SUCCESS);

    REQUIRE(job.desc.prefer != nullptr);
    CHECK(std::string{job.desc.prefer} == "fast&small");
    CHECK(std::string{job.desc.exc_nodes} == "n1,n8");
    CHECK(std::string{job.desc.features} == "fast");
}

TEST_CASE("what the policy refuses is refused by name", "[plugin]") {
    const Host host{enforce + "gang.partial = \"refuse\"\n"};
    Job job;
    job.gpus("gpu:12");
    CHECK(job.submit(host) != SLURM_SUCCESS);
    CHECK_THAT(job.told(), ContainsSubstring("railhead: refused: 12 GPUs do not fill"));
}

TEST_CASE("a job says off by option or by variable, wherever it was submitted", "[plugin]") {
    struct Case {
        std::string why, entry;
        bool in_environment;
    };
    const auto c = GENERATE(values<Case>({
        {"option of sbatch, srun, salloc", "_SLURM_SPANK_OPTION_railhead_railhead=off", false},
        {"variable copied by the SPANK plugin", "RAILHEAD=off", false},
        {"variable in the batch environment", "RAILHEAD=0", true},
    }));
    CAPTURE(c.why);
    const Host host{enforce};
    Job job;
    job.gpus("gpu:16");
    std::string entry = c.entry;
    char* list[] = {entry.data()};
    (c.in_environment ? job.desc.environment : job.desc.spank_job_env) = list;
    (c.in_environment ? job.desc.env_size : job.desc.spank_job_env_size) = 1;
    CHECK(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.min_nodes == NO_VAL);
}

TEST_CASE("job_modify: only what is present is looked at", "[plugin]") {
    const Host host{enforce};
    auto* modify = host.symbol<Modify>("job_modify");
    SECTION("a new node count renews the switch count") {
        Job job;
        job.desc.min_nodes = 6;
        CHECK(modify(&job.desc, nullptr, 1000, &job.error) == SLURM_SUCCESS);
        CHECK(job.desc.req_switch == 2);
    }
    SECTION("anything else passes") {
        Job job;
        job.desc.time_limit = 60;
        const auto before = job.desc;
        CHECK(modify(&job.desc, nullptr, 1000, &job.error) == SLURM_SUCCESS);
        CHECK(std::memcmp(&before, &job.desc, sizeof before) == 0);
    }
}
