// What should a table of nccl-tests have shown?  The model of collectives beside what was measured.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "diagnose/facts.hpp"
#include "fabric/collective_question.hpp"

namespace railhead::diagnose {

/// By the name that the driver gives it: "NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB"; null
/// where the catalogue has no such.
[[nodiscard]] const training::Accelerator* accelerator_of(std::string_view device);

/// The model of the all-reduce that `measured` is of.  GPU, ranks and nodes are those of the table
/// where it names them, else what was said of the hardware; the network is what was said.
/// Fails with `unsupported` where the table is of another collective, and with `bad_input` where
/// something is missing: the message says what.
[[nodiscard]] Result<fabric::CollectiveAnswer> model_of(const BandwidthFacts& measured,
                                                        const Hardware& hardware);

}  // namespace railhead::diagnose
