#include <algorithm>
#include <cctype>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/cluster.hpp"
#include "fabric/conf_tree.hpp"
#include "fabric/gres_conf.hpp"
#include "fabric/partition_conf.hpp"
#include "job/gpu_request.hpp"
#include "job/hostlist.hpp"

namespace railhead::fabric {

namespace {

/// The cluster-wide keys that are kept as they are written.
constexpr std::pair<std::string_view, std::string Cluster::*> texts[] = {
    {"ClusterName", &Cluster::name},
    {"TopologyPlugin", &Cluster::topology_plugin},
    {"TopologyParam", &Cluster::topology_param},
    {"SelectTypeParameters", &Cluster::select_parameters},
    {"SchedulerParameters", &Cluster::scheduler_parameters},
    {"AccountingStorageEnforce", &Cluster::accounting_enforce},
    {"JobSubmitPlugins", &Cluster::job_submit_plugins},
    {"PluginDir", &Cluster::plugin_dir},
    {"PlugStackConfig", &Cluster::plug_stack_config},
    {"SlurmUser", &Cluster::slurm_user},
    {"PreemptMode", &Cluster::preempt_mode},
    {"PreemptType", &Cluster::preempt_type},
    {"PreemptParameters", &Cluster::preempt_parameters},
    {"SlurmctldParameters", &Cluster::slurmctld_parameters},
    {"LaunchParameters", &Cluster::launch_parameters},
    {"ProctrackType", &Cluster::proctrack},
    {"TaskPlugin", &Cluster::task_plugin},
    {"KillOnBadExit", &Cluster::kill_on_bad_exit},
};

class Reader {
 public:
    Reader(const std::string& path, const ReadFile& read)
        : path_{path}, tree_{read, folder_of(path), cluster_.name, cluster_.warnings} {}

    Result<Cluster> run();

 private:
    Result<> on_line(const ConfReader& reader, const std::vector<ConfItem>& items);
    Result<> add_nodes(const ConfItem& names, const Settings& own, const ConfReader& reader);
    NodeFacts node_of(const Settings& own);
    void set_cpus(NodeFacts& node, const Settings& own);
    void set_gpus(NodeFacts& node, std::string_view gres, const Position& where);
    std::uint64_t number(const Settings& own, std::string_view key, std::uint64_t otherwise);
    [[nodiscard]] std::string_view find(const Settings& own, std::string_view key) const;
    [[nodiscard]] std::string_view default_features() const;
    void set_globals();
    void index_nodes();
    void read_gres();
    void read_cgroup();
    void warn(std::string message, Position where) {
        cluster_.warnings.push_back({Errc::bad_input, std::move(message), std::move(where)});
    }

    std::string path_;
    Cluster cluster_;
    ConfTree tree_;
    Settings globals_;
    Settings node_defaults_;
    PartitionLines partition_lines_;
};

/// A line's own value, else that of the NodeName=DEFAULT lines before it.
std::string_view Reader::find(const Settings& own, std::string_view key) const {
    const auto value = own.find(key);
    return value.empty() ? node_defaults_.find(key) : value;
}

std::string_view Reader::default_features() const {
    const auto feature = node_defaults_.find("Feature");
    return feature.empty() ? node_defaults_.find("Features") : feature;
}

std::uint64_t Reader::number(const Settings& own, std::string_view key, std::uint64_t otherwise) {
    const auto text = find(own, key);
    if (text.empty()) {
        return otherwise;
    }
    const auto value = job::parse_count(text);
    if (!value || *value > std::numeric_limits<std::uint32_t>::max()) {
        warn(fmt::format("{}={} is no number", key, printable(text.substr(0, 60))), own.where());
        return otherwise;
    }
    return *value;
}

/// Fills in what a node line leaves open, as Slurm does: sockets from CPUs, CPUs from the rest.
void Reader::set_cpus(NodeFacts& node, const Settings& own) {
    const auto count = [&](std::string_view key) {
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(number(own, key, 0), 65535));
    };
    const auto boards = std::max(count("Boards"), 1U);
    const auto per_board = count("SocketsPerBoard");
    const auto cpus = std::max(count("CPUs"), find(own, "CPUs").empty() ? count("Procs") : 0);
    node.cores_per_socket = std::max(count("CoresPerSocket"), 1U);
    node.threads_per_core = std::max(count("ThreadsPerCore"), 1U);
    const auto per_socket = node.cores_per_socket * node.threads_per_core;
    node.sockets = per_board > 0 ? boards * per_board : count("Sockets");
    if (node.sockets == 0) {
        node.sockets = cpus >= per_socket && cpus % per_socket == 0 ? cpus / per_socket : boards;
    }
    node.cpus = cpus > 0 ? cpus : node.sockets * per_socket;
}

void Reader::set_gpus(NodeFacts& node, std::string_view gres, const Position& where) {
    const auto gpus = job::parse_gpus(gres, job::Repeated::add);
    if (!gpus) {
        warn(fmt::format("Gres: {}", gpus.error().message), where);
        return;
    }
    for (const auto& part : gpus->parts) {
        node.gpus[std::string{part.type}] +=
            static_cast<std::uint32_t>(std::min<std::uint64_t>(part.count, 65535));
    }
}

/// What every node of a line has in common.
NodeFacts Reader::node_of(const Settings& own) {
    NodeFacts node;
    set_cpus(node, own);
    node.memory_mb = number(own, "RealMemory", 1);
    node.mem_spec_mb = number(own, "MemSpecLimit", 0);
    node.weight = static_cast<std::uint32_t>(number(own, "Weight", 1));
    node.core_spec = static_cast<std::uint32_t>(number(own, "CoreSpecCount", 0));
    if (const auto list = find(own, "CpuSpecList"); !list.empty() && node.core_spec == 0) {
        const auto cpus = job::expand_hostlist(fmt::format("[{}]", list));
        node.core_spec = cpus ? static_cast<std::uint32_t>(cpus->size()) : 0;
    }
    const auto features = own.find("Feature").empty() ? own.find("Features") : own.find("Feature");
    for (const auto feature : split(features.empty() ? default_features() : features, ',')) {
        if (!trim(feature).empty()) {
            node.features.emplace_back(trim(feature));
        }
    }
    set_gpus(node, find(own, "Gres"), own.where());
    return node;
}

Result<> Reader::add_nodes(const ConfItem& names, const Settings& own, const ConfReader& reader) {
    auto expanded = job::expand_hostlist(names.value);
    if (!expanded) {
        return fail(Errc::bad_input, fmt::format("NodeName: {}", expanded.error().message),
                    reader.where(names));
    }
    if (expanded->size() > job::max_hosts - std::min(job::max_hosts, cluster_.nodes.size())) {
        return fail(Errc::bad_input, "more nodes than any cluster has", reader.where(names));
    }
    const auto common = node_of(own);
    for (auto& name : *expanded) {
        cluster_.nodes.push_back(common);
        cluster_.nodes.back().name = std::move(name);
    }
    return {};
}

Result<> Reader::on_line(const ConfReader& reader, const std::vector<ConfItem>& items) {
    const auto& first = items.front();
    if (equals_ignoring_case(first.key, "NodeName")) {
        if (equals_ignoring_case(first.value, "DEFAULT")) {
            node_defaults_.add(reader, items, cluster_.warnings);
            return {};
        }
        Settings own;
        own.add(reader, items, cluster_.warnings);
        return add_nodes(first, own, reader);
    }
    if (equals_ignoring_case(first.key, "PartitionName") ||
        equals_ignoring_case(first.key, "NodeSet")) {
        partition_lines_.add(reader, items, cluster_.warnings);
        return {};
    }
    globals_.add(reader, items, cluster_.warnings);
    if (equals_ignoring_case(first.key, "ClusterName")) {
        cluster_.name = first.value;  // an Include behind it may need the name
    }
    return {};
}

void Reader::set_globals() {
    for (const auto& [key, member] : texts) {
        if (const auto value = globals_.find(key); !value.empty()) {
            cluster_.*member = value;
        }
    }
    auto& stack = cluster_.plug_stack_config;
    if (!stack.starts_with('/')) {
        stack = folder_of(path_) + (stack.empty() ? "plugstack.conf" : stack);
    }
    const auto enforce = globals_.find("EnforcePartLimits");
    cluster_.enforce_part_limits = !enforce.empty() && !equals_ignoring_case(enforce, "NO");
}

void Reader::index_nodes() {
    auto& index = cluster_.by_name;
    index.resize(cluster_.nodes.size());
    for (std::uint32_t i = 0; i < index.size(); ++i) {
        index[i] = i;
    }
    const auto name_of = [this](std::uint32_t i) {
        return std::string_view{cluster_.nodes[i].name};
    };
    std::ranges::stable_sort(index, {}, name_of);
    const auto repeated = std::ranges::adjacent_find(index, {}, name_of);
    if (repeated != index.end()) {
        warn(fmt::format("node \"{}\" is defined twice", printable(name_of(*repeated))),
             {path_, 1, 1});
    }
}

void Reader::read_gres() {
    GresConf conf;
    const auto path = folder_of(path_) + "gres.conf";
    const auto done = tree_.read(path, [&](const ConfReader& reader, const auto& items) {
        add_gres_line(reader, items, conf, cluster_.warnings);
        return Result<>{};
    });
    if (!done) {
        const auto gpu = [](const NodeFacts& node) { return !node.gpus.empty(); };
        if (done.error().code != Errc::not_found || std::ranges::any_of(cluster_.nodes, gpu)) {
            warn(done.error().message, {});
        }
        return;
    }
    cluster_.gres_auto_detect = conf.auto_detect;
    apply(conf, cluster_);
}

void Reader::read_cgroup() {
    const auto path = folder_of(path_) + "cgroup.conf";
    const auto done = tree_.read(path, [&](const ConfReader&, const auto& items) {
        for (const auto& item : items) {
            if (equals_ignoring_case(item.key, "SignalChildrenProcesses")) {
                cluster_.signals_children = equals_ignoring_case(item.value, "yes") ||
                                            equals_ignoring_case(item.value, "true");
            }
        }
        return Result<>{};
    });
    if (!done && done.error().code != Errc::not_found) {
        warn(done.error().message, {});
    }
}

Result<Cluster> Reader::run() {
    auto done = tree_.read(path_, [this](const ConfReader& reader, const auto& items) {
        return on_line(reader, items);
    });
    if (!done) {
        return propagate(done);
    }
    set_globals();
    index_nodes();
    read_gres();
    read_cgroup();
    if (auto made = partition_lines_.make(globals_, cluster_); !made) {
        return propagate(made);
    }
    return std::move(cluster_);
}

}  // namespace

Result<Cluster> read_cluster(const std::string& path, const ReadFile& read) {
    return Reader{path, read}.run();
}

}  // namespace railhead::fabric
