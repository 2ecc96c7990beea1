#include "fakes/failing_memory.hpp"

#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RAILHEAD_OWN_MALLOC 0
#else
#define RAILHEAD_OWN_MALLOC 1
#endif

namespace {

thread_local long allocations_left = LONG_MAX;
thread_local bool allocation_failed = false;

}  // namespace

namespace fakes {

FailingMemory::FailingMemory(long allocations) : allocations_{allocations} {
    allocation_failed = false;
    allocations_left = allocations;
}

FailingMemory::~FailingMemory() {
    allocations_left = LONG_MAX;
}

bool FailingMemory::works() {
    return RAILHEAD_OWN_MALLOC != 0;
}

bool FailingMemory::has_failed() const {
    return allocation_failed;
}

long FailingMemory::count() const {
    return allocations_ - allocations_left;
}

SparedMemory::SparedMemory() : left_{allocations_left} {
    allocations_left = LONG_MAX;
}

SparedMemory::~SparedMemory() {
    allocations_left = left_;
}

}  // namespace fakes

#if RAILHEAD_OWN_MALLOC
extern "C" {
void* __libc_malloc(std::size_t size);  // glibc's own, behind the name that we take here

void* malloc(std::size_t size) {
    if (allocations_left != LONG_MAX && --allocations_left < 0) {
        allocation_failed = true;
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_malloc(size);
}
}
#endif
