// railhead allreduce: what a collective of NCCL takes, and what would change it.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "fabric/collective_question.hpp"
#include "job/quantity.hpp"
#include "model_options.hpp"
#include "output_file.hpp"
#include "quantity_reader.hpp"
#include "report/collective.hpp"
#include "training/catalogue.hpp"

namespace railhead::cli {

namespace {

struct Options {
    // As typed: they are read when all options are there.
    std::optional<std::string> accelerator, generation, nvlink, pcie, nic, latency, cpu, collective,
        algorithm, protocol, bytes, params, bytes_per_gradient, measured;
    fabric::CollectiveQuestion question;
    std::vector<std::string> catalogs;
    bool json = false;
    std::string svg;
};

/// The place of `text` among `names`; fails with what was meant.
Result<std::size_t> find_place(std::string_view option, const std::string& text,
                               std::span<const std::string_view> names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (equals_ignoring_case(names[i], text)) {
            return i;
        }
    }
    const auto near = nearest_name(text, names);
    return fail(Errc::bad_input, near ? fmt::format("{} \"{}\": did you mean \"{}\"?", option,
                                                    printable(text), *near)
                                      : fmt::format("{} \"{}\": expected one of {}", option,
                                                    printable(text), fmt::join(names, ", ")));
}

template <class Enum>
Result<void> read_name(std::string_view option, const std::optional<std::string>& text,
                       std::span<const std::string_view> names, std::optional<Enum>& to) {
    if (!text) {
        return {};
    }
    auto place = find_place(option, *text, names);
    if (!place) {
        return propagate(place);
    }
    to = static_cast<Enum>(*place);
    return {};
}

Result<void> read_names(const Options& options, fabric::CollectiveQuestion& question) {
    // In the orders of their enumerations; those that are modelled.
    constexpr std::array<std::string_view, 3> cpus{"intel", "amd", "other"};
    constexpr std::array<std::string_view, 6> collectives{
        "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce"};
    if (options.collective) {
        const auto found = fabric::find_collective(*options.collective);
        if (found) {
            question.collective = *found;
        } else if (auto place = find_place("--collective", *options.collective, collectives);
                   !place) {
            return propagate(place);
        }
    }
    for (auto read : {read_name("--generation", options.generation, fabric::generation_names(),
                                question.generation),
                      read_name("--cpu", options.cpu, cpus, question.cpu),
                      read_name("--algo", options.algorithm, fabric::algorithm_names(),
                                question.allowed.algorithm),
                      read_name("--proto", options.protocol, fabric::protocol_names(),
                                question.allowed.protocol)}) {
        if (!read) {
            return propagate(read);
        }
    }
    return {};
}

Result<void> read_accelerator(const Options& options, const training::Catalogue& catalogue,
                              fabric::CollectiveQuestion& question) {
    if (!options.accelerator) {
        return {};
    }
    auto found = training::find_accelerator(catalogue, *options.accelerator);
    if (!found) {
        return propagate(found);
    }
    const auto& one = **found;
    question.gpu = fabric::make_gpu_part(one.name, one.scale_up_bytes_per_s.value_or(0),
                                         one.pcie_bytes_per_s.value_or(0), one.source);
    if (question.gpu) {
        question.gpu->per_node = one.per_node;
    }
    if (!question.gpu) {
        return fail(Errc::unsupported,
                    fmt::format("--accelerator \"{}\": only NVIDIA's are modelled, by NCCL's "
                                "constants; {} has another library",
                                printable(*options.accelerator), one.name));
    }
    return {};
}

/// A rate, or the name of a network.
Result<void> read_nic(const Options& options, const training::Catalogue& catalogue,
                      fabric::CollectiveQuestion& question) {
    if (!options.nic) {
        return {};
    }
    if (job::parse_bandwidth(*options.nic)) {
        QuantityReader reader;
        reader.read("--nic", options.nic, Quantity::nic_rate, question.nic_bytes_per_s);
        if (reader.error()) {
            return tl::unexpected{*reader.error()};
        }
        return {};
    }
    auto found = training::find_nic(catalogue, *options.nic);
    if (!found) {
        auto error = std::move(found.error());
        error.message += "; or give its rate, as 400Gb/s";
        return tl::unexpected{std::move(error)};
    }
    const auto& one = **found;
    question.network =
        fabric::NetworkPart{one.name, one.port_bytes_per_s(), one.per_node, one.source};
    return {};
}

Result<void> read_measured(const Options& options, fabric::CollectiveQuestion& question) {
    if (!options.measured) {
        return {};
    }
    auto text = read_file(*options.measured);
    if (!text) {
        return propagate(text);
    }
    auto tests = fabric::parse_nccl_tests(*text, *options.measured);
    if (!tests) {
        return propagate(tests);
    }
    question.measured = std::move(*tests);
    return {};
}

Result<fabric::CollectiveQuestion> read_question(const Options& options,
                                                 const training::Catalogue& catalogue) {
    auto question = options.question;
    QuantityReader reader;
    reader.read("--nvlink", options.nvlink, Quantity::bandwidth, question.nvlink_bytes_per_s);
    reader.read("--pcie", options.pcie, Quantity::bandwidth, question.pcie_bytes_per_s);
    reader.read("--net-latency", options.latency, Quantity::duration, question.network_latency_s);
    reader.read("--bytes", options.bytes, Quantity::size, question.bytes);
    reader.read("--params", options.params, Quantity::count, question.params);
    reader.read("--bytes-per-gradient", options.bytes_per_gradient, Quantity::count,
                question.bytes_per_gradient);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    for (auto* read : {&read_accelerator, &read_nic}) {
        if (auto done = (*read)(options, catalogue, question); !done) {
            return propagate(done);
        }
    }
    for (auto* read : {&read_names, &read_measured}) {
        if (auto done = (*read)(options, question); !done) {
            return propagate(done);
        }
    }
    return question;
}

void run(const Options& options, Console& console) {
    const auto catalogue = read_catalogue(options.catalogs, console);
    if (!catalogue) {
        return;
    }
    const auto question = read_question(options, *catalogue);
    if (!question) {
        return console.fail(question.error());
    }
    const auto answer = fabric::answer(*question);
    if (!answer) {
        return console.fail(answer.error());
    }
    if (!options.svg.empty()) {
        const auto written = write_file(options.svg, report::collective_svg(*answer));
        if (!written) {
            return console.fail(written.error());
        }
    }
    console.out << (options.json ? report::collective_json(*answer)
                                 : report::collective_text(*answer));
}

/// CLI11 would read -4 as a very large number.
const CLI::Range some{std::uint64_t{1}, std::uint64_t{10'000'000}};

void add_system(CLI::App& command, Options& options) {
    auto& question = options.question;
    const std::string group = "The system";
    command.add_option("--nodes", question.nodes, "Nodes")->check(some)->group(group);
    command.add_option("--gpus", question.gpus, "Or GPUs, of whole nodes")
        ->check(some)
        ->group(group);
    command
        .add_option("--gpus-per-node", question.gpus_per_node,
                    "Default: the usual node's; of an NVL72 rack 72")
        ->check(some)
        ->group(group);
    auto* accelerator =
        command
            .add_option("--accelerator", options.accelerator, "Of the catalogue: h100, b200, ...")
            ->group(group);
    command
        .add_option("--generation", options.generation,
                    "Or the generation of the GPUs: volta, ampere, hopper or blackwell")
        ->excludes(accelerator)
        ->group(group);
    command.add_option("--nvlink", options.nvlink, "Of a GPU, one direction, in GB/s")
        ->group(group);
    command.add_option("--pcie", options.pcie, "The same, where there is no NVLink")->group(group);
    command.add_option("--nic", options.nic, "Rate of a NIC, 400Gb/s, or a name: ndr, efa-v2, ...")
        ->group(group);
    command
        .add_option("--nics", question.nics_per_node,
                    "NICs a node (default: a GPU has its share of the usual node's)")
        ->check(some)
        ->group(group);
    command
        .add_option("--net-latency", options.latency,
                    "What the network plugin tells NCCL: 35us (default: by the NIC's name)")
        ->group(group);
    command.add_option("--cpu", options.cpu, "intel, amd or other")->group(group);
    command.add_flag("--no-nvls", question.no_nvls, "The NVSwitches do not add")->group(group);
    command.add_flag("--sharp", question.sharp, "The InfiniBand switches add, for NCCL")
        ->group(group);
    command.add_option("--channels", question.channels, "As NCCL_DEBUG=INFO prints them")
        ->check(some)
        ->group(group);
}

void add_message(CLI::App& command, Options& options) {
    const std::string group = "The message";
    command.add_option("--bytes", options.bytes, "Its size: 512MiB (default: 1 GiB)")->group(group);
    command.add_option("--params", options.params, "Or the gradients of a model: 70B")
        ->group(group);
    command.add_option("--bytes-per-gradient", options.bytes_per_gradient, "Default: 2")
        ->group(group);
    command
        .add_option("--collective", options.collective,
                    "all_reduce (default), reduce_scatter, all_gather, all_to_all, broadcast, "
                    "reduce")
        ->group(group);
    command.add_option("--algo", options.algorithm, "As NCCL_ALGO: Ring, Tree, NVLS, ...")
        ->group(group);
    command.add_option("--proto", options.protocol, "As NCCL_PROTO: LL, LL128, Simple")
        ->group(group);
}

}  // namespace

void add_allreduce(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("allreduce", "What a collective of NCCL takes, by size");
    add_system(*command, *options);
    add_message(*command, *options);
    add_catalog_option(*command, options->catalogs);
    command->add_option("--measured", options->measured,
                        "Output of nccl-tests, to be shown beside the model");
    command->add_flag("--json", options->json, "Write JSON, schema railhead.allreduce/1");
    command->add_option("--svg", options->svg, "Also draw the bus bandwidth into this file");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
