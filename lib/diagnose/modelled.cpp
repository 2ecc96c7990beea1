#include "diagnose/modelled.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "training/catalogue.hpp"

namespace railhead::diagnose {

namespace {

/// nccl-tests prints no name of what it runs, but its bus bandwidth is size / time x 2 (n - 1) / n
/// for an all-reduce alone.
Result<void> check_collective(const fabric::NcclTests& table, std::uint64_t ranks) {
    const auto* row = table.largest();
    if (row == nullptr || !(row->time_us > 0) || !(row->bytes > 0)) {
        return fail(Errc::bad_input, "the table has no row with a time");
    }
    constexpr double us_gb = 1e-3;  // bytes a microsecond as GB/s
    const double shown = row->busbw_gb_per_s / (row->bytes / row->time_us * us_gb);
    const double expected = fabric::busbw_factor(fabric::Collective::all_reduce, ranks);
    constexpr double rounded_off = 0.03;
    if (std::abs(shown / expected - 1) > rounded_off) {
        return fail(Errc::unsupported,
                    fmt::format("its bus bandwidth is {:.3g} times size over time, that of an "
                                "all-reduce of {} ranks {:.3g} times: it is another collective",
                                shown, ranks, expected));
    }
    return {};
}

Result<void> add_ranks(const fabric::NcclTests& table, const Hardware& hardware,
                       fabric::CollectiveQuestion& question) {
    const auto ranks = table.ranks != 0 ? table.ranks : hardware.gpus;
    auto hosts = table.hosts;
    if (hosts == 0 && hardware.gpus_per_node != 0 && ranks % hardware.gpus_per_node == 0) {
        hosts = ranks / hardware.gpus_per_node;
    }
    if (ranks < 2 || hosts == 0) {
        return fail(Errc::bad_input,
                    "the table does not list its ranks: say --gpus and --gpus-per-node");
    }
    if (ranks % hosts != 0) {
        return fail(Errc::unsupported,
                    fmt::format("{} on {}: not as many on each", count_of(ranks, "rank"),
                                count_of(hosts, "node")));
    }
    question.nodes = hosts;
    question.gpus_per_node = ranks / hosts;
    return check_collective(table, ranks);
}

Result<void> add_gpu(const fabric::NcclTests& table, const Hardware& hardware,
                     fabric::CollectiveQuestion& question) {
    const auto* named = accelerator_of(table.device);
    const auto* gpu = named != nullptr ? named : hardware.accelerator;
    if (gpu == nullptr) {
        return fail(Errc::bad_input, "the table names no GPU that is known: say --accelerator");
    }
    question.gpu = fabric::make_gpu_part(gpu->name, gpu->scale_up_bytes_per_s.value_or(0),
                                         gpu->pcie_bytes_per_s.value_or(0), gpu->source);
    if (!question.gpu) {
        return fail(Errc::unsupported, fmt::format("{} has another library than NCCL", gpu->name));
    }
    question.gpu->per_node = gpu->per_node;
    return {};
}

}  // namespace

const training::Accelerator* accelerator_of(std::string_view device) {
    for (const std::string_view maker : {"NVIDIA ", "Tesla "}) {
        if (device.starts_with(maker)) {
            device.remove_prefix(maker.size());
        }
    }
    const auto found = training::find_accelerator(training::built_in_catalogue(), device);
    return found ? *found : nullptr;
}

Result<fabric::CollectiveAnswer> model_of(const BandwidthFacts& measured,
                                          const Hardware& hardware) {
    fabric::CollectiveQuestion question;
    if (auto added = add_ranks(measured.table, hardware, question); !added) {
        return propagate(added);
    }
    if (auto added = add_gpu(measured.table, hardware, question); !added) {
        return propagate(added);
    }
    if (*question.nodes > 1 && hardware.nic == nullptr) {
        return fail(Errc::bad_input,
                    fmt::format("it is of {} nodes: say --nic and --nics", *question.nodes));
    }
    if (const auto* nic = hardware.nic; nic != nullptr) {
        question.network =
            fabric::NetworkPart{nic->name, nic->port_bytes_per_s(), nic->per_node, nic->source};
        if (hardware.nics_per_node != 0) {
            question.nics_per_node = hardware.nics_per_node;
        }
    }
    question.bytes = measured.table.largest()->bytes;  // check_collective() found it
    question.measured = measured.table;
    return fabric::answer(question);
}

}  // namespace railhead::diagnose
