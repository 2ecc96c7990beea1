// What can be wrong with a run: one table of rules, each of which looks at facts and answers that
// it found something, that it looked and found nothing, or that it does not know.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/checklist.hpp"
#include "diagnose/facts.hpp"

namespace railhead::diagnose {

enum class Answer : std::uint8_t { found, not_found, unknown };
[[nodiscard]] std::string_view name_of(Answer answer);

/// How sure a rule is of what it found.
enum class Confidence : std::uint8_t {
    certain,  ///< the input says so
    likely,   ///< nothing else that is known looks so
    possible  ///< it fits, as other things do
};
[[nodiscard]] std::string_view name_of(Confidence confidence);

enum class Role : std::uint8_t {
    cause,    ///< what is to be mended
    symptom,  ///< what is seen; its cause is another, or not determined
    advice    ///< nothing is broken: it could be better
};
[[nodiscard]] std::string_view name_of(Role role);

struct Rule;

/// What a rule answers.
struct Finding {
    const Rule* rule = nullptr;
    Answer answer = Answer::unknown;
    Role role = Role::cause;
    Confidence confidence = Confidence::likely;
    std::string what;  ///< what was found, with numbers: whole sentences
    std::vector<Evidence> evidence;
    std::vector<std::string> fix;      ///< commands and settings, in the order to try them
    std::optional<double> step_share;  ///< of the step's time that its fix gives back
    double stays = 0;                  ///< of the step's time that it takes after the fix, too
    std::string expected;              ///< what is to be expected after it, with the arithmetic
    std::vector<Input> missing;        ///< what an unknown answer needs: any of them may be it
    std::string_view consequence_of;   ///< id of the rule whose finding explains this one
};

struct Rule {
    std::string_view id;                         ///< "socket-fallback"
    std::string_view looks_for;                  ///< "NCCL uses TCP sockets between nodes"
    std::string_view why;                        ///< why it matters
    std::span<const std::string_view> explains;  ///< ids of rules whose findings follow from it
    Finding (*check)(const Facts& facts);
    /// Whether a run in which it finds nothing may be called healthy.  That no warning stands in a
    /// few lines says little; that steps are even, or that connections take the right way, does.
    bool is_vital = false;
};

/// All of them.  Causes come before what follows from them.
[[nodiscard]] std::vector<Rule> all_rules();

// By what they look at; parts of all_rules().
[[nodiscard]] std::span<const Rule> speed_rules();      ///< step times of a training log
[[nodiscard]] std::span<const Rule> stability_rules();  ///< losses, hangs
[[nodiscard]] std::span<const Rule> layout_rules();     ///< arguments of the run, MFU
[[nodiscard]] std::span<const Rule> gradient_rules();   ///< how gradients are sent
[[nodiscard]] std::span<const Rule> setting_rules();    ///< other settings of the run
[[nodiscard]] std::span<const Rule> bandwidth_rules();  ///< tables of nccl-tests
[[nodiscard]] std::span<const Rule> node_rules();     ///< kernel log, nvidia-smi, DCGM, PCI, ports
[[nodiscard]] std::span<const Rule> failure_rules();  ///< of ranks: tracebacks, flight records, RAS
[[nodiscard]] std::span<const Rule> profile_rules();  ///< traces of a profiler
[[nodiscard]] std::span<const Rule> slurm_rules();    ///< ends of jobs, slurmctld
[[nodiscard]] std::span<const Rule> slurm_node_rules();  ///< nodes, by Slurm's records and logs
[[nodiscard]] std::span<const Rule> placement_rules();   ///< GPUs and leaves that a job got
[[nodiscard]] std::span<const Rule> affinity_rules();    ///< CPUs of ranks, how they were started
[[nodiscard]] std::span<const Rule> nccl_error_rules();
[[nodiscard]] std::span<const Rule> nccl_network_rules();
[[nodiscard]] std::span<const Rule> nccl_path_rules();

// What checks answer with.
[[nodiscard]] Finding not_found();
[[nodiscard]] Finding unknown(std::vector<Input> missing);
[[nodiscard]] Finding found(Confidence confidence, std::string what,
                            std::vector<Evidence> evidence);

/// Whether the MFU is known and less than half of the best published, as that was counted.
[[nodiscard]] bool is_low_mfu(const Facts& facts);

/// What a setting of the run is: a cause where it takes a tenth of the step or more of a run with
/// a low MFU, else advice.
[[nodiscard]] Role role_of_setting(const Facts& facts, std::optional<double> step_share);

/// A finding on a setting of the run, with what is to be expected where its cost is known.
[[nodiscard]] Finding found_setting(const Facts& facts, Confidence confidence, std::string what,
                                    std::vector<Evidence> evidence,
                                    std::optional<double> step_share);

/// "MFU 36.0 % after it: 34.1 / (1 - 5.3 %)", or of the step where no MFU is known; no MFU is above
/// the best published.
[[nodiscard]] std::string expected_text(const Facts& facts, double step_share);

}  // namespace railhead::diagnose
