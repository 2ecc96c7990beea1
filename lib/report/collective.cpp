#include "report/collective.hpp"

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using fabric::CollectiveAnswer;
using fabric::Prediction;
using fabric::System;

constexpr std::size_t width = 80;
constexpr double micro = 1e-6;
constexpr double giga = 1e9;

std::string way_text(const Prediction& prediction) {
    return fmt::format("{} with {}", name_of(prediction.algorithm), name_of(prediction.protocol));
}

std::string rate_text(double bytes_per_s) {
    const auto gigabytes = bytes_per_s / giga;
    constexpr double few = 100;
    return gigabytes < few ? fmt::format("{:.2f}", gigabytes) : fmt::format("{:.1f}", gigabytes);
}

/// "+12 %" of the time, "12 times" it.
std::string change_text(double share) {
    constexpr double much = 2;
    if (share > much) {
        return fmt::format("{:.0f} times", share + 1);
    }
    constexpr double percent = 100;
    const auto text = fmt::format("{:+.0f} %", share * percent);
    return text == "-0 %" || text == "+0 %" ? "0 %" : text;
}

std::string system_text(const System& system) {
    return fmt::format("{} of {}: {} ranks", count_of(system.nodes, "node"),
                       count_of(system.gpus_per_node, "GPU"), system.ranks());
}

std::string within_text(const System& system) {
    const bool has_nvlink = system.nvlink_bytes_per_s > 0;
    const auto sold = has_nvlink ? system.nvlink_bytes_per_s : system.pcie_bytes_per_s;
    return fmt::format("{} {} a GPU each way, {} of it usable{}", has_nvlink ? "NVLink" : "PCIe",
                       bandwidth_text(sold), bandwidth_text(system.scale_up_bytes_per_s()),
                       system.nvls ? "; NVLS" : "");
}

std::string network_text(const System& system) {
    return fmt::format(
        "{} of {} a node, {} of it usable{}{}", count_of(system.nics_per_node, "NIC"),
        bandwidth_text(system.nic_bytes_per_s), bandwidth_text(system.network_bytes_per_s()),
        system.network_step_us > 0      ? fmt::format("; {:g} us a step", system.network_step_us)
        : system.network_latency_us > 0 ? fmt::format("; {:g} us a step", system.network_latency_us)
                                        : std::string{},
        system.sharp ? "; SHARP" : "");
}

std::string size_text(double bytes) {
    const auto binary = binary_bytes_text(bytes);
    const auto decimal = bytes_text(bytes);
    return binary == decimal ? binary : fmt::format("{} ({})", binary, decimal);
}

std::string at_text(const Prediction& at) {
    return fmt::format("{} by {}: algbw {:.1f}, busbw {:.1f} GB/s",
                       short_time_text(at.time_us * micro), way_text(at),
                       at.algbw_bytes_per_s / giga, at.busbw_bytes_per_s / giga);
}

std::string wires_text(const CollectiveAnswer& answer) {
    const auto& system = answer.model.system();
    const auto* words = system.nvlink_bytes_per_s <= 0 ? "PCIe"
                        : system.nvls                  ? "NVLink without NVLS"
                                                       : "NVLink";
    const auto within = fmt::format("{} on {}", short_time_text(answer.wires.scale_up_s), words);
    if (answer.wires.network_s <= 0) {
        return within;
    }
    const auto between = short_time_text(answer.wires.network_s) + " on the NICs";
    return answer.wires.scale_up_s > 0
               ? fmt::format("{}, {}, summed within the nodes first", within, between)
               : between;
}

std::string crossover_text(const CollectiveAnswer& answer) {
    return fmt::format("from {} on the ring is before the tree, in NCCL's own guess",
                       size_text(*answer.crossover));
}

std::string summary(const CollectiveAnswer& answer) {
    const auto& system = answer.model.system();
    Table table;
    table.add({std::string{name_of(answer.model.collective())}, system_text(system)});
    if (system.gpus_per_node > 1) {
        table.add({"Within", within_text(system)});
    }
    if (system.nodes > 1) {
        table.add({"Between", network_text(system)});
    }
    table.add({"Size", size_text(answer.bytes)});
    table.add({"Time", at_text(answer.at_bytes)});
    if (answer.wires.scale_up_s > 0 || answer.wires.network_s > 0) {
        table.add({"Wires", wires_text(answer)});
    }
    if (answer.ceiling) {
        table.add(
            {"NVIDIA", fmt::format("busbw {:g} GB/s for {} (slides of GTC 2024 and 2025)",
                                   answer.ceiling->busbw_gb_per_s, answer.ceiling->configuration)});
    }
    if (answer.crossover) {
        table.add({"Crossover", crossover_text(answer)});
    }
    return table.text(0, width);
}

std::string curve_table(const CollectiveAnswer& answer) {
    Table table{{"size", "NCCL takes", "", "time", "algbw GB/s", "busbw GB/s"}};
    for (std::size_t i = 0; i < answer.curve.size(); ++i) {
        const auto& point = answer.curve[i];
        table.add({binary_bytes_text(point.bytes), std::string{name_of(point.algorithm)},
                   std::string{name_of(point.protocol)}, short_time_text(point.time_us * micro),
                   rate_text(point.algbw_bytes_per_s), rate_text(point.busbw_bytes_per_s)});
    }
    return "\n" + table.text(2, width);
}

std::string taken_table(const CollectiveAnswer& answer) {
    Table table{{"from", "NCCL takes", ""}};
    for (const auto& taken : answer.taken) {
        table.add({binary_bytes_text(taken.bytes), std::string{name_of(taken.algorithm)},
                   std::string{name_of(taken.protocol)}});
    }
    return "\n" + table.text(2, width);
}

std::string compared_table(const CollectiveAnswer& answer) {
    if (answer.compared.empty()) {
        return {};
    }
    Table table{{"size", "measured", "busbw GB/s", "model", "busbw GB/s", "off"}};
    for (const auto& one : answer.compared) {
        table.add({binary_bytes_text(one.measured.bytes),
                   short_time_text(one.measured.time_us * micro),
                   fmt::format("{:.2f}", one.measured.busbw_gb_per_s),
                   short_time_text(one.predicted.time_us * micro),
                   rate_text(one.predicted.busbw_bytes_per_s), change_text(one.error())});
    }
    return "\n" + table.text(2, width);
}

std::string settings_table(const CollectiveAnswer& answer) {
    Table table{{"variable", "time", "", "what to make of it"}};
    for (const auto& setting : answer.settings) {
        table.add(
            {setting.name, setting.gives ? short_time_text(setting.gives->time_us * micro) : "",
             setting.gives ? change_text(setting.gives->time_us / answer.at_bytes.time_us - 1) : "",
             setting.advice});
    }
    return fmt::format("\nVariables of NCCL, at {}\n", binary_bytes_text(answer.bytes)) +
           table.text(2, width);
}

std::string assumed_table(const CollectiveAnswer& answer) {
    if (answer.assumed.empty()) {
        return {};
    }
    Table table;
    for (const auto& figure : answer.assumed) {
        table.add({std::string{figure.what}, figure.value, figure.source});
    }
    return "\nNot given\n" + table.text(2, width);
}

std::string notes_text(const CollectiveAnswer& answer) {
    std::string text;
    for (const auto& note : answer.notes) {
        text += "\n";
        for (const auto& line : wrap(note, width)) {
            text += line + "\n";
        }
    }
    return text;
}

}  // namespace

std::string collective_text(const CollectiveAnswer& answer) {
    return summary(answer) + curve_table(answer) + taken_table(answer) + compared_table(answer) +
           settings_table(answer) + assumed_table(answer) + notes_text(answer);
}

}  // namespace railhead::report
