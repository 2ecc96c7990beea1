#include "fabric/collective_question.hpp"

#include <utility>

#include <fmt/format.h>

#include "fabric/collective_settings.hpp"
#include "fabric/collective_system.hpp"

namespace railhead::fabric {

namespace {

Result<void> check(const CollectiveQuestion& question) {
    const std::pair<std::string_view, std::optional<double>> numbers[] = {
        {"the bandwidth of NVLink", question.nvlink_bytes_per_s},
        {"the bandwidth of PCIe", question.pcie_bytes_per_s},
        {"the rate of a NIC", question.nic_bytes_per_s},
        {"a size", question.bytes},
        {"parameters", question.params},
        {"bytes per gradient", question.bytes_per_gradient},
    };
    constexpr double most = 1e18;
    for (const auto& [what, value] : numbers) {
        if (value && !(*value > 0 && *value <= most)) {
            return fail(Errc::bad_input,
                        fmt::format("{}: {:g} is not more than 0, or too large", what, *value));
        }
    }
    constexpr double a_second = 1;
    if (question.network_latency_s &&
        !(*question.network_latency_s >= 0 && *question.network_latency_s <= a_second)) {
        return fail(Errc::bad_input, "the latency of the network is between 0 and a second");
    }
    if (question.nodes && question.gpus) {
        return fail(Errc::bad_input, "nodes and GPUs say the same: give one of them");
    }
    if (question.bytes && question.params) {
        return fail(Errc::bad_input,
                    "a size and the parameters of a model say the same: give one of them");
    }
    if (question.bytes_per_gradient && !question.params) {
        return fail(Errc::bad_input,
                    "bytes per gradient mean nothing without the parameters of a model");
    }
    if (question.nvlink_bytes_per_s && question.pcie_bytes_per_s) {
        return fail(Errc::bad_input,
                    "GPUs talk over NVLink or over PCIe: give one of the bandwidths");
    }
    return {};
}

/// The size that counts, and what is said of it.
double size_of(const CollectiveQuestion& question, std::vector<AssumedFigure>& assumed) {
    if (question.bytes) {
        return *question.bytes;
    }
    if (question.params) {
        constexpr double bf16 = 2;
        if (!question.bytes_per_gradient) {
            assumed.push_back({"bytes a gradient", "2", "bf16"});
        }
        return *question.params * question.bytes_per_gradient.value_or(bf16);
    }
    assumed.push_back({"size", "1 GiB", "large enough for the bandwidth to count"});
    return 0x1p30;
}

std::vector<TakenFrom> find_taken(const CollectiveModel& model) {
    constexpr double smallest = 1024;
    constexpr double largest = 0x1p36;
    constexpr double step = 1.01;
    std::vector<TakenFrom> taken;
    for (auto bytes = smallest; bytes <= largest; bytes *= step) {
        const auto now = model.predict(bytes);
        if (taken.empty() || taken.back().algorithm != now.algorithm ||
            taken.back().protocol != now.protocol) {
            taken.push_back({bytes, now.algorithm, now.protocol});
        }
    }
    return taken;
}

std::vector<Prediction> make_curve(const CollectiveModel& model) {
    constexpr double smallest = 1024;
    constexpr double largest = 0x1p34;
    std::vector<Prediction> curve;
    for (auto bytes = smallest; bytes <= largest; bytes *= 2) {
        curve.push_back(model.predict(bytes));
    }
    return curve;
}

std::vector<Compared> compare(const CollectiveModel& model, const NcclTests& tests) {
    std::vector<Compared> compared;
    for (const auto& row : tests.rows) {
        if (row.time_us > 0) {
            compared.push_back({row, model.predict(row.bytes)});
        }
    }
    return compared;
}

void add_notes(CollectiveAnswer& answer, const CollectiveQuestion& question) {
    const auto& system = answer.model.system();
    if (system.nodes > 1) {
        answer.notes.emplace_back(
            "The switches are taken to carry all NICs at once. An oversubscribed or shared fabric, "
            "and a PCIe slot slower than its NIC, give less.");
    }
    const bool is_tray = question.gpu && (question.gpu->name.starts_with("gb200") ||
                                          question.gpu->name.starts_with("gb300"));
    constexpr std::uint64_t rack = 72;
    if (is_tray && system.nodes > 1 && system.gpus_per_node < rack) {
        answer.notes.emplace_back(
            "Nodes are taken to be joined by NICs alone. Those of one NVL72 rack are joined by "
            "NVLink: a rack is one node of 72 GPUs (--gpus-per-node 72).");
    }
    if (question.sharp && system.nodes == 1) {
        answer.notes.emplace_back("SHARP adds in the switches between nodes: one node has none.");
    }
    answer.notes.emplace_back(
        "Nothing is fitted: docs/allreduce.md has the errors against eight measured sweeps. A "
        "framework's launch, 20 to 30 us, comes on top at small sizes.");
    if (!question.measured) {
        return;
    }
    const auto& tests = *question.measured;
    if (tests.ranks > 0 && tests.ranks != system.ranks()) {
        answer.notes.push_back(
            fmt::format("The measured file lists {} ranks, the system here has "
                        "{}: times are not of the same thing.",
                        tests.ranks, system.ranks()));
    }
    if (tests.wrong() > 0) {
        answer.notes.push_back(
            fmt::format("The measured file has {} wrong values: find out why before its times.",
                        tests.wrong()));
    }
    if (tests.rows.empty()) {
        answer.notes.emplace_back("The measured file has no rows, its average alone.");
    }
}

}  // namespace

Result<CollectiveAnswer> answer(const CollectiveQuestion& question) {
    if (auto fine = check(question); !fine) {
        return propagate(fine);
    }
    std::vector<AssumedFigure> assumed;
    auto system = make_system(question, assumed);
    if (!system) {
        return propagate(system);
    }
    auto model = CollectiveModel::make(*system, question.collective, question.allowed);
    if (!model) {
        return propagate(model);
    }
    const auto bytes = size_of(question, assumed);
    CollectiveAnswer answer{std::move(*model), bytes, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    answer.at_bytes = answer.model.predict(bytes);
    if (question.collective == Collective::all_reduce) {
        answer.wires = hierarchical_all_reduce(
            {system->nodes, system->gpus_per_node, system->scale_up_bytes_per_s(),
             system->network_bytes_per_s() / static_cast<double>(system->gpus_per_node)},
            bytes);
    }
    answer.ceiling = find_ceiling(*system, question.collective);
    answer.curve = make_curve(answer.model);
    answer.taken = find_taken(answer.model);
    answer.crossover = ring_tree_crossover(answer.model);
    answer.settings = explain_settings(answer.model, question.allowed, bytes);
    answer.assumed = std::move(assumed);
    if (question.measured) {
        answer.compared = compare(answer.model, *question.measured);
    }
    add_notes(answer, question);
    return answer;
}

}  // namespace railhead::fabric
