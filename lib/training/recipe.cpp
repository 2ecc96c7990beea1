#include "training/recipe.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace railhead::training {

namespace {

constexpr std::string_view zero = "ZeRO, arXiv:1910.02054, section 3.1";
constexpr std::string_view megatron = "Megatron-LM, distributed optimizer, table of its docs";
constexpr std::string_view added_up = "the widths of its parts, added up";

constexpr std::array<Recipe, 7> all_recipes{{
    {"adam-mixed", 2, 2, 12, "16-bit weights; fp32 master weights, Adam's m and v", zero},
    {"adam-mixed-fp32-grads", 2, 4, 12,
     "16-bit weights, fp32 gradients; fp32 master weights, Adam's m and v", megatron},
    {"adam-mixed-grad-copies", 2, 6, 12,
     "16-bit weights, 16-bit and fp32 gradients; fp32 master weights, Adam's m and v", megatron, 4},
    {"adam-fp32", 4, 4, 8, "fp32 weights; Adam's m and v", megatron},
    {"adam-8bit", 2, 2, 6, "16-bit weights; fp32 master weights, m and v of 8 bits", added_up},
    {"sgd-mixed", 2, 2, 8, "16-bit weights; fp32 master weights and momentum", added_up},
    {"sgd-fp32", 4, 4, 4, "fp32 weights; momentum", added_up},
}};

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

}  // namespace railhead::training
