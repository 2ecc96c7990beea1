// Is a cluster, or a job, as good as it is meant to be?  The MFU first, then what keeps it low:
// gradients, failures, scheduling, storage.  What `railhead gate` answers.
//
// Pure: what was read of logs and of Slurm goes in, a list of checks comes out.  A check whose
// input is missing is unknown, and says what tells it; none is passed for want of a figure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/record.hpp"
#include "diagnose/facts.hpp"
#include "diagnose/slurm_records.hpp"
#include "diagnose/slurm_settings.hpp"
#include "policy/checkpoint_settings.hpp"
#include "policy/gate_targets.hpp"
#include "training/catalogue.hpp"

namespace railhead::diagnose {

enum class GateGroup : std::uint8_t { mfu, all_reduce, failures, scheduling, storage };
[[nodiscard]] std::string_view name_of(GateGroup group);

enum class GateVerdict : std::uint8_t { pass, fail, unknown };
[[nodiscard]] std::string_view name_of(GateVerdict verdict);

/// What a figure is of, for programs.
enum class GateUnit : std::uint8_t { none, share, seconds, times };

/// What is wanted, and who says so.
struct GateAim {
    std::optional<double> value;
    bool is_least = false;  ///< else the most
    std::string text;       ///< "at least 45 %"
    std::string from;       ///< "railhead.toml:12", or a source
};

struct GateCheck {
    std::string_view id;  ///< "mfu", "idle"
    std::string_view what;
    GateGroup group = GateGroup::mfu;
    GateVerdict verdict = GateVerdict::unknown;
    GateUnit unit = GateUnit::none;
    std::optional<double> value;
    std::string measured;  ///< "38.4 %"; empty: not known
    std::string from;      ///< "train.log:1204", "sacct, 7.0 d"
    GateAim aim;
    std::vector<std::string> details;  ///< what the figure is made of: whole sentences
    std::vector<std::string> missing;  ///< why it is unknown: what is not there
    std::vector<std::string> run;      ///< commands and options that tell it
    std::vector<std::string> advice;   ///< what to do
};

struct Gate {
    std::vector<GateCheck> checks;
    [[nodiscard]] std::uint64_t count(GateVerdict verdict) const;
};

/// How the model lies over GPUs; what is absent is looked for in the run's log.
struct GateLayout {
    std::optional<std::uint64_t> tp, pp, cp, ep;
};

/// What was asked, and all that was read for it.  Pointers may be null: it was not read.
struct GateQuestion {
    const Facts* facts = nullptr;
    const SlurmRecords* records = nullptr;
    const SlurmSettings* settings = nullptr;
    const training::Catalogue* catalogue = nullptr;  ///< never null
    std::vector<checkpoint::Record> checkpoints;
    std::vector<std::string> jobs;                 ///< none: the cluster
    std::optional<std::int64_t> since_s, until_s;  ///< of the records; else all that they span
    std::string records_from;                      ///< "sacct", for people; empty: the files' names
    std::string hidden_jobs;  ///< why records lack jobs of others; empty: they do not

    training::Shape shape;  ///< as typed
    GateLayout layout;
    std::optional<double> step_s;
    std::optional<double> interval_s, cost_s, per_1000_node_days, restart_s;
    std::optional<std::uint64_t> nodes;  ///< of the job

    policy::GateTargets targets;
    policy::CheckpointSettings site;  ///< what the policy says of checkpoints
};

/// All checks, in the order of GateGroup.
[[nodiscard]] Gate pass_gate(const GateQuestion& question);

}  // namespace railhead::diagnose
