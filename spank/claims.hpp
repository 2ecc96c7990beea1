// Who holds which GPU: known to all tasks of a step on this node.
//
// Each task sees its own GPUs only, in a process of its own.  A page that slurmstepd shares with
// the tasks that it forks lets the second one to hold a GPU find the first: with --gpu-bind=single
// and tasks bound to the wrong socket, Slurm gives several tasks the same one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace railhead::spank {

class Claims {
 public:
    /// Room for a node's GPUs, made in slurmstepd.  Where there is no memory for it, nobody is
    /// found.
    explicit Claims(std::size_t gpus);
    Claims(const Claims&) = delete;
    Claims& operator=(const Claims&) = delete;
    ~Claims();

    /// Says that the task holds the GPU; gives the task that said so before, once a step.
    std::optional<std::uint32_t> claim(std::size_t gpu, std::uint32_t task) const;

 private:
    using Slot = std::uint32_t;  ///< the holder's number and 1; 0: nobody
    static_assert(std::atomic_ref<Slot>::is_always_lock_free);

    std::size_t count_;  ///< of GPUs; the slot after them says that the user has been told
    Slot* slots_ = nullptr;
};

}  // namespace railhead::spank
