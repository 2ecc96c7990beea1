#include "diagnose/network_costs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "diagnose/rules_nccl.hpp"

namespace railhead::diagnose {

namespace {

using training::Topic;

constexpr double tcp_bytes_per_s = 10e9;   // of a node with 100GbE, as in the checklist
constexpr double without_gdr = 33.3 / 93;  // NVIDIA/nccl #1412, two A100 nodes
constexpr double usual_line_share = 0.94;  // of a NIC's line, as HDR and NDR reach

const training::Nic* nic_of(const Hardware& hardware) {
    return hardware.nic != nullptr ? hardware.nic : hardware.usual_nic;
}

double nics_of(const Hardware& hardware) {
    return static_cast<double>(hardware.nics_per_node != 0
                                   ? hardware.nics_per_node
                                   : std::uint64_t{nic_of(hardware)->per_node});
}

double port_bytes_per_s(const training::Nic& nic) {
    return nic.measured_bytes_per_s.value_or(usual_line_share * nic.port_bytes_per_s());
}

/// The finding of this rule, if it found something.
Finding* find(std::span<Finding> findings, std::string_view id) {
    const auto found = std::ranges::find_if(findings, [&](const Finding& one) {
        return one.answer == Answer::found && one.rule->id == id;
    });
    return found == findings.end() ? nullptr : &*found;
}

/// What a finding follows from in the end.
Finding& root_of(std::span<Finding> findings, Finding& from) {
    auto* at = &from;
    for (std::size_t i = 0; i < findings.size() && !at->consequence_of.empty(); ++i) {
        auto* cause = find(findings, at->consequence_of);
        if (cause == nullptr) {
            break;
        }
        at = cause;
    }
    return *at;
}

/// The fewest NICs that a node takes, by what its ranks print.
std::optional<double> fewest_nics(const NcclLog& log) {
    std::optional<double> fewest;
    for (const auto* list : log.all_said(NcclTopic::ib_devices)) {
        const auto count = static_cast<double>(devices_in(list->value).size());
        if (count > 0 && count < fewest.value_or(count + 1)) {
            fewest = count;
        }
    }
    return fewest;
}

/// One fault after the other, each from the bandwidth that the one before has left.
class Ladder {
 public:
    Ladder(const Facts& facts, const RunSizes& run, std::span<Finding> findings)
        : facts_{facts},
          run_{run},
          findings_{findings},
          at_{run.node_bytes_per_s},
          left_{run.lost} {}

    void step(std::string_view id, double to_bytes_per_s) {
        auto* finding = find(findings_, id);
        if (finding == nullptr || !(to_bytes_per_s < at_)) {
            return;
        }
        auto& root = root_of(findings_, *finding);
        const double before = exposed_gradients(run_, at_, run_.tokens.low);
        const double after = exposed_gradients(run_, to_bytes_per_s, run_.tokens.low);
        if (!root.step_share) {
            price(root, before, after, to_bytes_per_s);
        }
        at_ = to_bytes_per_s;
    }
    [[nodiscard]] double at() const { return at_; }

 private:
    /// No fault is promised more than what the run loses.
    void price(Finding& finding, double before, double after, double to_bytes_per_s) {
        constexpr double least = 0.0005;
        const double share = std::min(after - before, left_);
        left_ -= share;
        auto gain = after - before < least ? std::string{"no time is lost now"}
                                           : expected_text(facts_, share);
        if (share < after - before) {
            gain += ", no more than what the run loses";
        }
        if (share >= least) {
            finding.step_share = share;
        }
        finding.expected = fmt::format(
            "{}; gradients that nothing hides take {:.1f} % of the step at {:.1f} GB/s a node, "
            "{:.1f} % at {:.1f} GB/s: {}{}{}{}",
            gain, after * 100, to_bytes_per_s / 1e9, before * 100, at_ / 1e9, wire_text(run_),
            facts_.hardware.nic == nullptr ? ", the NICs of the usual node (--nic says others)"
                                           : "",
            finding.expected.empty() ? "" : "; ", finding.expected);
    }

    const Facts& facts_;
    const RunSizes& run_;
    std::span<Finding> findings_;
    double at_;
    double left_;  ///< of what the run loses
};

}  // namespace

std::string wire_text(const RunSizes& run) {
    return fmt::format(
        "{:.3g} of 6 bytes a parameter on the wire, {:.0f} tokens a step of a "
        "replica, {:.0f} % of compute ({:.1f} % of the step) to hide it",
        run.sent, run.tokens.low, run.behind_backward * 100, run.compute * 100);
}

std::optional<RunSizes> sizes_of_run(const Facts& facts, const RunSetup& setup) {
    const auto* training = facts.main_training();
    const auto& hardware = facts.hardware;
    if (training == nullptr || !training->mfu || nic_of(hardware) == nullptr) {
        return std::nullopt;
    }
    const auto& mfu = *training->mfu;
    const auto* best = mfu.accelerator->highest(mfu.precision);
    const auto batch = setup.batch();
    const auto gpus = setup.gpus();
    const auto replicas = setup.replicas();
    const auto node = static_cast<double>(facts.gpus_per_node());
    const auto sequence = static_cast<double>(mfu.shape.sequence);
    if (best == nullptr || !batch || !gpus || !replicas || !(sequence > 0) || !(node > 0) ||
        !(*gpus > node) || mfu.judgement.doubt >= training::Doubt::warning) {
        return std::nullopt;
    }
    RunSizes run;
    run.mfu = training::counted_as(*best, mfu).mfu * training->speed_now();
    run.best = best->share;
    run.compute = std::min(1.0, run.mfu / run.best);
    run.lost = 1 - run.compute;
    run.flops_per_s = mfu.utilization.peak_tflops * 1e12 * run.best;
    run.gpus_per_node = node;
    run.nodes = *gpus / node;
    run.nics = nics_of(hardware);
    run.node_bytes_per_s = run.nics * port_bytes_per_s(*nic_of(hardware));
    run.scale_up_bytes_per_s = mfu.accelerator->scale_up_bytes_per_s.value_or(0);
    run.pcie_bytes_per_s = mfu.accelerator->pcie_bytes_per_s.value_or(0);
    run.hidden = static_cast<double>(mfu.shape.hidden);
    // Replicas smaller than a node reduce within it first.
    const double copies = std::min(*replicas, run.nodes);
    if (!(copies >= 1) || !(*batch > 0)) {
        return std::nullopt;
    }
    run.tokens = {*batch * sequence / copies, *batch * sequence / copies};
    run.sent = (copies - 1) / copies;
    if (setup.value(Topic::gradient_overlap) == 0.0) {
        run.behind_backward = 0;
    }
    return run;
}

void price_network(const Facts& facts, std::span<Finding> findings) {
    const auto run = sizes_of_run(facts, RunSetup{facts});
    if (!run || !facts.nccl) {
        return;
    }
    Ladder ladder{facts, *run, findings};
    const bool is_tcp = find(findings, "socket-fallback") != nullptr;
    if (is_tcp) {
        ladder.step("socket-fallback", tcp_bytes_per_s);  // NICs and GPUDirect do not matter then
        return;
    }
    const auto nics = fewest_nics(*facts.nccl);
    if (nics && *nics < run->nics) {
        const double fewer = run->node_bytes_per_s * *nics / run->nics;
        ladder.step("rail-mismatch", fewer);
        ladder.step("missing-rail", fewer);
    }
    ladder.step("gdr-off", ladder.at() * without_gdr);
}

}  // namespace railhead::diagnose
