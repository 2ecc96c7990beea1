// A process that runs out of memory when a test says so.
#pragma once

#include <climits>

namespace fakes {

/// While it lives, the n-th and every later allocation of this thread fails, but for those under a
/// SparedMemory.  Does nothing under a sanitizer, which has an allocator of its own.
class FailingMemory {
 public:
    explicit FailingMemory(long allocations);
    FailingMemory(const FailingMemory&) = delete;
    FailingMemory& operator=(const FailingMemory&) = delete;
    ~FailingMemory();
    [[nodiscard]] static bool works();
    /// Whether any allocation has failed.
    [[nodiscard]] bool has_failed() const;
    /// How many allocations there have been.
    [[nodiscard]] long count() const;

 private:
    long allocations_;
};

/// While it lives, allocations succeed: a fake daemon's own bookkeeping never runs out of memory.
class SparedMemory {
 public:
    SparedMemory();
    SparedMemory(const SparedMemory&) = delete;
    SparedMemory& operator=(const SparedMemory&) = delete;
    ~SparedMemory();

 private:
    long left_;
};

}  // namespace fakes
