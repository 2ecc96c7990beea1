// What `railhead diagnose` is told of a run on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "diagnose/checklist.hpp"
#include "diagnose/intake.hpp"
#include "model_options.hpp"
#include "training/catalogue.hpp"

namespace railhead::cli {

struct DiagnoseOptions {
    std::vector<std::string> files;
    std::string baseline, accelerator, nic, precision, recompute;
    std::optional<std::string> mfu, batch;
    std::optional<std::uint64_t> gpus, gpus_per_node, nics, tp, pp, microbatches;
    std::vector<std::string> catalogs;
    ModelOptions model;
    bool json = false;
};

/// Adds the hardware and the layout of a run, --accelerator to --recompute, as far as `diagnose` and
/// `gate` both ask for them.
void add_run_options(CLI::App& command, DiagnoseOptions& options, const std::string& group);

/// "22", "22 %" or "22%" as a share.  Fails with `bad_input` where it is none of 1 to 99.9...
[[nodiscard]] Result<double> read_mfu(const std::string& text);

/// What was said of the hardware and of the run; what was not said is left out.  Fails with
/// `bad_input` or `not_found`, naming the option.
[[nodiscard]] Result<diagnose::ChecklistQuestion> read_run(const DiagnoseOptions& options,
                                                           const training::Catalogue& catalogue);

/// The same for logs.  --mfu is none of it: logs have their own.
[[nodiscard]] Result<diagnose::Given> read_given(const DiagnoseOptions& options,
                                                 const diagnose::ChecklistQuestion& question,
                                                 const training::Catalogue& catalogue);

}  // namespace railhead::cli
