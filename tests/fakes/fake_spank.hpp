// The part of srun, sbatch and slurmstepd that spank_railhead.so calls, recording what it is told.
//
// One job at a time: a test sets the context, the job's environment and the items, calls the
// plugin's entry points and looks at what became of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include <slurm/spank.h>
}

namespace fake_spank {

struct Option {
    std::string name, help;
    int value = 0;
    spank_opt_cb_f take = nullptr;
};

struct Job {
    spank_context_t context = S_CTX_REMOTE;
    std::map<std::string, std::string> environment;  ///< slurmstepd's copy
    std::map<std::string, std::string> control;      ///< what reaches slurmctld: spank_job_env
    std::map<spank_item, std::uint32_t> items;
    std::vector<Option> options;
    std::vector<std::string> log;  ///< "error: …", "info: …", "verbose: …", "spank: …"
    int tee = -1;                  ///< a descriptor that gets each line of the log too

    /// The call of any of our functions, counted from 1, in which an exception is thrown; 0: never.
    unsigned throw_at = 0;
    unsigned calls = 0;

    [[nodiscard]] bool has_logged(const std::string& part) const;
};

/// The job at hand.
Job& job();
/// A new job; gives it.
Job& reset();

}  // namespace fake_spank
