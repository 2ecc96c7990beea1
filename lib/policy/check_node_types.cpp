// Findings about [[node_type]]: what the nodes cannot see, as each looks at itself alone.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/hostlist.hpp"
#include "policy/check.hpp"

namespace railhead::policy {

namespace {

using rails::NodeType;

/// Which type each node has, by the first that names it.
using TypeOf = std::map<std::string, const NodeType*, std::less<>>;

class TypeChecker {
 public:
    explicit TypeChecker(const Site& site) : site_{site} {}

    std::vector<Finding> run() {
        const auto& types = site_.policy.node_types;
        for (const auto& type : types) {
            check_nodes(type);
            check_rails(type);
        }
        if (!types.empty()) {
            say(Level::fine, fmt::format("{} for {}", count_of(types.size(), "node type"),
                                         count_of(type_of_.size(), "node")));
        }
        for (const auto& partition : site_.partitions) {
            check_partition(partition);
        }
        return std::move(findings_);
    }

 private:
    void say(Level level, std::string text) {
        findings_.push_back({"node_type", level, printable(text)});
    }

    static std::string at(const NodeType& type) {
        return fmt::format("{}:{}: \"{}\"", type.where.file, type.where.line, type.name);
    }

    void check_nodes(const NodeType& type) {
        std::vector<std::string> unknown;
        std::map<const NodeType*, std::vector<std::string>> before;
        const auto nodes = job::expand_hostlist(type.nodes).value_or(std::vector<std::string>{});
        for (const auto& node : nodes) {
            if (const auto [known, added] = type_of_.emplace(node, &type);
                !added && known->second != &type) {
                before[known->second].push_back(node);
            }
            if (!site_.cluster.find_node(node)) {
                unknown.push_back(node);
            }
        }
        if (!unknown.empty()) {
            say(Level::warning,
                fmt::format("{} names {} unknown to slurm.conf, the first is \"{}\"", at(type),
                            count_of(unknown.size(), "node"), unknown.front()));
        }
        for (const auto& [other, shared] : before) {
            say(Level::warning,
                fmt::format("{} names {} that \"{}\" has, which comes first and counts", at(type),
                            job::compress_hostlist(shared), other->name));
        }
    }

    void check_rails(const NodeType& type) {
        if (type.rails.empty() && type.nccl_ib_hca) {
            say(Level::advice, fmt::format("{} names no rails: each node finds its own, and a node "
                                           "that lacks one tells NCCL another list than the rest",
                                           at(type)));
        }
        std::set<std::string> seen;
        for (const auto& rail : type.rails) {
            const auto with_port = rail.find(':') == std::string::npos ? rail + ":1" : rail;
            if (!seen.insert(with_port).second) {
                say(Level::warning, fmt::format("{} names the rail {} twice", at(type), rail));
            }
        }
    }

    /// Jobs of a partition may span all its nodes: a list that is declared on one and found on
    /// another is one that may differ.
    void check_partition(const PartitionSite& partition) {
        std::vector<std::string> without;
        for (const auto index : partition.gpu_nodes) {
            const auto& name = site_.cluster.nodes[index].name;
            if (type_of_.find(name) == type_of_.end()) {
                without.push_back(name);
            }
        }
        if (!without.empty() && without.size() < partition.gpu_nodes.size()) {
            say(Level::warning,
                fmt::format("partition {}: {} {} no type while others of it have one: the rails "
                            "there are found, and a job on both may get two lists",
                            partition.name, job::compress_hostlist(without),
                            without.size() == 1 ? "has" : "have"));
        }
    }

    const Site& site_;
    TypeOf type_of_;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_node_types(const Site& site) {
    return TypeChecker{site}.run();
}

}  // namespace railhead::policy
