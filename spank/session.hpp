// spank_t with types: the job's environment and the items that Slurm tells a plugin.
//
// The job's environment is Slurm's copy in slurmstepd, not this process's own.  In srun, sbatch
// and salloc there is no such copy; there the process environment is the user's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

extern "C" {
#include <slurm/spank.h>
}

namespace railhead::spank {

enum class StepKind : std::uint8_t { step, batch, interactive };

class Session {
 public:
    explicit Session(spank_t handle) : handle_{handle} {}

    /// A variable of the job; only in slurmstepd.  A value of more than 128 KiB, which execve()
    /// would not take either, counts as absent.
    [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;

    /// Changes the job's environment; false when Slurm refuses.
    bool set(const std::string& name, const std::string& value) const;
    void unset(const std::string& name) const;

    /// A 32-bit item: S_TASK_ID, S_JOB_NODEID, S_JOB_LOCAL_TASK_COUNT, …
    [[nodiscard]] std::optional<std::uint32_t> number(spank_item item) const;

    [[nodiscard]] StepKind kind() const;

    [[nodiscard]] spank_t handle() const { return handle_; }

 private:
    spank_t handle_;
};

}  // namespace railhead::spank
