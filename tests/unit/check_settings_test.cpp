// The findings of `railhead check` about slurm.conf and gres.conf, most of them from public reports
// of jobs that were slow, hung or never started.
#include "policy/check_settings.hpp"

#include <map>
#include <string>

#include "fabric/cluster.hpp"
#include "policy/drain_reason.hpp"
#include "support/catch.hpp"

namespace {

using namespace railhead;
using policy::Level;

/// "gres.conf warning: text" lines of a cluster made of these files.
std::string findings(const std::string& slurm_conf, const std::string& gres_conf) {
    const std::map<std::string, std::string> files{{"/etc/slurm/slurm.conf", slurm_conf},
                                                   {"/etc/slurm/gres.conf", gres_conf}};
    const auto cluster = fabric::read_cluster(
        "/etc/slurm/slurm.conf", [&](const std::string& path) -> Result<std::string> {
            const auto found = files.find(path);
            return found == files.end() ? Result<std::string>{fail(Errc::not_found, path)}
                                        : Result<std::string>{found->second};
        });
    REQUIRE(cluster);
    std::string text;
    for (const auto& finding : policy::check_settings(*cluster)) {
        text += finding.subject + (finding.level == Level::advice ? " advice: " : " warning: ") +
                finding.text + "\n";
    }
    return text;
}

constexpr const char* good =
    "TaskPlugin=task/affinity,task/cgroup\nKillOnBadExit=1\nSelectTypeParameters=CR_Core_Memory\n";
constexpr const char* node =
    "NodeName=n[1-4] Sockets=2 CoresPerSocket=32 ThreadsPerCore=2 Gres=gpu:8\n";

}  // namespace

TEST_CASE("a cluster in order has nothing to be told", "[check]") {
    CHECK(findings(std::string{good} + node,
                   "NodeName=n[1-4] Name=gpu File=/dev/nvidia[0-3] Cores=0-31\n"
                   "NodeName=n[1-4] Name=gpu File=/dev/nvidia[4-7] Cores=32-63\n").empty());
}

TEST_CASE("a cluster without GPUs is none of our business", "[check]") {
    CHECK(findings("NodeName=n[1-4] CPUs=64\n", "").empty());
}

TEST_CASE("what costs training jobs speed is told with the line to write", "[check]") {
    struct Case {
        std::string why, slurm_conf, gres_conf, expected;
    };
    const std::string gpus = "NodeName=n[1-4] Name=gpu File=/dev/nvidia[0-7]";
    const auto c = GENERATE_COPY(values<Case>({
        {"no task plugin: all ranks on CPU 0", std::string{"KillOnBadExit=1\n"} + node, gpus,
         "slurm.conf warning: TaskPlugin=task/none (its default): --cpu-bind has no effect, all tasks "
         "of a node may run on one CPU: TaskPlugin=task/affinity,task/cgroup\n"},
        {"the one that does nothing", std::string{"KillOnBadExit=1\nTaskPlugin=none\n"} + node, gpus,
         "slurm.conf warning: TaskPlugin=none: --cpu-bind has no effect"},
        {"threads scheduled as if they were cores",
         std::string{good} + "SelectTypeParameters=CR_CPU_Memory\n" + node, gpus,
         "slurm.conf warning: SelectTypeParameters=CR_CPU_Memory: a CPU of n[1-4] is a thread, so two "
         "jobs can share a core: SelectTypeParameters=CR_Core_Memory\n"},
        {"a node line with nothing but CPUs",
         std::string{good} + "NodeName=n[1-4] CPUs=128 Gres=gpu:8\n", gpus,
         "slurm.conf warning: n[1-4]: Slurm takes every CPU for a socket, threads for cores too: "
         "write Sockets="},
        {"cores of a line beside those that are detected", std::string{good} + node,
         "AutoDetect=nvml\n" + gpus + " Cores=0-31\n",
         "gres.conf warning: /etc/slurm/gres.conf:2: Cores=0-31 beside AutoDetect=nvml: where the two "
         "differ the node drains: leave out Cores=, or write AutoDetect=off on the line\n"},
        {"threads counted as cores", std::string{good} + node, gpus + " Cores=64-127\n",
         "gres.conf warning: /etc/slurm/gres.conf:1: Cores=64-127: n1 has cores 0-63: Cores= counts "
         "cores, not threads\n"},
        {"the same in the older word", std::string{good} + node, gpus + " CPUs=0-127\n",
         "Cores=0-127: n1 has cores 0-63"},
        {"cores that no node has, and no threads", std::string{good} + "NodeName=n1 Sockets=1 CoresPerSocket=8 Gres=gpu:8\n",
         "Name=gpu File=/dev/nvidia[0-7] Cores=0-8\n",
         "gres.conf warning: /etc/slurm/gres.conf:1: Cores=0-8: n1 has cores 0-7\n"},
        {"a part of a socket: NPS or sub-NUMA clustering", std::string{good} + node,
         gpus + " Cores=32-47\n",
         "gres.conf warning: /etc/slurm/gres.conf:1: Cores=32-47 has a part of socket 1 of n1 (cores "
         "32-63): Slurm binds GPUs to whole sockets, and may drain the node: name them whole, or "
         "make sockets of their parts by SlurmdParameters=numa_node_as_socket (l3cache_as_socket)\n"},
        {"no list at all", std::string{good} + node, gpus + " Cores=all\n",
         "gres.conf warning: /etc/slurm/gres.conf:1: Cores=all is no list such as 0-31\n"},
        {"ranks that wait for a dead one", std::string{"TaskPlugin=affinity\n"} + node, gpus,
         "slurm.conf advice: KillOnBadExit=0: when one rank dies the others wait for it"},
        {"bursts of submissions",
         std::string{good} + "NodeName=n[001-500] Sockets=2 CoresPerSocket=32 Gres=gpu:8\n", "",
         "slurm.conf advice: SchedulerParameters has no max_rpc_cnt"},
    }));
    CAPTURE(c.why);

    CHECK_THAT(findings(c.slurm_conf, c.gres_conf), ContainsSubstring(c.expected));
}

TEST_CASE("what is set right is not complained of", "[check]") {
    struct Case {
        std::string why, slurm_conf, gres_conf;
    };
    const std::string gpus = "NodeName=n[1-4] Name=gpu File=/dev/nvidia[0-7]";
    const auto c = GENERATE_COPY(values<Case>({
        {"AutoDetect taken back on the line", std::string{good} + node,
         "AutoDetect=nvml\n" + gpus + " AutoDetect=off Cores=0-31\n"},
        {"AutoDetect and no Cores", std::string{good} + node, "AutoDetect=nvml\n" + gpus + "\n"},
        {"CR_CPU where a CPU is a core",
         std::string{good} + "SelectTypeParameters=CR_CPU\nNodeName=n[1-4] Sockets=2 CoresPerSocket=32 Gres=gpu:8\n",
         gpus},
        {"a limit on the controller's threads",
         std::string{good} +
             "SchedulerParameters=bf_interval=30,max_rpc_cnt=150\n"
             "NodeName=n[001-500] Sockets=2 CoresPerSocket=32 Gres=gpu:8\n",
         ""},
        {"NUMA nodes as sockets",
         std::string{good} + "NodeName=n[1-4] Sockets=8 CoresPerSocket=8 Gres=gpu:8\n",
         gpus + " Cores=8-15\n"},
    }));
    CAPTURE(c.why);

    CHECK(findings(c.slurm_conf, c.gres_conf).empty());
}

TEST_CASE("the reason of a drained node is known for what it is", "[check]") {
    struct Case {
        std::string why, reason, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"several NUMA nodes a socket",
         "gres/gpu GRES autodetected core affinity 0-15 on node n1 doesn't match socket boundaries. "
         "(Socket 0 is cores 0-31). Consider setting Parameters=l3cache_as_socket",
         "its GPUs are there"},
        {"a lost GPU", "gres/gpu count reported lower than configured (7 < 8)", "nvidia-smi -L"},
        {"fewer CPUs", "Low socket*core*thread count, Low CPUs", "slurmd -C"},
        {"less memory", "Low RealMemory (reported:515000 < 100.00% of configured:520000)", "RealMemory="},
    }));
    CAPTURE(c.why);

    const auto advice = policy::advice_on_drain(c.reason);

    REQUIRE(advice);
    CHECK_THAT(std::string{*advice}, ContainsSubstring(c.expected));
}

TEST_CASE("a reason that a person wrote is left alone", "[check]") {
    CHECK_FALSE(policy::advice_on_drain("maintenance"));
    CHECK_FALSE(policy::advice_on_drain("Kill task failed"));
    CHECK_FALSE(policy::advice_on_drain(""));
}
