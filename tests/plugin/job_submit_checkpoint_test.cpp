// What the real job_submit_railhead.so makes of a job that declares checkpoints, or does not.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "fakes/failing_memory.hpp"
#include "plugin/job_submit_host.hpp"

using namespace job_submit_host;

namespace {

const std::string checkpoints = "notes = \"all\"\ncheckpoint.mode = \"enforce\"\n";
constexpr const char* by_srun = "#!/bin/bash\nsrun python train.py\n";

}  // namespace

TEST_CASE("a batch job finds its interval in its environment, and is else left as it is",
          "[plugin][checkpoint]") {
    const Host host{checkpoints + "checkpoint.signal = \"USR1\"\n"};
    Job job;
    job.batch(by_srun, {"HOME=/home/u", "RAILHEAD_CKPT_LEAD=1", "RAILHEAD_CKPT_COST=60"});
    const auto before = job.desc;

    REQUIRE(job.submit(host) == SLURM_SUCCESS);

    const auto environment = job.environment();
    CHECK(environment.starts_with("HOME=/home/u\n"));
    CHECK_THAT(environment, ContainsSubstring("\nRAILHEAD_CKPT_INTERVAL="));
    CHECK_THAT(environment, ContainsSubstring("\nRAILHEAD_CKPT_LEAD=150\n"));  // told, not wished
    CHECK_THAT(environment, ContainsSubstring("\nRAILHEAD_CKPT_COST=60\n"));
    CHECK(environment.find("LEAD=1\n") == std::string::npos);
    auto after = job.desc;
    after.environment = before.environment;
    after.env_size = before.env_size;
    CHECK(std::memcmp(&before, &after, sizeof before) == 0);
}

TEST_CASE("a job declares by option or by variable, and gets requeue, append mode and, unless the clock "
          "sends it, a signal",
          "[plugin][checkpoint]") {
    struct Case {
        std::string why, sent, set;
        uint16_t signal;
        std::string from;
    };
    const auto c = GENERATE(values<Case>({
        {"option", "_SLURM_SPANK_OPTION_railhead_ckpt_signal=USR1", "A=b", 0, "default"},
        {"variable copied by the SPANK plugin", "RAILHEAD_CKPT_SIGNAL=USR1", "A=b", 0, "default"},
        {"variable of the batch environment", "A=b", "RAILHEAD_CKPT_SIGNAL=USR1", 0, "default"},
        {"an interval by option", "_SLURM_SPANK_OPTION_railhead_ckpt_interval=1h", "A=b", 12, "user"},
        {"an interval by variable", "A=b", "RAILHEAD_CKPT_INTERVAL=1h", 12, "user"},
        {"the option before the variable", "_SLURM_SPANK_OPTION_railhead_ckpt_interval=1h",
         "RAILHEAD_CKPT_INTERVAL=2h", 12, "user"},
        {"a variable that the policy lists", "A=b", "RESUME=1", 12, "default"},
    }));
    CAPTURE(c.why);
    const Host host{checkpoints +
                    "checkpoint.declares = \"RESUME\"\ncheckpoint.signal = \"USR2\"\n"};
    Job job;
    job.batch(by_srun, {c.set});
    std::string sent = c.sent;
    char* list[] = {sent.data()};
    job.desc.spank_job_env = list;
    job.desc.spank_job_env_size = 1;

    REQUIRE(job.submit(host) == SLURM_SUCCESS);

    CHECK(job.desc.warn_signal == c.signal);
    CHECK(job.desc.warn_time == (c.signal != 0 ? 120 : 0));
    CHECK(job.desc.warn_flags == 0);
    CHECK(job.desc.requeue == 1);
    CHECK(job.desc.open_mode == OPEN_MODE_APPEND);
    CHECK_THAT(job.environment(), ContainsSubstring("\nRAILHEAD_CKPT_FROM=" + c.from + "\n"));
    if (c.from == "user") {
        CHECK_THAT(job.environment(), ContainsSubstring("RAILHEAD_CKPT_INTERVAL=3600\n"));
    }
    CHECK(job.desc.spank_job_env_size == 1);
}

TEST_CASE("an interval that the job around this one was told declares nothing",
          "[plugin][checkpoint]") {
    const Host host{checkpoints};
    const std::string source = GENERATE(as<std::string>{}, "default", "policy", "history");
    Job job;
    job.batch(by_srun, {"RAILHEAD_CKPT_INTERVAL=60", "RAILHEAD_CKPT_FROM=" + source});

    REQUIRE(job.submit(host) == SLURM_SUCCESS);

    CHECK(job.desc.requeue == NO_VAL16);
    CHECK(job.environment().find("INTERVAL=60\n") == std::string::npos);
}

TEST_CASE("the user's interval is the user's, also within the user's other job",
          "[plugin][checkpoint]") {
    const Host host{checkpoints};
    Job job;
    job.batch(by_srun, {"RAILHEAD_CKPT_INTERVAL=60", "RAILHEAD_CKPT_FROM=user"});

    REQUIRE(job.submit(host) == SLURM_SUCCESS);

    CHECK(job.desc.requeue == 1);
    CHECK_THAT(job.environment(), ContainsSubstring("INTERVAL=60\n"));
}

TEST_CASE("B: is told to Slurm as the flag that signals the batch script alone",
          "[plugin][checkpoint]") {
    const Host host{checkpoints + "checkpoint.signal = \"USR2\"\n"};
    Job job;
    job.batch("#!/bin/bash\nexec python t.py\n", {"RAILHEAD_CKPT_INTERVAL=auto"});
    REQUIRE(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.warn_signal == 12);
    CHECK(job.desc.warn_flags == KILL_JOB_BATCH);
}

TEST_CASE("a user's own --signal, --no-requeue and --open-mode stay as they are",
          "[plugin][checkpoint]") {
    const Host host{checkpoints + "checkpoint.signal = \"USR1\"\n"};
    Job job;
    job.batch(by_srun, {"RAILHEAD_CKPT_SIGNAL=USR1"});
    job.desc.warn_signal = 15;
    job.desc.warn_time = 7;
    job.desc.warn_flags = KILL_JOB_BATCH | KILL_JOB_RESV;
    job.desc.requeue = 0;
    job.desc.open_mode = OPEN_MODE_TRUNCATE;
    REQUIRE(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.warn_signal == 15);
    CHECK(job.desc.warn_time == 7);
    CHECK(job.desc.warn_flags == (KILL_JOB_BATCH | KILL_JOB_RESV));
    CHECK(job.desc.requeue == 0);
    CHECK(job.desc.open_mode == OPEN_MODE_TRUNCATE);
}

TEST_CASE("a job that does not declare is refused or cut short by name alone",
          "[plugin][checkpoint]") {
    const std::string above = "checkpoint.declare_above = 3\n";
    SECTION("refused") {
        const Host host{checkpoints + above + "checkpoint.undeclared = \"refuse\"\n"};
        Job job;
        job.batch(by_srun, {"A=b"});
        CHECK(job.submit(host) == ESLURM_ACCESS_DENIED);
        CHECK_THAT(job.told(), ContainsSubstring("railhead: refused: 4 nodes fail every"));
        CHECK(job.environment() == "A=b\n");
    }
    SECTION("cut short, and its least time with it, or Slurm would refuse it") {
        const Host host{checkpoints + above +
                        "checkpoint.undeclared = \"cap\"\ncheckpoint.undeclared_time = \"1h\"\n"};
        Job job;
        job.batch(by_srun, {"A=b"});
        job.desc.time_limit = 600;
        job.desc.time_min = 300;
        REQUIRE(job.submit(host) == SLURM_SUCCESS);
        CHECK(job.desc.time_limit == 60);
        CHECK(job.desc.time_min == 60);
        CHECK(job.desc.warn_signal == 0);
    }
}

TEST_CASE("an environment that slurmctld would not make is not written to", "[plugin][checkpoint]") {
    const Host host{checkpoints};
    Job job;
    job.batch(by_srun, {"A=b", "C=d"});
    SECTION("none") {
        char** const all = job.desc.environment;
        job.desc.environment = nullptr;
        CHECK(job.submit(host) == SLURM_SUCCESS);
        CHECK(job.desc.environment == nullptr);
        job.desc.environment = all;
    }
    SECTION("a hole in it") {
        std::free(job.desc.environment[0]);
        job.desc.environment[0] = nullptr;
        CHECK(job.submit(host) == SLURM_SUCCESS);
        CHECK(job.desc.env_size == 2);
        job.desc.environment[0] = ::strdup("A=b");
    }
}

TEST_CASE("garbage in what is said of checkpoints is survived", "[plugin][checkpoint]") {
    const Host host{checkpoints + "checkpoint.signal = \"USR1\"\n"};
    const auto garbage = GENERATE(
        as<std::string>{}, "", "=", "@", "USR1@", "@batch", "99999999999999999999", "-1", "1e400", "nan",
        "0", "%s%n", "\xff\xfe\x01\n\x1b[31m", std::string(1 << 20, 'x'), std::string(1 << 20, '\n'));
    CAPTURE(garbage.substr(0, 40));
    Job job;
    job.batch(garbage.c_str(), {"RAILHEAD_CKPT_SIGNAL=" + garbage, "RAILHEAD_CKPT_INTERVAL=" + garbage,
                                "RAILHEAD_CKPT_COST=" + garbage, "RAILHEAD_CKPT_STEP=" + garbage,
                                "RAILHEAD_CKPT_FROM=" + garbage});
    CHECK(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.warn_signal == 0);
    for (const auto& line : fake_slurm::logged()) {
        CHECK(line.find('\n') == std::string::npos);
        CHECK(line.find('\x1b') == std::string::npos);
    }
}

TEST_CASE("running out of memory leaves a job that declares whole or untouched",
          "[plugin][checkpoint]") {
    if (!fakes::FailingMemory::works()) {
        SKIP("a sanitizer has an allocator of its own");
    }
    const Host host{checkpoints +
                    "checkpoint.declares = \"RESUME\"\ncheckpoint.signal = \"USR1\"\n"};
    bool has_failed = true;
    int points = 0;
    for (long at = 0; has_failed && at < 10'000; ++at) {
        Job job;
        job.batch(by_srun, {"RESUME=1"});
        int status = 0;
        {
            const fakes::FailingMemory memory{at};
            status = job.submit(host);
            has_failed = memory.has_failed();
        }
        CHECK(status == SLURM_SUCCESS);
        const bool untouched = job.desc.warn_signal == 0 && job.desc.requeue == NO_VAL16 &&
                               job.desc.open_mode == 0 && job.desc.env_size == 1;
        const bool whole = job.desc.warn_signal == 10 && job.desc.requeue == 1 &&
                           job.desc.open_mode == OPEN_MODE_APPEND && job.desc.env_size == 8;
        CHECK((untouched || whole));
        CHECK(job.environment().starts_with("RESUME=1\n"));
        points += has_failed ? 1 : 0;
    }
    CHECK(points > 3);
}
