#include "fabric/cluster.hpp"

#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/hostlist.hpp"
#include "job/request.hpp"
#include "support/catch.hpp"

using namespace railhead;
using fabric::Cluster;

namespace {

using Files = std::map<std::string, std::string>;

Result<Cluster> read(const Files& files) {
    return fabric::read_cluster(
        "/etc/slurm/slurm.conf", [&](const std::string& path) -> Result<std::string> {
            const auto file = files.find(path);
            if (file == files.end()) {
                return fail(Errc::not_found, "cannot open \"" + path + "\"");
            }
            return file->second;
        });
}

Cluster read_conf(const std::string& slurm_conf, const std::string& gres_conf = "") {
    return read({{"/etc/slurm/slurm.conf", slurm_conf}, {"/etc/slurm/gres.conf", gres_conf}})
        .value();
}

std::string nodes_of(const Cluster& cluster, const fabric::Partition& partition) {
    std::vector<std::string> names;
    for (const auto index : partition.nodes) {
        names.push_back(cluster.nodes[index].name);
    }
    return job::compress_hostlist(names);
}

/// "a100:4 :2": types and counts, sorted by type.
std::string gpus_of(const fabric::NodeFacts& node) {
    std::vector<std::string> parts;
    for (const auto& [type, count] : node.gpus) {
        parts.push_back(fmt::format("{}:{}", type, count));
    }
    return fmt::format("{}", fmt::join(parts, " "));
}

std::string warnings_of(const Cluster& cluster) {
    std::string text;
    for (const auto& warning : cluster.warnings) {
        text += to_string(warning) + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("CPUs, sockets and cores of a node are completed as Slurm does", "[cluster]") {
    struct Case {
        std::string why;
        std::string line;
        std::string expected;  ///< sockets x cores x threads = cpus
    };
    const auto c = GENERATE(values<Case>({
        {"nothing", "", "1x1x1=1"},
        {"all four", "CPUs=128 Sockets=2 CoresPerSocket=32 ThreadsPerCore=2", "2x32x2=128"},
        {"no CPUs", "Sockets=2 CoresPerSocket=32 ThreadsPerCore=2", "2x32x2=128"},
        {"CPUs alone are sockets", "CPUs=64", "64x1x1=64"},
        {"no sockets: from CPUs", "CPUs=128 CoresPerSocket=32 ThreadsPerCore=2", "2x32x2=128"},
        {"CPUs that do not divide", "CPUs=65 CoresPerSocket=32", "1x32x1=65"},
        {"boards times sockets per board",
         "Boards=2 SocketsPerBoard=2 CoresPerSocket=8 ThreadsPerCore=1", "4x8x1=32"},
        {"fewer CPUs than threads: cores count",
         "CPUs=64 Sockets=2 CoresPerSocket=32 ThreadsPerCore=2", "2x32x2=64"},
        {"Procs is the old name", "Procs=8", "8x1x1=8"},
        {"zeros are ones", "CPUs=0 Sockets=0 CoresPerSocket=0 ThreadsPerCore=0", "1x1x1=1"},
    }));
    CAPTURE(c.why);

    const auto cluster = read_conf("NodeName=n1 " + c.line + "\n");

    const auto& node = cluster.nodes.at(0);
    CHECK(fmt::format("{}x{}x{}={}", node.sockets, node.cores_per_socket, node.threads_per_core,
                      node.cpus) == c.expected);
}

TEST_CASE("what a node is comes from its line, else from the DEFAULT lines above it", "[cluster]") {
    const auto cluster = read_conf(
        "NodeName=early CPUs=2\n"
        "NodeName=DEFAULT CPUs=64 RealMemory=1000 Gres=gpu:h100:8 Feature=h100,ib\n"
        "NodeName=default Weight=7 MemSpecLimit=100\n"
        "NodeName=n[1-2] Features=small RealMemory=2K CoreSpecCount=2\n"
        "nodename=N3 CpuSpecList=0-1,32\n"
        "NodeName=n4 Feature=own\n");

    REQUIRE(cluster.nodes.size() == 5);
    const auto& early = cluster.nodes[0];
    CHECK(early.gpus.empty());
    CHECK(early.weight == 1);
    const auto& n2 = cluster.nodes[2];
    CHECK(n2.name == "n2");
    CHECK(n2.cpus == 64);
    CHECK(n2.memory_mb == 2048);
    CHECK(n2.mem_spec_mb == 100);
    CHECK(n2.core_spec == 2);
    CHECK(n2.weight == 7);
    CHECK(n2.features == std::vector<std::string>{"small"});
    CHECK(n2.gpu_total() == 8);
    const auto& n3 = cluster.nodes[3];
    CHECK(n3.name == "N3");
    CHECK(n3.core_spec == 3);
    CHECK(n3.features == std::vector<std::string>{"h100", "ib"});
    CHECK(cluster.nodes[4].features == std::vector<std::string>{"own"});
    CHECK(cluster.find_node("n1") == 1);
    CHECK(cluster.find_node("N3") == 3);
    CHECK_FALSE(cluster.find_node("n3"));
}

TEST_CASE("the GPU types that slurm.conf leaves open come from gres.conf", "[cluster][gres]") {
    struct Case {
        std::string why;
        std::string gres;  ///< Gres= of slurm.conf
        std::string gres_conf;
        std::string expected;
        std::string warning;
    };
    const auto c = GENERATE(values<Case>({
        {"typed in slurm.conf", "gpu:h100:8", "", "h100:8", ""},
        {"untyped in both", "gpu:8", "Name=gpu File=/dev/nvidia[0-7]\n", ":8", ""},
        {"typed in gres.conf", "gpu:8", "Name=gpu Type=h100 File=/dev/nvidia[0-7]\n", "h100:8", ""},
        {"one line a GPU", "gpu:2",
         "Name=gpu Type=a File=/dev/nvidia0 Cores=0-1\nName=gpu Type=a File=/dev/nvidia1 "
         "CPUs=2-3\n",
         "a:2", ""},
        {"two types", "gpu:4",
         "Name=gpu Type=a File=/dev/nvidia[0-2]\nName=gpu Type=b File=/dev/nvidia3\n", "a:3 b:1",
         ""},
        {"a hole in the devices", "gpu:3", "Name=gpu Type=a File=/dev/nvidia[0,2-3]\n", "a:3", ""},
        {"Count=", "gpu:8", "Name=gpu Type=a Count=8\n", "a:8", ""},
        {"several files of one GPU", "gpu:1",
         "Name=gpu Type=1g.5gb MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap21\n",
         "1g.5gb:1", ""},
        {"for this node", "gpu:2", "NodeName=n[1-4] Name=gpu Type=a File=/dev/nvidia[0-1]\n", "a:2",
         ""},
        {"for another node", "gpu:2", "NodeName=n2 Name=gpu Type=a File=/dev/nvidia[0-1]\n", ":2",
         ""},
        {"AutoDetect alone", "gpu:8", "AutoDetect=nvml\n", ":8", ""},
        {"AutoDetect on the GPU line", "gpu:8", "Name=gpu AutoDetect=nvml\n", ":8", ""},
        {"other resources", "gpu:1,nic:2", "Name=nic Count=2\nName=gpu Count=1\n", ":1", ""},
        {"more in gres.conf than in slurm.conf", "gpu:2", "Name=gpu Type=a File=/dev/nvidia[0-7]\n",
         "a:2", ""},
        {"fewer in gres.conf", "gpu:8", "Name=gpu Type=a File=/dev/nvidia[0-3]\n", ":4 a:4",
         "n1: slurm.conf says 8 GPUs, gres.conf lists 4: the node drains"},
        {"only in gres.conf", "", "NodeName=n1 Name=gpu File=/dev/nvidia[0-3]\n", "",
         "n1: gres.conf lists GPUs, slurm.conf has no Gres=gpu"},
        {"a bad count", "gpu:1", "Name=gpu Count=many\n", ":1",
         "/etc/slurm/gres.conf:1:1: Count=many"},
        {"a bad file list", "gpu:1", "Name=gpu File=/dev/nvidia[0-\n", ":1",
         "gres.conf:1:1: bracket"},
        {"a word too many", "gpu:1", "Name=gpu Type=a b\n", ":1",
         "gres.conf:1:17: \"b\" is not Key=Value"},
        {"a bad Gres=", "gpu:", "", "", "slurm.conf:1:1: Gres: \"gpu:\" is not a GPU request"},
    }));
    CAPTURE(c.why);
    const auto gres = c.gres.empty() ? "" : " Gres=" + c.gres;

    const auto cluster = read_conf("NodeName=n1" + gres + "\n", c.gres_conf);

    CHECK(gpus_of(cluster.nodes.at(0)) == c.expected);
    if (c.warning.empty()) {
        CHECK(warnings_of(cluster).empty());
    } else {
        CHECK_THAT(warnings_of(cluster), ContainsSubstring(c.warning));
    }
}

TEST_CASE("a partition knows its nodes, by name, set, feature or ALL", "[cluster]") {
    const auto cluster = read_conf(
        "PartitionName=early Nodes=n1,late1\n"  // nodes may be defined below
        "NodeName=n[1-4] Feature=h100\nNodeName=m[1-2] Feature=a100,ib\nNodeName=late1\n"
        "NodeSet=fast Feature=h100\nNodeSet=some Nodes=m1,n1\n"
        "PartitionName=all Nodes=ALL Default=YES\n"
        "PartitionName=sets Nodes=fast,m2,some\n"
        "PartitionName=DEFAULT Nodes=n1\n"
        "PartitionName=dflt\n");

    CHECK(nodes_of(cluster, *cluster.find_partition("early")) == "late1,n1");
    CHECK(nodes_of(cluster, *cluster.find_partition("all")) == "late1,m[1-2],n[1-4]");
    CHECK(nodes_of(cluster, *cluster.find_partition("sets")) == "m[1-2],n[1-4]");
    CHECK(nodes_of(cluster, *cluster.find_partition("dflt")) == "n1");
    CHECK(cluster.default_partition() == cluster.find_partition("all"));
    CHECK(cluster.find_partition("none") == nullptr);
    CHECK(warnings_of(cluster).empty());
}

TEST_CASE("limits of a partition fall back to DEFAULT, then to the cluster", "[cluster]") {
    const auto cluster = read_conf(
        "DefMemPerCPU=1000\nMaxMemPerNode=5000\nDefCPUPerGPU=8\nDefMemPerGPU=100\n"
        "PartitionName=DEFAULT MaxTime=1-0 OverSubscribe=force:1 MaxNodes=8 LLN=yes\n"
        "PartitionName=a DefaultTime=30 MaxNodes=UNLIMITED MinNodes=2 DefMemPerNode=7000\n"
        "PartitionName=b MaxTime=INFINITE OverSubscribe=EXCLUSIVE MaxCPUsPerNode=32 "
        "Topology=hall_b\n"
        "PartitionName=c JobDefaults=DefCpuPerGPU=4,DefMemPerGPU=200 DefMemPerNode=0\n"
        "PartitionName=d Exclusive=NODE DefaultTime=NONE\n");

    const auto& a = *cluster.find_partition("a");
    CHECK(a.default_time_min == 30);
    CHECK(a.max_time_min == 1440);
    CHECK_FALSE(a.max_nodes);
    CHECK(a.min_nodes == 2);
    CHECK(a.over_subscribe == "FORCE:1");
    CHECK(a.lln);
    CHECK(a.def_mem_per_node_mb == 7000);
    CHECK_FALSE(a.def_mem_per_cpu_mb);  // per node set here: the cluster's per CPU does not count
    CHECK(a.max_mem_per_node_mb == 5000);
    CHECK(a.def_cpus_per_gpu == 8);
    CHECK(a.def_mem_per_gpu_mb == 100);
    const auto& b = *cluster.find_partition("b");
    CHECK(b.max_time_min == job::unlimited);
    CHECK(b.max_nodes == 8);
    CHECK(b.over_subscribe == "EXCLUSIVE");
    CHECK(b.max_cpus_per_node == 32);
    CHECK(b.topology == "hall_b");
    CHECK(b.def_mem_per_cpu_mb == 1000);
    CHECK_FALSE(b.default_time_min);
    const auto& d = *cluster.find_partition("d");
    CHECK(cluster.find_partition("c")->def_cpus_per_gpu == 4);
    CHECK(cluster.find_partition("c")->def_mem_per_gpu_mb == 200);
    CHECK(cluster.find_partition("c")->def_mem_per_cpu_mb == 1000);
    CHECK(d.over_subscribe == "EXCLUSIVE");
    CHECK(read_conf("PartitionName=old Shared=yes:4\n").partitions[0].over_subscribe == "YES:4");
    CHECK(warnings_of(cluster).empty());
}

TEST_CASE("cluster-wide values are kept as written", "[cluster]") {
    const auto cluster = read_conf(
        "ClusterName=alps\ntopologyplugin=topology/"
        "tree\nSchedulerParameters=bf_interval=5,max_switch_wait=600\n"
        "SlurmUser=slurm # not root\nEnforcePartLimits=ALL\nJobSubmitPlugins=lua,railhead\n"
        "SelectTypeParameters = CR_Core_Memory\n");

    CHECK(cluster.name == "alps");
    CHECK(cluster.topology_plugin == "topology/tree");
    CHECK(cluster.slurm_user == "slurm");
    CHECK(cluster.enforce_part_limits);
    CHECK(cluster.job_submit_plugins == "lua,railhead");
    CHECK(cluster.select_parameters == "CR_Core_Memory");
    CHECK(cluster.plug_stack_config == "/etc/slurm/plugstack.conf");
    CHECK(fabric::find_parameter(cluster.scheduler_parameters, "max_switch_wait") == "600");
    CHECK_FALSE(fabric::find_parameter(cluster.scheduler_parameters, "max_switch"));
    CHECK(fabric::find_parameter("a,TopoOptional", "TopoOptional") == "");
    CHECK_FALSE(read_conf("EnforcePartLimits=NO\n").enforce_part_limits);
    CHECK(read_conf("PlugStackConfig=conf.d/p.conf\n").plug_stack_config ==
          "/etc/slurm/conf.d/p.conf");
}

TEST_CASE("Include lines are followed as Slurm follows them", "[cluster]") {
    const auto cluster = read({
        {"/etc/slurm/slurm.conf",
         "ClusterName=Alps\nInclude nodes-%c.conf\ninclude /opt/parts.conf\n"},
        {"/etc/slurm/nodes-alps.conf", "NodeName=n[1-2] Gres=gpu:4\nInclude more.conf\n"},
        {"/etc/slurm/more.conf", "NodeName=n3\n"},
        {"/opt/parts.conf", "PartitionName=p Nodes=ALL\n"},
        {"/etc/slurm/gres.conf", "Include gpus.conf\n"},
        {"/etc/slurm/gpus.conf", "Name=gpu Type=a File=/dev/nvidia[0-3]\n"},
    });

    REQUIRE(cluster);
    CHECK(nodes_of(*cluster, cluster->partitions.at(0)) == "n[1-3]");
    CHECK(gpus_of(cluster->nodes[0]) == "a:4");
    CHECK(warnings_of(*cluster).empty());
}

TEST_CASE("what is left out of slurm.conf is a warning with its place", "[cluster]") {
    struct Case {
        std::string why;
        std::string text;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"a missing Include", "NodeName=n1\nInclude none.conf\n",
         "/etc/slurm/slurm.conf:2:1: Include none.conf: cannot open"},
        {"a wildcard", "Include conf.d/*.conf\n", "Slurm does not expand \"*\""},
        {"a bare Include", "Include\n", "no file is named"},
        {"a file that includes itself", "NodeName=n1\nInclude slurm.conf\n",
         "too many files include one another"},
        {"an unknown node in a partition", "NodeName=n1\nPartitionName=p Nodes=n[1-3]\n",
         "slurm.conf:2:1: partition p names 2 nodes that no NodeName= defines: n[2-3]"},
        {"an unknown node in a set", "NodeName=n1\nNodeSet=s Nodes=x\n", "NodeSet s names 1 node"},
        {"a node twice", "NodeName=n1\nNodeName=n1\n", "node \"n1\" is defined twice"},
        {"no number", "NodeName=n1 CPUs=many\n", "slurm.conf:1:1: CPUs=many is no number"},
        {"no time", "PartitionName=p MaxTime=soon\n", "slurm.conf:1:1: MaxTime=soon is no time"},
        {"a word alone", "NodeName=n1 lost\n", "slurm.conf:1:13: \"lost\" is not Key=Value"},
        {"an empty value that eats the next key", "NodeName=n1 Topology= CoreSpecCount=36\n",
         "slurm.conf:1:13: \"Topology\" has no value"},
    }));
    CAPTURE(c.why);

    const auto cluster = read_conf(c.text);

    CHECK_THAT(warnings_of(cluster), ContainsSubstring(c.expected));
}

TEST_CASE("an empty value leaves the next key alone", "[cluster]") {
    const auto cluster = read_conf("NodeName=n1 Topology= CoreSpecCount=36\n");

    CHECK(cluster.nodes.at(0).core_spec == 36);
}

TEST_CASE("without slurm.conf, or with a node list that cannot be read, there is no cluster",
          "[cluster][errors]") {
    const auto missing = read({});
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::not_found);

    const auto broken = read({{"/etc/slurm/slurm.conf", "ClusterName=x\nNodeName=n[1-\n"}});
    REQUIRE_FALSE(broken);
    CHECK_THAT(to_string(broken.error()),
               ContainsSubstring("/etc/slurm/slurm.conf:2:1: NodeName: bracket"));

    CHECK_FALSE(read({{"/etc/slurm/slurm.conf", "PartitionName=p Nodes=n[3-1]\n"}}));
}

TEST_CASE("a missing gres.conf is worth a word only where there are GPUs", "[cluster][gres]") {
    CHECK(warnings_of(*read({{"/etc/slurm/slurm.conf", "NodeName=n1\n"}})).empty());
    CHECK_THAT(warnings_of(*read({{"/etc/slurm/slurm.conf", "NodeName=n1 Gres=gpu:8\n"}})),
               ContainsSubstring("cannot open \"/etc/slurm/gres.conf\""));
}

TEST_CASE("cgroup.conf says whether children are signalled; without one they are not", "[cluster]") {
    struct Case {
        std::string text;
        bool signals;
    };
    const auto c = GENERATE(values<Case>({
        {"", false},
        {"ConstrainCores=yes\n", false},
        {"SignalChildrenProcesses=yes\n", true},
        {"signalchildrenprocesses = YES\n", true},
        {"SignalChildrenProcesses=no\n", false},
        {"# SignalChildrenProcesses=yes\n", false},
    }));
    CAPTURE(c.text);
    const auto cluster = read({{"/etc/slurm/slurm.conf", "NodeName=n1\n"},
                               {"/etc/slurm/cgroup.conf", c.text}});
    CHECK(cluster->signals_children == c.signals);
    const auto without = read({{"/etc/slurm/slurm.conf", "NodeName=n1\n"}});
    CHECK_FALSE(without->signals_children);
    CHECK(warnings_of(*without).empty());
}

TEST_CASE("what is said of preemption is kept", "[cluster]") {
    const auto cluster = read_conf(
        "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
        "SlurmctldParameters=enable_configless,preempt_send_user_signal\nNodeName=n1\n"
        "PartitionName=DEFAULT GraceTime=60\nPartitionName=low Nodes=n1\n"
        "PartitionName=high Nodes=n1 GraceTime=0 PreemptMode=OFF\n");

    CHECK(cluster.preempt_type == "preempt/partition_prio");
    CHECK(cluster.slurmctld_parameters == "enable_configless,preempt_send_user_signal");
    REQUIRE(cluster.partitions.size() == 2);
    CHECK(cluster.partitions[0].grace_time_s == 60);
    CHECK(cluster.partitions[0].preempt_mode.empty());
    CHECK(cluster.partitions[1].grace_time_s == 0);
    CHECK(cluster.partitions[1].preempt_mode == "OFF");
}

TEST_CASE("hostile slurm.conf is read or refused, quickly", "[cluster][hostile]") {
    const std::size_t size = 10U << 20U;
    const auto conf = [](std::string text) {
        return Files{{"/etc/slurm/slurm.conf", std::move(text)}};
    };
    CHECK(read(conf("")));
    CHECK(read(conf(std::string(size, 'x'))));
    CHECK(read(conf(std::string(size, '='))));
    CHECK(read(conf(std::string(size, '\0'))));
    CHECK(read(conf("NodeName=n1 Gres=" + std::string(size, '('))));
    CHECK_FALSE(read(conf("NodeName=n[0-99999999]")));
    CHECK_FALSE(read(conf("NodeName=" + std::string(size, '['))));
    std::string bomb;
    for (int i = 0; i < 10; ++i) {
        bomb += "Include slurm.conf\n";
    }
    CHECK(read(conf(bomb)));
}
