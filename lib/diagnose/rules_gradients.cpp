// Rules on the settings by which gradients are sent: how many, when, in which pieces.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "diagnose/checklist_costs.hpp"
#include "diagnose/framework.hpp"
#include "diagnose/network_costs.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/run_setup.hpp"

namespace railhead::diagnose {

namespace {

using training::Topic;

Finding find_network_batch(const Facts& facts) {
    const RunSetup setup{facts};
    if (setup.is_empty()) {
        return unknown({Input::run_arguments});
    }
    auto run = sizes_of_run(facts, setup);
    if (!run) {
        return unknown({Input::model_flops, Input::network});
    }
    run->behind_backward = 2.0 / 3;  // that nothing is overlapped is another finding
    constexpr double worth_a_look = 0.02;
    const double share = exposed_gradients(*run, run->node_bytes_per_s, run->tokens.low);
    if (share < worth_a_look) {
        return not_found();
    }
    auto finding = found_setting(
        facts, Confidence::likely,
        fmt::format(
            "Gradients are longer on the wire than the backward pass takes, with all of the "
            "network's {:.0f} GB/s a node: {:.0f} tokens a step of a replica are too few "
            "({}).",
            run->node_bytes_per_s / 1e9, run->tokens.low, wire_text(*run)),
        setup.at(Topic::global_batch), std::min(share, run->lost));
    finding.fix = {"a larger global batch: more micro-batches a replica",
                   "fewer replicas: more of the GPUs in tensor or pipeline parallelism"};
    return finding;
}

Finding find_serial_gradients(const Facts& facts) {
    const RunSetup setup{facts};
    const auto overlap = setup.value(Topic::gradient_overlap);
    if (!overlap) {
        return unknown({Input::run_arguments});
    }
    const auto replicas = setup.replicas();
    if (*overlap != 0 || (replicas && *replicas <= 1)) {
        return not_found();
    }
    std::optional<double> share;
    std::string arithmetic = "up to two thirds of compute hide it";
    if (auto run = sizes_of_run(facts, setup)) {
        run->behind_backward = 0;
        const double serial = exposed_gradients(*run, run->node_bytes_per_s, run->tokens.low);
        run->behind_backward = 2.0 / 3;
        share = std::min(run->lost,
                         serial - exposed_gradients(*run, run->node_bytes_per_s, run->tokens.low));
        arithmetic = fmt::format("{:.1f} % of the step at {:.0f} GB/s a node become {:.1f} %: {}",
                                 serial * 100, run->node_bytes_per_s / 1e9, (serial - *share) * 100,
                                 wire_text(*run));
    }
    auto finding =
        found_setting(facts, Confidence::certain,
                      "Gradients are sent after the backward pass, not while it goes on.",
                      setup.at(Topic::gradient_overlap), share);
    finding.expected += (finding.expected.empty() ? "" : "; ") + arithmetic;
    finding.fix = {setting_for(Remedy::overlap_gradients, framework_of(facts))};
    return finding;
}

Finding find_small_buckets(const Facts& facts) {
    const RunSetup setup{facts};
    const auto bytes = setup.value(Topic::bucket_bytes);
    if (!bytes) {
        return unknown({Input::run_arguments});
    }
    constexpr double usual = 25.0 * 1048576;  // PyTorch's default: arXiv:2006.15704, section 4.2
    if (*bytes >= usual) {
        return not_found();
    }
    auto finding =
        found(Confidence::possible,
              fmt::format(
                  "Gradients go in buckets of {:.1f} MB, less than the 26.2 MB that PyTorch takes: "
                  "many small collectives, of which latency takes the most.",
                  *bytes / 1e6),
              setup.at(Topic::bucket_bytes));
    finding.role = Role::advice;
    const auto framework = framework_of(facts);
    finding.fix = {setting_for(Remedy::larger_buckets, framework,
                               framework == Framework::deepspeed  ? "500000000"
                               : framework == Framework::megatron ? "40000000"
                                                                  : "100")};
    finding.expected = "railhead allreduce tells the time of a collective by its size";
    return finding;
}

constexpr std::string_view of_gradients[] = {"low-mfu"};

constexpr Rule rules[] = {
    {"batch-per-network", "too few tokens a step for the network",
     "gradients are sent once a step, however short it is", of_gradients, find_network_batch},
    {"gradients-not-overlapped", "gradients that are sent after the backward pass",
     "the network works while GPUs wait, and the other way round", of_gradients,
     find_serial_gradients},
    {"small-buckets",
     "gradients in small pieces",
     "latency is paid for each piece",
     {},
     find_small_buckets},
};

}  // namespace

std::span<const Rule> gradient_rules() {
    return rules;
}

}  // namespace railhead::diagnose
