#include "fabric/collective_system.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace railhead::fabric {

namespace {

constexpr double giga = 1e9;
constexpr double micro = 1e-6;
constexpr std::uint64_t usual_gpus = 8;

/// Makes the system of a question, and keeps what had to be assumed.
class SystemMaker {
 public:
    SystemMaker(const CollectiveQuestion& question, std::vector<AssumedFigure>& assumed)
        : question_{question}, assumed_{assumed} {}

    Result<System> make() {
        if (auto size = set_size(); !size) {
            return propagate(size);
        }
        if (auto links = set_links(); !links) {
            return propagate(links);
        }
        if (auto network = set_network(); !network) {
            return propagate(network);
        }
        system_.sharp = question_.sharp && system_.nodes > 1;
        system_.channels = question_.channels.value_or(0);
        if (!question_.channels) {
            assume("channels", std::to_string(system_.channel_count()),
                   "as NCCL_DEBUG=INFO prints them on DGX systems; they bound LL128 and trees");
        }
        if (system_.nodes > 1) {
            system_.cpu = question_.cpu.value_or(Cpu::intel);
            if (!question_.cpu) {
                assume("CPUs", "intel", "a guess; NCCL takes AMD's to post sends half as fast");
            }
        }
        return system_;
    }

 private:
    void assume(std::string_view what, std::string value, std::string source) {
        assumed_.push_back({what, std::move(value), std::move(source)});
    }

    Result<void> set_size() {
        const auto& gpu = question_.gpu;
        const auto usual = gpu ? gpu->per_node : usual_gpus;
        const auto a_node = question_.gpus_per_node.value_or(
            question_.gpus ? std::min(usual, *question_.gpus) : usual);
        if (!question_.gpus_per_node) {
            assume("GPUs a node", std::to_string(a_node),
                   gpu ? fmt::format("catalogue, {}: the usual node", gpu->name)
                       : std::string{"as most training nodes have"});
        }
        if (!question_.gpus) {
            if (!question_.nodes) {
                return fail(Errc::bad_input, "how many GPUs? Give nodes or GPUs");
            }
            system_.nodes = *question_.nodes;
            system_.gpus_per_node = a_node;
            return {};
        }
        const auto gpus = *question_.gpus;
        system_.gpus_per_node = std::min(a_node, gpus);
        if (system_.gpus_per_node == 0 || gpus % system_.gpus_per_node != 0) {
            return fail(Errc::bad_input, fmt::format("{} GPUs are no whole number of nodes with {}",
                                                     gpus, system_.gpus_per_node));
        }
        system_.nodes = gpus / system_.gpus_per_node;
        return {};
    }

    Result<void> set_links() {
        const auto& gpu = question_.gpu;
        if (!gpu && !question_.generation) {
            return fail(Errc::bad_input,
                        "which accelerator? Give its name, or its generation: NCCL's constants are "
                        "by generation");
        }
        system_.generation = question_.generation ? *question_.generation : gpu->generation;
        if (question_.nvlink_bytes_per_s) {
            system_.nvlink_bytes_per_s = *question_.nvlink_bytes_per_s;
        } else if (question_.pcie_bytes_per_s) {
            system_.pcie_bytes_per_s = *question_.pcie_bytes_per_s;
        } else {
            set_usual_links();
        }
        system_.nvls = !question_.no_nvls && system_.nvlink_bytes_per_s > 0 &&
                       system_.gpus_per_node > 1 && nvls_efficiency(system_.generation) > 0 &&
                       (!gpu || gpu->has_nvls);
        if (system_.nvls) {
            assume("NVLS", "on", "NCCL's default where the NVSwitches can add: nodes of 8, racks");
        }
        return {};
    }

    void set_usual_links() {
        const auto& gpu = question_.gpu;
        const auto each_way = [](double bytes_per_s) {
            return fmt::format("{:g} GB/s each way", bytes_per_s / giga);
        };
        if (gpu && gpu->nvlink_bytes_per_s <= 0) {
            system_.pcie_bytes_per_s = gpu->pcie_bytes_per_s;
            assume("PCIe", each_way(system_.pcie_bytes_per_s),
                   fmt::format("catalogue, {}: cards have no NVLink but for bridges", gpu->name));
            return;
        }
        const auto usual = nvlink_of(system_.generation);
        system_.nvlink_bytes_per_s =
            gpu ? gpu->nvlink_bytes_per_s : usual.links * usual.sold_gb_per_s * giga;
        assume("NVLink", each_way(system_.nvlink_bytes_per_s),
               gpu ? fmt::format("catalogue, {}: {}", gpu->name, gpu->source)
                   : std::string{"the usual GPU of that generation"});
    }

    Result<void> set_network() {
        if (system_.nodes == 1) {
            return {};
        }
        const auto& network = question_.network;
        if (!network && !question_.nic_bytes_per_s) {
            return fail(Errc::bad_input,
                        "which NICs? Give their rate, 400Gb/s, or a name: ndr, hdr, efa-v2");
        }
        system_.nic_bytes_per_s =
            question_.nic_bytes_per_s ? *question_.nic_bytes_per_s : network->nic_bytes_per_s;
        if (!question_.nic_bytes_per_s) {
            assume("rate of a NIC",
                   fmt::format("{:g} GB/s each way", system_.nic_bytes_per_s / giga),
                   fmt::format("catalogue, {}: {}", network->name, network->source));
        }
        set_nics();
        bound_by_pcie();
        set_latency();
        return {};
    }

    /// What is said of it holds for what NCCL is told and for what a step takes.
    void set_latency() {
        if (question_.network_latency_s) {
            system_.network_latency_us = *question_.network_latency_s / micro;
            return;
        }
        const auto known =
            question_.network ? latency_of(question_.network->name) : NetworkLatency{};
        system_.network_latency_us = known.told_us;
        system_.network_step_us = known.step_us;
        system_.network_completion_us = known.completion_us;
        assume("network latency", fmt::format("{:g} us", known.told_us),
               known.told_us > 0 ? "what the plugin tells NCCL: aws-ofi-nccl, table of platforms"
                                 : "what NCCL adds for InfiniBand and RoCE");
        if (known.step_us > 0) {
            assume("network step", fmt::format("{:g} us", known.step_us),
                   fmt::format("what aws-ofi-nccl's own model has (TUNER_NET_LATENCY), and {:g} us "
                               "more for Simple",
                               known.completion_us));
        }
    }

    /// As many for each GPU as the usual node has of such NICs.
    void set_nics() {
        if (question_.nics_per_node) {
            system_.nics_per_node = *question_.nics_per_node;
            return;
        }
        const auto& network = question_.network;
        const auto gpus = system_.gpus_per_node;
        system_.nics_per_node =
            network ? std::max<std::uint64_t>(1, network->nics_per_node * gpus / usual_gpus) : gpus;
        assume("NICs a node", std::to_string(system_.nics_per_node),
               !network             ? std::string{"a guess: one for each GPU"}
               : gpus == usual_gpus ? std::string{"as the usual node has"}
                                    : fmt::format("the usual node has {} for {} GPUs",
                                                  network->nics_per_node, usual_gpus));
    }

    /// What NICs carry goes through the PCIe link of a GPU of the node.
    void bound_by_pcie() {
        const auto& gpu = question_.gpu;
        const auto gpus = static_cast<double>(system_.gpus_per_node);
        const auto most = gpu ? gpu->pcie_bytes_per_s * gpus : 0;
        if (!(most > 0) || system_.network_bytes_per_s() <= most) {
            return;
        }
        system_.nic_bytes_per_s = most / static_cast<double>(system_.nics_per_node);
        assume("NICs together", fmt::format("{:g} GB/s each way", most / giga),
               fmt::format("all that {} {} of {:g} GB/s PCIe take: catalogue, {}",
                           system_.gpus_per_node, system_.gpus_per_node == 1 ? "GPU" : "GPUs",
                           gpu->pcie_bytes_per_s / giga, gpu->name));
    }

    const CollectiveQuestion& question_;
    System system_;
    std::vector<AssumedFigure>& assumed_;
};

}  // namespace

Result<System> make_system(const CollectiveQuestion& question,
                           std::vector<AssumedFigure>& assumed) {
    return SystemMaker{question, assumed}.make();
}

std::optional<Ceiling> find_ceiling(const System& system, Collective collective) {
    const auto link = nvlink_of(system.generation);
    if (collective != Collective::all_reduce ||
        system.nvlink_bytes_per_s < link.links * link.sold_gb_per_s * giga) {
        return std::nullopt;
    }
    constexpr std::uint64_t usual = 8;
    constexpr std::uint64_t rack = 72;
    std::string_view name;
    if (system.nodes == 1 && system.gpus_per_node == rack) {
        name = system.nvls ? "GB200 NVL72 SHARP" : "GB200 NVL72";
    }
    if (system.nodes == 1 && system.gpus_per_node == usual) {
        constexpr std::array<std::string_view, 4> plain{"NVLink2 V100", "NVLink3 A100",
                                                        "NVLink4 H100", "NVLink5 B200"};
        constexpr std::array<std::string_view, 4> adding{"", "", "NVLink4 SHARP H100",
                                                         "NVLink5 SHARP B200"};
        name = (system.nvls ? adding : plain)[static_cast<std::size_t>(system.generation)];
    }
    const bool is_many = system.nodes > 2;  // two nodes swap what more have to send twice
    const auto gigabytes =
        static_cast<double>(system.nics_per_node) * system.nic_bytes_per_s / giga;
    if (is_many && system.generation == Generation::ampere && gigabytes == 200) {
        name = "DGX A100 8x200Gb";
    }
    if (is_many && system.generation == Generation::hopper && gigabytes == 400) {
        name = system.sharp ? "DGX H100 8x400Gb IB SHARP" : "DGX H100 8x400Gb";
    }
    const auto all = published_ceilings();
    const auto found = std::ranges::find(all, name, &Ceiling::configuration);
    return found == all.end() ? std::nullopt : std::optional{*found};
}

}  // namespace railhead::fabric
