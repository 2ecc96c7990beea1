#include "checkpoint/cost.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace railhead::checkpoint {

namespace {

bool is_positive(double value) {
    return value > 0 && std::isfinite(value);
}

}  // namespace

Result<double> write_bandwidth(const Store& store) {
    if (!is_positive(store.bytes_per_s)) {
        return fail(Errc::bad_input, fmt::format("a write bandwidth of {:g} bytes a second: it has "
                                                 "to be more than 0",
                                                 store.bytes_per_s));
    }
    if (store.node_bytes_per_s != 0 && !is_positive(store.node_bytes_per_s)) {
        return fail(Errc::bad_input, fmt::format("a write bandwidth of {:g} bytes a second and "
                                                 "node: it has to be more than 0",
                                                 store.node_bytes_per_s));
    }
    if (store.node_bytes_per_s != 0 && store.nodes == 0) {
        return fail(Errc::bad_input,
                    "a bandwidth of each node counts only where the number of nodes is known");
    }
    if (store.writers == 0) {
        return fail(Errc::bad_input, "0 jobs write at the same time: this one is one");
    }
    const auto share = store.bytes_per_s / static_cast<double>(store.writers);
    return store.node_bytes_per_s == 0
               ? share
               : std::min(share, store.node_bytes_per_s * static_cast<double>(store.nodes));
}

Result<double> write_time_s(double bytes, const Store& store) {
    if (!is_positive(bytes)) {
        return fail(Errc::bad_input,
                    fmt::format("a checkpoint of {:g} bytes: it has to be more than 0", bytes));
    }
    return write_bandwidth(store).map([&](double bandwidth) { return bytes / bandwidth; });
}

Blocking divide_write(double write_s, double stall_s) {
    return {stall_s, std::max(0.0, write_s - stall_s)};
}

}  // namespace railhead::checkpoint
