#include "checkpoint/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::checkpoint {

namespace {

constexpr std::array<Recipe, 7> all_recipes{{
    {"adam-mixed", 2, 2, 12, "16-bit weights; fp32 master weights, Adam's m and v"},
    {"adam-mixed-fp32-grads", 2, 4, 12, "the same with fp32 gradients, as Megatron-LM has them"},
    {"adam-mixed-grad-copies", 2, 6, 12, "the same with 16-bit and fp32 gradients"},
    {"adam-fp32", 4, 4, 8, "fp32 weights; Adam's m and v"},
    {"adam-8bit", 2, 2, 6, "16-bit weights; fp32 master weights, m and v of 8 bits"},
    {"sgd-mixed", 2, 2, 8, "16-bit weights; fp32 master weights and momentum"},
    {"sgd-fp32", 4, 4, 4, "fp32 weights; momentum"},
}};

bool is_positive(double value) {
    return value > 0 && std::isfinite(value);
}

}  // namespace

std::span<const Recipe> recipes() {
    return all_recipes;
}

const Recipe* find_recipe(std::string_view name) {
    const auto at = std::ranges::find_if(
        all_recipes, [&](const auto& recipe) { return equals_ignoring_case(recipe.name, name); });
    return at == all_recipes.end() ? nullptr : &*at;
}

const Recipe& usual_recipe() {
    return all_recipes.front();
}

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
