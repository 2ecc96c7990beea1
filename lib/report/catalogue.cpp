#include "report/catalogue.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"
#include "report/training_text.hpp"
#include "training/flops.hpp"
#include "training/parameters.hpp"

namespace railhead::report {

namespace {

using training::Accelerator;
using training::Catalogue;
using training::Nic;
using training::Precision;
using training::Shape;

constexpr double giga = 1e9;
constexpr double percent = 100;
constexpr std::string_view unknown = "-";

/// Four digits, or as many as the whole number has.
std::string digits(double value) {
    constexpr double four_digits = 1000;
    return value < four_digits ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

std::string figure(const std::optional<double>& value, double unit = 1) {
    return value ? digits(*value / unit) : std::string{unknown};
}

/// "1.008 T", "405.9 B", "124.1 M".
std::string amount_text(double count) {
    constexpr double million = 1e6;
    constexpr double trillion = 1e12;
    return count < giga       ? fmt::format("{:.4g} M", count / million)
           : count < trillion ? fmt::format("{:.4g} B", count / giga)
                              : fmt::format("{:.4g} T", count / trillion);
}

/// A remark below a table.
std::string below(std::string_view text) {
    return fmt::format("\n{}\n", fmt::join(wrap(text, 80), "\n"));
}

std::string size_text(std::uint64_t size) {
    return size == 0 ? std::string{unknown} : fmt::format("{}", size);
}

void add_aliases(Table& table, const std::vector<std::string>& aliases) {
    if (!aliases.empty()) {
        table.add({"  also called", fmt::format("{}", fmt::join(aliases, ", "))});
    }
}

void add_source(Table& table, const std::string& source, const std::string& note) {
    if (!note.empty()) {
        table.add({"  note", note});
    }
    table.add({"  source", source});
}

std::string experts_text(const training::Experts& experts) {
    auto text = fmt::format("{} of {}", experts.active, experts.count);
    if (experts.shared != 0) {
        text += fmt::format(" and {} shared", experts.shared);
    }
    text += fmt::format(", each {} wide", experts.ffn);
    return experts.dense_layers == 0
               ? text
               : text + fmt::format("; not in {} layers", experts.dense_layers);
}

std::string attention_text(const Shape& shape) {
    if (shape.latent) {
        const auto& latent = *shape.latent;
        return fmt::format("latent: ranks {} and {}, heads {} + {} and {} wide", latent.query_rank,
                           latent.key_value_rank, latent.plain_head, latent.rope_head,
                           latent.value_head);
    }
    auto text = fmt::format("{}, {} of keys and values, {} wide", count_of(shape.heads, "head"),
                            shape.kv_heads(), shape.head_width());
    return shape.window == 0 ? text
                             : text + fmt::format("; tokens see {} in {}", shape.window,
                                                  count_of(shape.window_layers, "layer"));
}

std::string mlp_text(const Shape& shape) {
    const auto kind =
        shape.mlp == training::Mlp::gated ? "gated, three matrices" : "plain, two matrices";
    return shape.ffn == 0 ? kind : fmt::format("{} wide, {}", shape.ffn, kind);
}

void add_sizes(Table& table, const Shape& shape) {
    table.add({"  layers", fmt::format("{}", shape.layers)});
    if (shape.mtp_layers != 0) {
        table.add({"  further tokens",
                   fmt::format("predicted by {} more", count_of(shape.mtp_layers, "layer"))});
    }
    table.add({"  hidden", fmt::format("{}", shape.hidden)});
    table.add({"  attention", attention_text(shape)});
    table.add({"  MLP", mlp_text(shape)});
    if (shape.experts) {
        table.add({"  experts", experts_text(*shape.experts)});
    }
    table.add({"  vocabulary", fmt::format("{} tokens{}", shape.vocabulary,
                                           shape.tied ? "; the output is the embedding" : "")});
    table.add({"  sequence",
               shape.sequence == 0 ? "not said" : fmt::format("{} tokens", shape.sequence)});
    if (shape.tokens) {
        table.add({"  trained on", amount_text(*shape.tokens) + " tokens"});
    }
}

std::string parameters_text(const Shape& shape) {
    const auto parameters = training::count_parameters(shape);
    Table table;
    const auto add = [&](std::string_view part, double count) {
        if (count > 0) {
            table.add({fmt::format("  {}", part), amount_text(count)});
        }
    };
    add("embedding", parameters.embedding);
    add("positions", parameters.positions);
    add("attention", parameters.attention);
    add("MLP", parameters.mlp);
    add("experts", parameters.experts);
    add("routers", parameters.routers);
    add("norms", parameters.norms);
    add("biases", parameters.biases);
    add("output", parameters.output);
    add("all", parameters.total());
    if (shape.experts) {
        add("of a token", parameters.active());
    }
    if (shape.published_parameters) {
        add("published", *shape.published_parameters);
    }
    return "Parameters\n" + table.text();
}

std::string flops_text(const Shape& shape) {
    Table table{{"  convention", "GFLOP", "formula"}};
    std::vector<const training::Convention*> counted;
    for (const auto& convention : training::conventions()) {
        if (const auto flops = training::flops_per_token(shape, convention)) {
            table.add({fmt::format("  {}", convention.name), digits(flops->total() / giga),
                       std::string{convention.formula}});
            counted.push_back(&convention);
        }
    }
    const auto besides = besides_text(shape, counted);
    return "FLOPs of a token, forward and backward, nothing recomputed\n" + table.text() +
           (besides.empty() ? "" : "\n" + besides);
}

std::string peaks_text(const Accelerator& accelerator) {
    Table table{{"  precision", "peak", "best matmul", "highest published MFU"}};
    for (const auto precision : training::precisions()) {
        const auto peak = accelerator.peak_tflops(precision);
        if (!peak) {
            continue;
        }
        const auto measured = accelerator.measured_tflops(precision);
        const auto* highest = accelerator.highest(precision);
        table.add({fmt::format("  {}", to_string(precision)), figure(peak),
                   measured
                       ? fmt::format("{:.4g} ({:.1f} %)", *measured, *measured / *peak * percent)
                       : std::string{unknown},
                   highest != nullptr ? fmt::format("{:.1f} %, {}: {}", highest->share * percent,
                                                    by_convention(*highest), highest->source)
                                      : std::string{unknown}});
    }
    return "TFLOP/s, dense\n" + table.text();
}

}  // namespace

std::string accelerators_text(const Catalogue& catalogue) {
    Table table{
        {"Accelerator", "BF16", "FP8", "matmul", "memory", "bandwidth", "scale-up", "power"}};
    table.add({"", "TFLOP/s", "TFLOP/s", "%", "GB", "GB/s", "GB/s", "W"});
    for (const auto& row : catalogue.accelerators) {
        const auto half = row.bf16_tflops ? row.bf16_tflops : row.fp16_tflops;
        const auto measured = row.measured_bf16_tflops;
        table.add({row.name, figure(half), figure(row.fp8_tflops),
                   measured && half ? fmt::format("{:.1f}", *measured / *half * percent)
                                    : std::string{unknown},
                   fmt::format("{:.1f}", row.memory_bytes / giga),
                   fmt::format("{:.0f}", row.memory_bytes_per_s / giga),
                   figure(row.scale_up_bytes_per_s, giga), figure(row.power_w)});
    }
    return table.text() +
           below(
               "Dense peaks, FP16 where there is no BF16; bandwidths in one direction.  matmul: "
               "the "
               "share of the BF16 peak that the best one reaches.  Sources: railhead catalog "
               "accelerators NAME.");
}

std::string nics_text(const Catalogue& catalogue) {
    Table table{{"NIC", "port", "port", "ports", "node", "measured", "usual node"}};
    table.add({"", "Gb/s", "GB/s", "a node", "Gb/s", "GB/s", ""});
    for (const auto& row : catalogue.nics) {
        table.add({row.name, fmt::format("{:.0f}", row.port_gbit_per_s),
                   fmt::format("{:.4g}", row.port_bytes_per_s() / giga),
                   fmt::format("{}", row.per_node),
                   fmt::format("{:.0f}", row.port_gbit_per_s * row.per_node),
                   figure(row.measured_bytes_per_s, giga), row.usual_node});
    }
    return table.text() + below("One direction.  Sources: railhead catalog nics NAME.");
}

std::string models_text(const Catalogue& catalogue) {
    Table table{
        {"Model", "parameters", "of a token", "layers", "hidden", "heads", "FFN", "sequence"}};
    for (const auto& row : catalogue.models) {
        const auto parameters = training::count_parameters(row);
        table.add({row.name, amount_text(parameters.total()),
                   row.experts ? amount_text(parameters.active()) : std::string{unknown},
                   fmt::format("{}", row.layers), fmt::format("{}", row.hidden),
                   row.latent || row.kv_heads() == row.heads
                       ? fmt::format("{}", row.heads)
                       : fmt::format("{}/{}", row.heads, row.kv_heads()),
                   size_text(row.experts ? row.experts->ffn : row.ffn), size_text(row.sequence)});
    }
    return table.text() +
           below(
               "Parameters are counted from the sizes; of a token: those it goes through, where "
               "there are experts.  heads: with those of keys and values; FFN: of one expert.  "
               "Sources: railhead catalog models NAME.");
}

std::string accelerator_text(const Accelerator& accelerator) {
    Table table;
    add_aliases(table, accelerator.aliases);
    const auto rate = [](const std::optional<double>& bytes_per_s) {
        return bytes_per_s ? bandwidth_text(*bytes_per_s) + " each way" : "not known";
    };
    table.add({"  memory", bytes_text(accelerator.memory_bytes) +
                               (accelerator.memory_as_sold ? ", as it is sold"
                                                           : ", as the driver reports it")});
    table.add({"  memory bandwidth", bandwidth_text(accelerator.memory_bytes_per_s)});
    table.add({"  scale-up link", rate(accelerator.scale_up_bytes_per_s)});
    table.add({"  PCIe", rate(accelerator.pcie_bytes_per_s)});
    table.add({"  power", accelerator.power_w ? fmt::format("{:.0f} W", *accelerator.power_w)
                                              : std::string{"not known"}});
    table.add({"  in a node", fmt::format("{}", accelerator.per_node)});
    if (!accelerator.unverified.empty()) {
        table.add({"  not verified", fmt::format("{}", fmt::join(accelerator.unverified, ", "))});
    }
    add_source(table, accelerator.source, accelerator.note);
    return accelerator.name + "\n" + table.text() + "\n" + peaks_text(accelerator);
}

std::string nic_text(const Nic& nic) {
    Table table;
    add_aliases(table, nic.aliases);
    table.add({"  port", fmt::format("{:.0f} Gb/s, {} each way", nic.port_gbit_per_s,
                                     bandwidth_text(nic.port_bytes_per_s()))});
    table.add({"  measured", nic.measured_bytes_per_s ? bandwidth_text(*nic.measured_bytes_per_s)
                                                      : std::string{"not known"}});
    table.add({"  in a node", fmt::format("{} ports, {:.0f} Gb/s{}", nic.per_node,
                                          nic.port_gbit_per_s * nic.per_node,
                                          nic.usual_node.empty() ? "" : ": " + nic.usual_node)});
    add_source(table, nic.source, nic.note);
    return nic.name + "\n" + table.text();
}

std::string model_text(const Shape& shape) {
    Table table;
    add_aliases(table, shape.aliases);
    add_sizes(table, shape);
    add_source(table, shape.source, "");
    return (shape.name.empty() ? std::string{"model"} : shape.name) + "\n" + table.text() + "\n" +
           parameters_text(shape) + "\n" + flops_text(shape);
}

}  // namespace railhead::report
