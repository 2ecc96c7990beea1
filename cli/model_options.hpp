// Which model a command is about: one of the catalogue, a config.json, or sizes that were typed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "command.hpp"
#include "training/catalogue.hpp"

namespace railhead::cli {

/// Adds --catalog, which may be said more than once.
void add_catalog_option(CLI::App& command, std::vector<std::string>& files);

/// The built-in catalogue, then the site's: the file that RAILHEAD_CATALOG names, else
/// railhead-catalog.toml beside slurm.conf where there is one; then `files`.  Later ones win.  Prints
/// every error of a file.
[[nodiscard]] std::optional<training::Catalogue> read_catalogue(
    const std::vector<std::string>& files, Console& console);

/// What was said of a model.
struct ModelOptions {
    std::string name, hf_config;
    std::optional<std::string> layers, hidden, heads, kv_heads, head, ffn, vocabulary, sequence,
        window, experts, active_experts, shared_experts, expert_ffn, dense_layers, mtp_layers,
        parameters, mlp;
    bool tied = false;
};

/// Adds --hf-config and an option for each size.
void add_model_options(CLI::App& command, ModelOptions& options);

/// Whether any of the options was said.
[[nodiscard]] bool says_model(const ModelOptions& options);

/// The model named, or that of the config.json, with the sizes that were said in place of its own;
/// without either, the sizes alone.  Fails with `not_found` or `bad_input`, naming the option.
[[nodiscard]] Result<training::Shape> read_model(const ModelOptions& options,
                                                 const training::Catalogue& catalogue);

}  // namespace railhead::cli
