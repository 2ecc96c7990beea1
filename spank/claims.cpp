#include "claims.hpp"

#include <sys/mman.h>

namespace railhead::spank {

Claims::Claims(std::size_t gpus) : count_{gpus} {
    void* page = ::mmap(nullptr, (count_ + 1) * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);  // zeroes: nobody
    slots_ = page == MAP_FAILED ? nullptr : static_cast<Slot*>(page);
}

Claims::~Claims() {
    if (slots_ != nullptr) {
        ::munmap(slots_, (count_ + 1) * sizeof(Slot));
    }
}

std::optional<std::uint32_t> Claims::claim(std::size_t gpu, std::uint32_t task) const {
    if (slots_ == nullptr || gpu >= count_) {
        return std::nullopt;
    }
    std::uint32_t holder = 0;
    if (std::atomic_ref{slots_[gpu]}.compare_exchange_strong(holder, task + 1) ||
        holder == task + 1) {
        return std::nullopt;
    }
    return std::atomic_ref{slots_[count_]}.exchange(1) == 0 ? std::optional{holder - 1}
                                                            : std::nullopt;
}

}  // namespace railhead::spank
