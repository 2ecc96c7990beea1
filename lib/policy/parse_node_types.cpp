#include "policy/parse_node_types.hpp"

#include <algorithm>

#include "job/hostlist.hpp"
#include "policy/site_variable.hpp"

namespace railhead::policy {

namespace {

using rails::Health;
using rails::Memory;
using rails::NodeType;

constexpr std::array<std::pair<std::string_view, Memory>, 3> memory_words{
    {{"prefer", Memory::prefer}, {"bind", Memory::bind}, {"off", Memory::off}}};
constexpr std::array<std::pair<std::string_view, Health>, 4> health_words{
    {{"off", Health::off},
     {"note", Health::note},
     {"warn", Health::warn},
     {"strict", Health::strict}}};

bool is_plain(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
    });
}

/// "mlx5_0" or "mlx5_0:1"
bool is_device(std::string_view text) {
    const auto colon = text.find(':');
    const auto port = colon == std::string_view::npos
                          ? std::optional<unsigned>{1}
                          : parse_number<unsigned>(text.substr(colon + 1));
    return is_plain(text.substr(0, colon)) && port && *port >= 1 && *port <= 255;
}

bool is_interface(std::string_view text) {
    constexpr std::size_t most = 15;  // IFNAMSIZ, with its NUL
    return is_plain(text) && text.size() <= most;
}

/// A list of texts that are all `right`; `what` says how one is written.
Reader::Handler names(const Reader& reader, std::vector<std::string>& to,
                      bool (*right)(std::string_view), std::string_view what) {
    return [&reader, &to, right, what](const toml::node& value) {
        const auto take = [&](const toml::node& element) {
            std::string text;
            reader.text(text)(element);
            if (element.is_string() && !right(text)) {
                reader.complain(element, fmt::format("{} is {}", Reader::shown(element), what));
            }
            to.push_back(std::move(text));
        };
        if (const auto* list = value.as_array()) {
            std::ranges::for_each(*list, take);
        } else {
            take(value);
        }
    };
}

Reader::Handler hostlist(const Reader& reader, std::string& to) {
    return [&reader, &to](const toml::node& value) {
        reader.text(to)(value);
        const auto count = job::count_hosts(to);
        if (value.is_string() && !count) {
            reader.complain(value, count.error().message);
        } else if (value.is_string() && *count == 0) {
            reader.complain(value, "expected a host list, \"gpu[001-064]\", not an empty text");
        }
    };
}

Reader::Handler absolute_file(const Reader& reader, std::string& to) {
    return [&reader, &to](const toml::node& value) {
        reader.text(to)(value);
        if (value.is_string() && (!to.starts_with('/') || to != printable(to))) {
            reader.complain(value, fmt::format("expected a file's absolute path, not {}",
                                               Reader::shown(value)));
        }
    };
}

void read_variable(const Reader& reader, const toml::key& key, const toml::node& value,
                   NodeType& to) {
    constexpr std::size_t most = 4096;
    if (const auto refusal = refusal_of_variable(key.str()); !refusal.empty()) {
        reader.complain(key.source(), fmt::format("\"{}\" cannot be set here: {}",
                                                  printable(key.str()), refusal));
        return;
    }
    std::string text;
    reader.text(text)(value);
    if (text.size() > most || text != printable(text)) {
        reader.complain(value, fmt::format("a value is one line of at most {} characters", most));
    }
    to.env.push_back({std::string{key.str()}, std::move(text)});
}

Reader::Keys type_keys(const Reader& reader, NodeType& to) {
    return {{"name", reader.text(to.name)},
            {"nodes", hostlist(reader, to.nodes)},
            {"rails", names(reader, to.rails, &is_device,
                            "no RDMA device: write \"mlx5_0\", or \"mlx5_0:1\" with its port")},
            {"nccl_ib_hca", reader.flag(to.nccl_ib_hca)},
            {"ucx_net_devices", reader.flag(to.ucx_net_devices)},
            {"nvshmem", reader.flag(to.nvshmem)},
            {"socket_interface", names(reader, to.socket_interface, &is_interface,
                                       "no network interface: write its whole name, \"bond0\"; "
                                       "NCCL is told to match it exactly")},
            {"rail_only", reader.flag(to.rail_only)},
            {"topo_file", absolute_file(reader, to.topo_file)},
            {"env", reader.table([&reader, &to](const toml::table& table) {
                 for (const auto& [key, value] : table) {
                     read_variable(reader, key, value, to);
                 }
             })},
            {"memory", reader.word(to.memory, memory_words)},
            {"omp_num_threads", reader.flag(to.omp_num_threads)},
            {"health", reader.word(to.health, health_words)}};
}

/// A variable that `env` sets although another key of the type does.
void check_said_twice(const Reader& reader, const toml::table& table, const NodeType& type) {
    struct Pair {
        bool said;
        std::string_view key, variable;
    };
    const bool sockets = !type.socket_interface.empty();
    const std::array pairs{
        Pair{type.nvshmem, "nvshmem", "NVSHMEM_HCA_LIST"},
        Pair{sockets, "socket_interface", "NCCL_SOCKET_IFNAME"},
        Pair{sockets, "socket_interface", "GLOO_SOCKET_IFNAME"},
        Pair{type.rail_only, "rail_only", "NCCL_CROSS_NIC"},
        Pair{!type.topo_file.empty(), "topo_file", "NCCL_TOPO_FILE"},
        Pair{type.omp_num_threads.value_or(false), "omp_num_threads", "OMP_NUM_THREADS"}};
    for (const auto& [said, key, variable] : pairs) {
        const auto* twice = table["env"][variable].node();
        if (said && twice != nullptr) {
            reader.complain(*twice,
                            fmt::format("\"{}\" sets {} too: take out one of them", key, variable));
        }
    }
}

void read_type(const Reader& reader, const toml::table& table, Policy& policy) {
    NodeType type;
    type.where = reader.position(table.source());
    reader.each(table, type_keys(reader, type));
    check_said_twice(reader, table, type);
    if (type.name.empty()) {
        reader.complain(table, "a [[node_type]] needs a name, for the log and for people");
    } else if (std::ranges::find(policy.node_types, type.name, &NodeType::name) !=
               policy.node_types.end()) {
        reader.complain(table,
                        fmt::format("two node types are named \"{}\"", printable(type.name)));
    }
    if (table.get("nodes") == nullptr) {
        reader.complain(table,
                        "a [[node_type]] needs nodes, a host list: nodes = \"gpu[001-064]\"");
    }
    policy.node_types.push_back(std::move(type));
}

}  // namespace

void read_node_types(const Reader& reader, const toml::node& value, Policy& policy) {
    const auto* list = value.as_array();
    if (list == nullptr) {
        reader.complain(value, "node types are written [[node_type]], with two brackets");
        return;
    }
    for (const auto& element : *list) {
        reader.table([&](const toml::table& table) { read_type(reader, table, policy); })(element);
    }
}

}  // namespace railhead::policy
