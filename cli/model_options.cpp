#include "model_options.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "job/quantity.hpp"
#include "policy/load_policy.hpp"
#include "training/hf_config.hpp"

namespace railhead::cli {

namespace {

/// railhead-catalog.toml beside slurm.conf, as railhead.toml is.
std::string site_catalogue() {
    const auto slurm_conf = own_variable("SLURM_CONF").value_or("/etc/slurm/slurm.conf");
    return policy::beside(slurm_conf, "railhead-catalog.toml");
}

/// Adds a file to the catalogue; prints what is wrong with it.
bool add_file(training::Catalogue& to, const std::string& path, Console& console) {
    const auto text = read_file(path);
    if (!text) {
        console.fail(text.error());
        return false;
    }
    const auto errors = training::add_to_catalogue(to, *text, path);
    for (const auto& error : errors) {
        console.fail(error);
    }
    return errors.empty();
}

/// An option that gives a size, and where it goes.
struct SizeOption {
    std::string_view name;
    const std::optional<std::string>& text;
    std::uint64_t& to;
};

Result<void> read_size(const SizeOption& option) {
    if (!option.text) {
        return {};
    }
    const auto amount = job::parse_amount(*option.text);
    constexpr double most = 1e12;
    if (!amount || *amount < 0 || *amount > most || *amount != std::floor(*amount)) {
        return fail(Errc::bad_input,
                    fmt::format("{} \"{}\" is no size: a whole number such as 4096", option.name,
                                printable(*option.text)));
    }
    option.to = static_cast<std::uint64_t>(*amount);
    return {};
}

Result<void> read_experts(const ModelOptions& options, training::Shape& to) {
    auto experts = to.experts.value_or(training::Experts{});
    const std::array sizes{
        SizeOption{"--experts", options.experts, experts.count},
        SizeOption{"--active-experts", options.active_experts, experts.active},
        SizeOption{"--shared-experts", options.shared_experts, experts.shared},
        SizeOption{"--expert-ffn", options.expert_ffn, experts.ffn},
        SizeOption{"--dense-layers", options.dense_layers, experts.dense_layers}};
    bool said = false;
    for (const auto& size : sizes) {
        if (auto right = read_size(size); !right) {
            return right;
        }
        said = said || size.text;
    }
    if (said) {
        to.experts = experts;
    }
    return {};
}

Result<void> read_sizes(const ModelOptions& options, training::Shape& to) {
    for (const auto& size :
         {SizeOption{"--layers", options.layers, to.layers},
          SizeOption{"--hidden", options.hidden, to.hidden},
          SizeOption{"--heads", options.heads, to.heads},
          SizeOption{"--kv-heads", options.kv_heads, to.key_value_heads},
          SizeOption{"--head", options.head, to.head}, SizeOption{"--ffn", options.ffn, to.ffn},
          SizeOption{"--vocabulary", options.vocabulary, to.vocabulary},
          SizeOption{"--sequence", options.sequence, to.sequence},
          SizeOption{"--window", options.window, to.window},
          SizeOption{"--mtp-layers", options.mtp_layers, to.mtp_layers}}) {
        if (auto right = read_size(size); !right) {
            return right;
        }
    }
    if (options.window) {
        to.window_layers = to.window == 0 ? 0 : to.layers;
    }
    return read_experts(options, to);
}

Result<void> read_words(const ModelOptions& options, training::Shape& to) {
    if (options.mlp) {
        if (*options.mlp != "plain" && *options.mlp != "gated") {
            return fail(Errc::bad_input, fmt::format("--mlp \"{}\" is neither plain nor gated",
                                                     printable(*options.mlp)));
        }
        to.mlp = *options.mlp == "plain" ? training::Mlp::plain : training::Mlp::gated;
    }
    if (options.tied) {
        to.tied = true;
    }
    if (options.parameters) {
        to.parameters = job::parse_amount(*options.parameters);
        if (!to.parameters || !(*to.parameters > 0)) {
            return fail(Errc::bad_input, fmt::format("--params \"{}\" is no count: 70B, 6.7e9",
                                                     printable(*options.parameters)));
        }
    }
    return {};
}

Result<training::Shape> named_model(const ModelOptions& options,
                                    const training::Catalogue& catalogue) {
    if (!options.hf_config.empty()) {
        auto text = read_file(options.hf_config);
        if (!text) {
            return propagate(text);
        }
        return training::parse_hf_config(*text, options.hf_config);
    }
    if (!options.name.empty()) {
        auto model = training::find_model(catalogue, options.name);
        if (!model) {
            return propagate(model);
        }
        return **model;
    }
    training::Shape shape;
    shape.source = "the command line";
    return shape;
}

}  // namespace

void add_catalog_option(CLI::App& command, std::vector<std::string>& files) {
    command
        .add_option("--catalog", files,
                    "Rows more, or other values: TOML as in config/catalogue; may be repeated")
        ->expected(1)
        ->take_all();
}

std::optional<training::Catalogue> read_catalogue(const std::vector<std::string>& files,
                                                  Console& console) {
    auto catalogue = training::built_in_catalogue();
    const auto said = own_variable("RAILHEAD_CATALOG");
    const auto site = said.value_or(site_catalogue());
    const bool is_there = stamp_of(site) != FileStamp{};
    bool right = (!said && !is_there) || add_file(catalogue, site, console);
    for (const auto& file : files) {
        right = add_file(catalogue, file, console) && right;
    }
    return right ? std::optional{std::move(catalogue)} : std::nullopt;
}

void add_model_options(CLI::App& command, ModelOptions& options) {
    const std::string group = "The model, where it is not one of the catalogue";
    const auto add = [&](const char* name, auto& to, const char* help) {
        command.add_option(name, to, help)->group(group);
    };
    add("--hf-config", options.hf_config, "config.json of Hugging Face");
    add("--layers", options.layers, "Layers");
    add("--hidden", options.hidden, "Width of a layer");
    add("--heads", options.heads, "Heads of attention");
    add("--kv-heads", options.kv_heads, "Heads of keys and values (default: as --heads)");
    add("--head", options.head, "Width of a head (default: --hidden / --heads)");
    add("--ffn", options.ffn, "Width of the MLP");
    add("--mlp", options.mlp, "plain: two matrices; gated: three (default)");
    add("--vocabulary", options.vocabulary, "Tokens of the vocabulary");
    add("--sequence", options.sequence, "Tokens of a sequence");
    add("--window", options.window, "Tokens that attention reaches back, in all layers");
    add("--experts", options.experts, "Experts of a layer");
    add("--active-experts", options.active_experts, "Experts that a token goes through");
    add("--shared-experts", options.shared_experts, "Experts that every token goes through");
    add("--expert-ffn", options.expert_ffn, "Width of one expert");
    add("--dense-layers", options.dense_layers, "Layers that have an MLP instead of experts");
    add("--mtp-layers", options.mtp_layers, "Layers more that predict further tokens");
    add("--params", options.parameters, "Parameters of the 6N formulas, in place of those counted");
    command.add_flag("--tied", options.tied, "The output matrix is the embedding")->group(group);
}

bool says_model(const ModelOptions& options) {
    const std::array texts{&options.layers,
                           &options.hidden,
                           &options.heads,
                           &options.kv_heads,
                           &options.head,
                           &options.ffn,
                           &options.vocabulary,
                           &options.sequence,
                           &options.window,
                           &options.experts,
                           &options.active_experts,
                           &options.shared_experts,
                           &options.expert_ffn,
                           &options.dense_layers,
                           &options.mtp_layers,
                           &options.parameters,
                           &options.mlp};
    bool said = !options.hf_config.empty() || options.tied;
    for (const auto* text : texts) {
        said = said || text->has_value();
    }
    return said;
}

Result<training::Shape> read_model(const ModelOptions& options,
                                   const training::Catalogue& catalogue) {
    if (!options.hf_config.empty() && !options.name.empty()) {
        return fail(Errc::bad_input, "a model of the catalogue and --hf-config: say one of them");
    }
    auto shape = named_model(options, catalogue);
    if (!shape) {
        return shape;
    }
    for (const auto& read : {read_sizes, read_words}) {
        if (auto right = read(options, *shape); !right) {
            return propagate(right);
        }
    }
    return shape;
}

}  // namespace railhead::cli
