// The real job_submit_railhead.so in a host that plays slurmctld.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
struct job_record;
}

#include "fakes/failing_memory.hpp"
#include "fakes/fake_slurm.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace {

using railhead::test::ScopedVariable;
using railhead::test::TempDir;

using Init = int();
using Fini = void();
using Submit = int(job_desc_msg_t*, uint32_t, char**);
using Modify = int(job_desc_msg_t*, job_record*, uint32_t, char**);

const std::string slurm_conf =
    "ClusterName=test\nSlurmctldHost=localhost\nGresTypes=gpu\nTopologyPlugin=topology/tree\n"
    "NodeName=DEFAULT CPUs=64 Sockets=2 CoresPerSocket=32 RealMemory=1000000 Gres=gpu:h100:8\n"
    "NodeName=n[1-4] Feature=fast\nNodeName=n[5-8] Feature=fast,small\n"
    "PartitionName=main Nodes=ALL Default=YES\n";
const std::string topology =
    "SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\nSwitchName=spine Switches=s[1-2]\n";

const std::string enforce = "mode = \"enforce\"\nnotes = \"all\"\nplacement.wait = \"5m\"\n";
const std::string all_rules = enforce + "placement.set_aside = \"small\"\n";

/// A cluster's configuration folder with a policy, and the plugin loaded on it.
class Host {
   public:
    explicit Host(const std::string& policy) {
        folder_.write("slurm.conf", slurm_conf);
        folder_.write("topology.conf", topology);
        if (!policy.empty()) {
            folder_.write("railhead.toml", policy);
            ::chmod(folder_.path("railhead.toml").c_str(), 0644);
        }
        if (policy == all_rules) {
            ::chmod(folder_.write("railhead.lemons", "n8 never slow\n").c_str(), 0644);
        }
        load();
    }
    ~Host() {
        if (so_) {
            symbol<Fini>("fini")();
        }
    }

    template <class F>
    F* symbol(const char* name) const {
        return reinterpret_cast<F*>(::dlsym(so_.get(), name));
    }
    const TempDir& folder() const { return folder_; }

   private:
    void load() {
        fake_slurm::clear();
        so_.reset(::dlopen(JOB_SUBMIT_PLUGIN, RTLD_NOW | RTLD_LOCAL));
        INFO((so_ ? "" : ::dlerror()));
        REQUIRE(so_);
        REQUIRE(symbol<Init>("init")() == SLURM_SUCCESS);
    }

    TempDir folder_;
    ScopedVariable conf_{"SLURM_CONF", folder_.path("slurm.conf")};
    std::unique_ptr<void, int (*)(void*)> so_{nullptr, &::dlclose};
};

/// A job description as slurm_init_job_desc_msg() leaves it, plus what a test sets.
struct Job {
    Job() {
        std::memset(&desc, 0, sizeof desc);
        desc.min_nodes = desc.max_nodes = desc.num_tasks = NO_VAL;
        desc.req_switch = desc.wait4switch = desc.time_limit = NO_VAL;
        desc.pn_min_tmp_disk = desc.het_job_offset = desc.max_cpus = NO_VAL;
        desc.ntasks_per_node = desc.ntasks_per_socket = desc.ntasks_per_core = NO_VAL16;
        desc.ntasks_per_tres = desc.cpus_per_task = desc.pn_min_cpus = NO_VAL16;
        desc.sockets_per_node = desc.cores_per_socket = desc.threads_per_core = NO_VAL16;
        desc.shared = desc.contiguous = desc.core_spec = desc.requeue = NO_VAL16;
        desc.time_min = NO_VAL;
        desc.overcommit = NO_VAL8;
        desc.pn_min_memory = NO_VAL64;
    }
    ~Job() {
        std::free(error);
        std::free(desc.prefer);
        std::free(desc.exc_nodes);
        for (char** entry = desc.environment; owns_environment && *entry != nullptr; ++entry) {
            std::free(*entry);
        }
        std::free(owns_environment ? desc.environment : nullptr);
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    int submit(const Host& host) { return host.symbol<Submit>("job_submit")(&desc, 1000, &error); }
    std::string told() const { return error != nullptr ? error : ""; }
    /// As slurmctld has it: from its own memory, to be freed with slurm_xfree().
    void exclude(const char* nodes) { desc.exc_nodes = ::strdup(nodes); }
    /// Makes it a batch job of four nodes, with an environment as slurmctld has it.
    void batch(const char* script, const std::vector<std::string>& environment) {
        desc.script = const_cast<char*>(script);
        desc.tres_per_node = const_cast<char*>("gres/gpu:8");
        desc.min_nodes = desc.max_nodes = 4;
        desc.environment =
            static_cast<char**>(std::calloc(environment.size() + 1, sizeof(char*)));
        for (const auto& entry : environment) {
            desc.environment[desc.env_size++] = ::strdup(entry.c_str());
        }
        owns_environment = true;
    }
    /// The batch environment as one text; fails where its size is not that of the array.
    std::string environment() const {
        std::string text;
        uint32_t count = 0;
        for (; desc.environment[count] != nullptr; ++count) {
            text += std::string{desc.environment[count]} + "\n";
        }
        CHECK(count == desc.env_size);
        return text;
    }
    void gpus(const char* text) { desc.tres_per_job = const_cast<char*>(text); }

    job_desc_msg_t desc;
    char* error = nullptr;
    bool owns_environment = false;
};

const std::string checkpoints = "notes = \"all\"\ncheckpoint.mode = \"enforce\"\n";
constexpr const char* by_srun = "#!/bin/bash\nsrun python train.py\n";

}  // namespace

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

TEST_CASE("what the policy refuses is refused by name", "[plugin]") {
    const Host host{enforce + "gang.partial = \"refuse\"\n"};
    Job job;
    job.gpus("gpu:12");
    CHECK(job.submit(host) != SLURM_SUCCESS);
    CHECK_THAT(job.told(), ContainsSubstring("railhead: refused: 12 GPUs do not fill"));
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

TEST_CASE("an empty list is none, and stays as it is", "[plugin]") {
    // sbatch --nodelist= and its like: "Requested node configuration is not available" elsewhere.
    const Host host{enforce};
    Job job;
    job.gpus("gres:gpu:h100:16");
    std::string empty;
    for (auto* list : {&job.desc.req_nodes, &job.desc.features, &job.desc.reservation,
                       &job.desc.partition}) {
        *list = empty.data();
    }
    job.exclude("");
    const auto* excluded = job.desc.exc_nodes;

    REQUIRE(job.submit(host) == SLURM_SUCCESS);

    CHECK(job.desc.min_nodes == 2);
    CHECK(job.desc.req_switch == 1);
    CHECK(job.desc.req_nodes == empty.data());
    CHECK(job.desc.exc_nodes == excluded);
}

TEST_CASE("garbage in every string of a job is survived", "[plugin]") {
    const Host host{enforce};
    const auto garbage = GENERATE(
        as<std::string>{}, "", ",", "gpu:", "gres:gpu:99999999999999999999", "gpu:h100:8:9:10",
        "%s%n%x", "\xff\xfe\x01", "n[0-99999999]", "[[[[[[[[", "gpu:0", "gpu:-1",
        std::string(1 << 20, 'x'), std::string(100000, ','), "main,,nowhere,", "\n\r\x1b[31m");
    CAPTURE(garbage.substr(0, 40));
    Job job;
    auto* text = const_cast<char*>(garbage.c_str());
    job.desc.tres_per_job = job.desc.tres_per_node = job.desc.tres_per_task = text;
    job.desc.tres_per_socket = job.desc.tres_bind = job.desc.cpus_per_tres = text;
    job.desc.mem_per_tres = job.desc.features = job.desc.req_nodes = text;
    job.exclude(text);
    job.desc.reservation = job.desc.account = job.desc.qos = text;
    CHECK(job.submit(host) == SLURM_SUCCESS);
    job.desc.partition = text;
    CHECK(job.submit(host) == SLURM_SUCCESS);
    for (const auto& line : fake_slurm::logged()) {
        CHECK(line.find('\n') == std::string::npos);  // a user cannot write log lines
        CHECK(line.find('\x1b') == std::string::npos);
    }
}

TEST_CASE("an environment of ten thousand lines is read to its end", "[plugin]") {
    const Host host{enforce};
    std::vector<std::string> lines(10'000, "A_VARIABLE_OF_THE_USER=" + std::string(200, 'v'));
    lines.emplace_back("NO_EQUALS_SIGN");
    lines.emplace_back("RAILHEAD=off");
    std::vector<char*> pointers;
    for (auto& line : lines) {
        pointers.push_back(line.data());
    }
    pointers[17] = nullptr;
    Job job;
    job.gpus("gpu:16");
    job.desc.environment = pointers.data();
    job.desc.env_size = static_cast<uint32_t>(pointers.size());
    CHECK(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.min_nodes == NO_VAL);
}

TEST_CASE("running out of memory at any point: a job is changed whole or not at all", "[plugin]") {
    if (!fakes::FailingMemory::works()) {
        SKIP("a sanitizer has an allocator of its own");
    }
    const Host host{all_rules};
    bool has_failed = true;
    int points = 0;
    for (long at = 0; has_failed && at < 10'000; ++at) {
        Job job;
        job.gpus("gpu:16");
        job.desc.features = const_cast<char*>("fast");
        job.exclude("n[1-2]");
        const auto before = job.desc;
        int status = 0;
        {
            const fakes::FailingMemory memory{at};
            status = job.submit(host);
            has_failed = memory.has_failed();
        }
        CHECK(status == SLURM_SUCCESS);
        if (has_failed) {
            // Changed whole or not at all: the last allocations are the texts that Slurm is given, and
            // its own allocator does not return without memory.
            const bool unchanged = std::memcmp(&before, &job.desc, sizeof before) == 0;
            const bool whole = job.desc.min_nodes == 2 && job.desc.max_nodes == 2 &&
                               job.desc.shared == 0 && job.desc.req_switch == 1;
            CHECK((unchanged || whole));
            CHECK(std::string{job.desc.exc_nodes}.starts_with("n[1-2]"));
            ++points;
        }
    }
    CHECK(points > 3);
    CHECK(fake_slurm::has_logged("bad_alloc"));
}

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

TEST_CASE("job_submit may be called from several threads while the policy changes", "[plugin]") {
    const Host host{enforce};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&host] {
            for (int k = 0; k < 500; ++k) {
                Job job;
                job.gpus("gpu:16");
                job.submit(host);
            }
        });
    }
    for (int k = 0; k < 5; ++k) {
        host.folder().write("railhead.toml", k % 2 == 0 ? "mode = \"observe\"\n" : enforce);
        ::usleep(500'000);
        Job job;
        job.gpus("gpu:16");
        CHECK(job.submit(host) == SLURM_SUCCESS);
    }
    for (auto& thread : threads) {
        thread.join();
    }
}
