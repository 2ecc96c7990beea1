// How long the search for a layout takes.
//
//   layouts_bench [--repeats N]
//
// Llama 3 405B on 16,384 H100: the aim is 50 ms from the release preset.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "plan/layouts.hpp"
#include "plan/machine.hpp"
#include "training/catalogue.hpp"

int main(int argc, char** argv) {
    namespace plan = railhead::plan;
    namespace training = railhead::training;
    int repeats = 100;
    if (argc == 3 && std::string_view{argv[1]} == "--repeats") {
        repeats = std::max(1, std::atoi(argv[2]));
    }
    const auto& catalogue = training::built_in_catalogue();
    plan::MachineQuestion about;
    about.accelerator = training::find_accelerator(catalogue, "h100-sxm").value();
    const auto machine = plan::make_machine(about, catalogue).value();
    plan::LayoutQuestion question;
    question.shape = training::find_model(catalogue, "llama-3-405b").value();
    question.machine = &machine;
    question.recipe = training::find_recipe("adam-mixed-fp32-grads");
    question.gpus = 16384;
    question.batch = 2048;

    plan::LayoutSearch found;
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < repeats; ++round) {
        found = plan::search_layouts(question).value();
    }
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    fmt::print("llama-3-405b on 16384 h100-sxm: {:.2f} ms for {} layouts, {} fit\n",
               took.count() / repeats, found.grid, found.fitting);
    return found.ranked.empty() ? 1 : 0;
}
