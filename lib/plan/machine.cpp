#include "plan/machine.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/collective_model.hpp"
#include "fabric/plan_question.hpp"

namespace railhead::plan {

namespace {

using training::Accelerator;

constexpr double giga = 1e9;
constexpr double usual_matmul_share = 0.8;  // between A100's 87 % and B200's 78 %
constexpr double usual_scale_up_share = 370.0 / 450;

/// The usual node of accelerators whose names begin so.
struct UsualNode {
    std::string_view accelerators;
    std::string_view name;
    std::string_view nic;
    std::uint64_t nics;
    double power_w;
    std::string_view power_source;
    std::uint64_t domain;  ///< 0: the node
};

constexpr std::uint64_t rack = fabric::nvl72_nodes * fabric::nvl72_gpus_per_node;
constexpr double rack_tray_w = 6667;

constexpr std::array<UsualNode, 7> usual_nodes{{
    {"v100", "DGX-1", "edr", 4, 3500, "NVIDIA, DGX-1 datasheet: 3.5 kW at most", 0},
    {"a100-sxm", "DGX A100", "hdr", 8, 6500, "NVIDIA, DGX A100 user guide: 6.5 kW at most", 0},
    {"h100-sxm", "DGX H100", "ndr", 8, 10200, "NVIDIA, DGX H100/H200 user guide: 10.2 kW at most",
     0},
    {"h200-sxm", "DGX H200", "ndr", 8, 10200, "NVIDIA, DGX H100/H200 user guide: 10.2 kW at most",
     0},
    {"b200", "DGX B200", "ndr", 8, 14300, "NVIDIA, DGX B200 user guide: 14.3 kW at most", 0},
    {"gb200", "GB200 NVL72", "ndr", 4, rack_tray_w,
     "NVIDIA DPS, device specifications: DGX_GB200, 6667 W", rack},
    {"gb300", "GB300 NVL72", "xdr", 4, 0, "", rack},
}};

const UsualNode* usual_node_of(const Accelerator& accelerator) {
    for (const auto& node : usual_nodes) {
        if (accelerator.name.starts_with(node.accelerators)) {
            return &node;
        }
    }
    return nullptr;
}

class Maker {
 public:
    Maker(const MachineQuestion& question, const training::Catalogue& catalogue)
        : question_{question},
          catalogue_{catalogue},
          accelerator_{*question.accelerator},
          usual_{usual_node_of(accelerator_)} {}

    Result<Machine> make();

 private:
    void assume(std::string_view what, std::string value, std::string source) {
        machine_.assumed.push_back({what, std::move(value), std::move(source)});
    }
    Result<void> set_peak();
    Result<void> set_nics();
    Result<void> set_links();
    void set_power();

    const MachineQuestion& question_;
    const training::Catalogue& catalogue_;
    const Accelerator& accelerator_;
    const UsualNode* usual_;
    Machine machine_;
};

Result<void> Maker::set_peak() {
    const auto peak = accelerator_.peak_tflops(question_.precision);
    if (!peak || !(accelerator_.memory_bytes_per_s > 0)) {
        return fail(Errc::bad_input,
                    fmt::format("the catalogue has no {} for \"{}\"",
                                peak ? "memory bandwidth"
                                     : fmt::format("{} peak", to_string(question_.precision)),
                                printable(accelerator_.name)));
    }
    constexpr double tera = 1e12;
    machine_.peak_flops = *peak * tera;
    assume("peak", fmt::format("{:g} TFLOP/s dense {}", *peak, to_string(question_.precision)),
           fmt::format("catalogue, {}: {}", accelerator_.name, accelerator_.source));
    const auto measured = accelerator_.measured_tflops(question_.precision);
    machine_.matmul_share = measured ? *measured / *peak : usual_matmul_share;
    assume("best matmul", fmt::format("{:.1f} % of the peak", machine_.matmul_share * 100),
           measured ? "measured (MAMF), catalogue"
                    : "a guess: A100 reaches 87 %, H100 80 %, B200 78 % (MAMF)");
    return {};
}

Result<void> Maker::set_nics() {
    machine_.gpus_per_node = question_.gpus_per_node.value_or(accelerator_.per_node);
    if (!question_.gpus_per_node) {
        assume("GPUs a node", std::to_string(machine_.gpus_per_node), "catalogue: the usual node");
    }
    machine_.domain =
        usual_ != nullptr && usual_->domain > 0 ? usual_->domain : machine_.gpus_per_node;
    const auto* nic = question_.nic;
    if (nic == nullptr && !question_.nic_bytes_per_s) {
        auto found = training::find_nic(catalogue_, usual_ != nullptr ? usual_->nic : "ndr");
        if (!found) {
            return propagate(found);
        }
        nic = *found;
    }
    machine_.nic_bytes_per_s =
        question_.nic_bytes_per_s.value_or(nic != nullptr ? nic->port_bytes_per_s() : 0);
    if (!question_.nic_bytes_per_s && question_.nic == nullptr) {
        assume("NICs", fmt::format("{:g} Gb/s each", machine_.nic_bytes_per_s * 8 / giga),
               usual_ != nullptr ? fmt::format("{}: catalogue, {}", usual_->name, nic->name)
                                 : std::string{"a guess: NDR InfiniBand"});
    }
    const bool is_given = question_.nic != nullptr || question_.nic_bytes_per_s;
    machine_.nics_per_node =
        question_.nics_per_node.value_or(question_.nic != nullptr         ? question_.nic->per_node
                                         : usual_ != nullptr && !is_given ? usual_->nics
                                                                          : machine_.gpus_per_node);
    if (!question_.nics_per_node) {
        assume("NICs a node", std::to_string(machine_.nics_per_node),
               question_.nic != nullptr         ? "catalogue: the usual node with them"
               : usual_ != nullptr && !is_given ? std::string{usual_->name}
                                                : "a guess: one for each GPU");
    }
    return {};
}

/// What NCCL makes of the links: lib/fabric's figures for NVIDIA's chips, else the share of H100.
Result<void> Maker::set_links() {
    const auto sold = accelerator_.scale_up_bytes_per_s.value_or(0);
    const auto pcie = accelerator_.pcie_bytes_per_s.value_or(0);
    const auto part = fabric::make_gpu_part(accelerator_.name, sold, pcie, accelerator_.source);
    if (!(sold > 0) && !(pcie > 0)) {
        return fail(Errc::bad_input, fmt::format("the catalogue has neither NVLink nor PCIe for "
                                                 "\"{}\"",
                                                 printable(accelerator_.name)));
    }
    fabric::System system;
    system.gpus_per_node = machine_.gpus_per_node;
    system.generation = part ? part->generation : fabric::Generation::hopper;
    system.nvlink_bytes_per_s = sold;
    system.pcie_bytes_per_s = pcie;
    system.nics_per_node = machine_.nics_per_node;
    system.nic_bytes_per_s = machine_.nic_bytes_per_s;
    const bool is_known = part || !(sold > 0);
    machine_.scale_up_bytes_per_s =
        is_known ? system.scale_up_bytes_per_s() : sold * usual_scale_up_share;
    assume(sold > 0 ? "links in a node" : "PCIe in a node",
           fmt::format("{:.0f} GB/s reached of {:g}", machine_.scale_up_bytes_per_s / giga,
                       (sold > 0 ? sold : pcie) / giga),
           is_known ? "what NCCL reckons with, docs/allreduce.md"
                    : "a guess: the share that NCCL reaches on H100, 370 of 450 GB/s");
    machine_.network_bytes_per_s =
        system.network_bytes_per_s() / static_cast<double>(machine_.gpus_per_node);
    assume("network, a GPU", fmt::format("{:.1f} GB/s", machine_.network_bytes_per_s / giga),
           "96 % of the NICs' rate: 24 of 25, 48 of 50 GB/s, NVIDIA, GTC 2024");
    return {};
}

void Maker::set_power() {
    const bool is_known =
        usual_ != nullptr && usual_->power_w > 0 && machine_.gpus_per_node == accelerator_.per_node;
    if (question_.node_power_w) {
        machine_.node_power_w = *question_.node_power_w;
        return;
    }
    constexpr double beside_gpus = 10200.0 / (8 * 700);
    machine_.node_power_w = is_known ? usual_->power_w
                                     : accelerator_.power_w.value_or(0) * beside_gpus *
                                           static_cast<double>(machine_.gpus_per_node);
    assume("power of a node", fmt::format("{:.1f} kW", machine_.node_power_w / 1000),
           is_known ? std::string{usual_->power_source}
                    : "a guess: 1.82 times that of its GPUs, as a DGX H100 (10.2 of 5.6 kW)");
}

Result<Machine> Maker::make() {
    machine_.accelerator = &accelerator_;
    machine_.precision = question_.precision;
    if (auto peak = set_peak(); !peak) {
        return propagate(peak);
    }
    if (auto nics = set_nics(); !nics) {
        return propagate(nics);
    }
    if (auto links = set_links(); !links) {
        return propagate(links);
    }
    set_power();
    return std::move(machine_);
}

}  // namespace

Result<Machine> make_machine(const MachineQuestion& question,
                             const training::Catalogue& catalogue) {
    return Maker{question, catalogue}.make();
}

}  // namespace railhead::plan
