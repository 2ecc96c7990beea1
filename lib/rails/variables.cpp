#include "rails/variables.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace railhead::rails {

namespace {

/// "=" is NCCL's exact match: without it "mlx5_1" also names mlx5_10, and "bond0" bond0.2093.
std::string exact(const std::string& list) {
    return "=" + list;
}

/// Why NCCL and UCX are not told these devices; empty: they are.
///
///  - EFA and Slingshot have no reliable connections in verbs: NCCL's plugins take them by
///  libfabric.
///  - MANA got them late, and UCX would be left with nothing where the driver has none.
std::string_view silence_of(const node::Nic& nic) {
    if (nic.kind.starts_with("1d0f:")) {
        return "NCCL reaches EFA devices through libfabric";
    }
    if (nic.kind.starts_with("17db:") || nic.name.starts_with("cxi")) {
        return "NCCL reaches Slingshot devices through libfabric";
    }
    if (nic.kind.starts_with("1414:")) {
        return "MANA devices need not have what NCCL and UCX want of verbs";
    }
    return {};
}

/// Why there is no list: no rail is there, or the node's source does not tell them all.
std::string no_rails(const Launch& launch) {
    return launch.node.incomplete.empty() ? "this node has no rails" : launch.node.incomplete;
}

/// A list of rails, unless there is a reason against it.
Said list_or_silence(const Launch& launch, std::string list) {
    auto silence = silence_of(launch);
    return silence.empty() ? Said{std::move(list), {}} : Said{std::nullopt, std::move(silence)};
}

Said switched_off(std::string_view key) {
    return {std::nullopt, fmt::format("{} = false", key)};
}

// ---- NICs ---------------------------------------------------------------------------------

std::optional<Said> site_hca(const Launch& launch) {
    if (launch.type != nullptr && !launch.type->nccl_ib_hca) {
        return switched_off("nccl_ib_hca");
    }
    if (launch.declared_by.empty()) {
        return std::nullopt;
    }
    auto said = list_or_silence(launch, exact(launch.plan.list));
    said.by = launch.declared_by;
    return said;
}

std::optional<Said> found_hca(const Launch& launch) {
    const auto* found = launch.declared_by.empty() ? &launch.plan : launch.found;
    if (found == nullptr) {
        return std::nullopt;
    }
    return found->list.empty() ? Said{std::nullopt, no_rails(launch)}
                               : list_or_silence(launch, exact(found->list));
}

std::optional<Said> site_ucx(const Launch& launch) {
    return launch.type != nullptr && !launch.type->ucx_net_devices
               ? std::optional{switched_off("ucx_net_devices")}
               : std::nullopt;
}

std::optional<Said> found_ucx(const Launch& launch) {
    if (launch.nics.empty() && silence_of(launch).empty()) {
        return std::nullopt;  // the task's GPUs are not known
    }
    return list_or_silence(launch, device_list(launch.node, launch.nics));
}

/// NVSHMEM filters its devices by this list and then, by default, takes the nearest: so one list
/// of all rails serves every task.  NVSHMEM_HCA_PE_MAPPING instead would need PEs in the order of
/// the GPUs.
std::optional<Said> site_nvshmem(const Launch& launch) {
    return launch.type != nullptr && launch.type->nvshmem
               ? std::optional{list_or_silence(launch, launch.plan.list)}
               : std::nullopt;
}

// ---- the site's ---------------------------------------------------------------------------

std::string interfaces(const NodeType& type) {
    return fmt::format("{}", fmt::join(type.socket_interface, ","));
}

std::optional<Said> site_socket(const Launch& launch) {
    return launch.type != nullptr && !launch.type->socket_interface.empty()
               ? std::optional{Said{exact(interfaces(*launch.type)), {}}}
               : std::nullopt;
}

/// Gloo knows neither "=" nor "^": names only.
std::optional<Said> site_gloo(const Launch& launch) {
    return launch.type != nullptr && !launch.type->socket_interface.empty()
               ? std::optional{Said{interfaces(*launch.type), {}}}
               : std::nullopt;
}

std::optional<Said> site_cross_nic(const Launch& launch) {
    return launch.type != nullptr && launch.type->rail_only ? std::optional{Said{"0", {}}}
                                                            : std::nullopt;
}

std::optional<Said> site_topo_file(const Launch& launch) {
    return launch.type != nullptr && !launch.type->topo_file.empty()
               ? std::optional{Said{launch.type->topo_file, {}}}
               : std::nullopt;
}

std::optional<Said> nothing(const Launch& /*launch*/) {
    return std::nullopt;
}

// ---- the table ----------------------------------------------------------------------------

bool always(std::string_view /*value*/) {
    return true;
}

/// UCX_TLS=tcp,…: with the list of NICs alone, no device would be left for it.
bool names_tcp(std::string_view value) {
    const auto names = split(value, ',');
    return std::ranges::find(names, "tcp") != names.end();
}

constexpr std::array table{
    Variable{"NCCL_IB_HCA", false, &site_hca, &found_hca, {}},
    Variable{"UCX_NET_DEVICES",
             true,
             &site_ucx,
             &found_ucx,
             {"UCX_TLS", &names_tcp, "UCX_TLS asks for TCP, which the list of NICs would end"}},
    Variable{"NVSHMEM_HCA_LIST",
             false,
             &site_nvshmem,
             &nothing,
             {"NVSHMEM_HCA_PE_MAPPING", &always, "NVSHMEM_HCA_PE_MAPPING would lose against it"}},
    Variable{"NCCL_SOCKET_IFNAME", false, &site_socket, &nothing, {}},
    Variable{"GLOO_SOCKET_IFNAME", false, &site_gloo, &nothing, {}},
    Variable{"NCCL_CROSS_NIC", false, &site_cross_nic, &nothing, {}},
    Variable{"NCCL_TOPO_FILE", false, &site_topo_file, &nothing, {}},
};

}  // namespace

std::span<const Variable> variable_table() {
    return table;
}

const Variable* find_variable(std::string_view name) {
    const auto* found = std::ranges::find(table, name, &Variable::name);
    return found == table.end() ? nullptr : found;
}

std::string silence_of(const Launch& launch) {
    if (launch.plan.list.empty()) {
        return no_rails(launch);
    }
    for (const auto nic : launch.plan.rails) {
        if (const auto reason = silence_of(launch.node.nics[nic]); !reason.empty()) {
            return std::string{reason};
        }
    }
    return {};
}

}  // namespace railhead::rails
