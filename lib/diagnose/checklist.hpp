// Where to look first when all that is known of a slow run is its MFU, its GPUs and how many: what
// may cost how much of a step, in the order of expected gain, and the MFU after each fix.
//
// A gain is a share of the time of a step.  What a run loses is the step beyond what the best
// published run of the same accelerator needs: no fix promises more, alone or after others.
// Where the model, its layout or its batch is not said, a gain is a range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "training/accelerator.hpp"
#include "training/catalogue.hpp"
#include "training/flops.hpp"
#include "training/nic.hpp"

namespace railhead::diagnose {

struct Range {
    double low = 0, high = 0;
    [[nodiscard]] double middle() const { return (low + high) / 2; }
    [[nodiscard]] bool is_exact() const { return low == high; }
};

struct ChecklistQuestion {
    double mfu = 0;  ///< a share
    std::uint64_t gpus = 0;
    const training::Accelerator* accelerator = nullptr;
    training::Precision precision = training::Precision::bf16;
    std::uint64_t gpus_per_node = 0;  ///< 0: of the usual node
    const training::Nic* nic = nullptr;
    bool nic_said = false;            ///< else it is that of the usual node
    std::uint64_t nics_per_node = 0;  ///< 0: of the usual node

    // What is known of the run; each makes ranges narrower.
    std::optional<double> hidden;           ///< of the model
    std::optional<double> tokens_per_step;  ///< of all GPUs
    std::optional<std::uint64_t> tensor_parallel, pipeline_parallel, microbatches;
    std::optional<training::Recompute> recompute;
};

/// One thing to look for.
struct Suspect {
    std::string_view id;     ///< "socket"
    std::string_view title;  ///< "NCCL fell back to TCP sockets"
    bool is_known = false;   ///< what was said of the run makes it sure; else it may not be there
    Range share;             ///< of the step's time that its fix gives back, where it is there
    double expected = 0;     ///< of the step's time; what the order goes by
    Range alone;             ///< MFU after its fix and no other, where it is there
    Range after;             ///< MFU after its fix and all before it, those not there among them
    std::string arithmetic;  ///< how the share comes about, with numbers
    std::string_view source;
    std::vector<std::string> look;  ///< commands that show whether it is so
    std::string fix;
};

/// What cannot be, with the reason.
struct RuledOut {
    std::string_view id, title;
    std::string why;
};

struct Checklist {
    std::vector<Suspect> suspects;  ///< greatest expected gain first
    std::vector<RuledOut> ruled_out;
    double best = 0;  ///< the MFU that no fix goes beyond
    std::string best_source;
    bool best_is_published = false;  ///< else it is what the best matmul reaches
    std::string best_convention;     ///< that the published MFU is counted by; may be empty
    double lost = 0;                 ///< of the step: 1 - mfu / best
    std::uint64_t nodes = 0;
    std::vector<std::string> assumptions;  ///< whole sentences
};

/// The NIC of the usual node with such accelerators, by the catalogue; null where it names none.
[[nodiscard]] const training::Nic* usual_nic(const training::Catalogue& catalogue,
                                             const training::Accelerator& accelerator);

/// Fails with `bad_input` where the MFU is no share, no NIC is known though there are several
/// nodes, or nothing is published to compare the accelerator with.
[[nodiscard]] Result<Checklist> make_checklist(const ChecklistQuestion& question);

}  // namespace railhead::diagnose
