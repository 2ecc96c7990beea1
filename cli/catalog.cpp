// railhead catalog: the accelerators, NICs and models that are known by name.
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "command.hpp"
#include "model_options.hpp"
#include "report/catalogue.hpp"
#include "training/catalogue.hpp"

namespace railhead::cli {

namespace {

constexpr std::array<std::string_view, 3> kinds{"accelerators", "nics", "models"};

struct Options {
    std::string kind, name;
    std::vector<std::string> catalogs;
    ModelOptions model;
    bool json = false;
};

Result<void> check_kind(const std::string& kind) {
    for (const auto known : kinds) {
        if (kind.empty() || kind == known) {
            return {};
        }
    }
    const auto near = nearest_name(kind, kinds);
    return fail(Errc::bad_input,
                near ? fmt::format("no part of the catalogue is named \"{}\", did you mean \"{}\"?",
                                   printable(kind), *near)
                     : fmt::format("no part of the catalogue is named \"{}\": accelerators, nics "
                                   "and models are",
                                   printable(kind)));
}

/// What was asked for, and nothing else, of the catalogue.
Result<training::Catalogue> select(const Options& options, const training::Catalogue& catalogue) {
    training::Catalogue selected;
    if (options.kind.empty()) {
        return catalogue;
    }
    if (options.kind == kinds[2] && (!options.name.empty() || says_model(options.model))) {
        auto model = options.model;
        model.name = options.name;
        auto shape = read_model(model, catalogue);
        if (!shape) {
            return propagate(shape);
        }
        if (auto right = training::check_shape(*shape); !right) {
            return propagate(right);
        }
        selected.models.push_back(std::move(*shape));
        return selected;
    }
    const auto take = [&](const auto& rows, auto& to, const auto& find) -> Result<void> {
        if (options.name.empty()) {
            to = rows;
            return {};
        }
        auto found = find(catalogue, options.name);
        if (!found) {
            return propagate(found);
        }
        to.push_back(**found);
        return {};
    };
    auto taken =
        options.kind == kinds[0]
            ? take(catalogue.accelerators, selected.accelerators, training::find_accelerator)
        : options.kind == kinds[1] ? take(catalogue.nics, selected.nics, training::find_nic)
                                   : take(catalogue.models, selected.models, training::find_model);
    if (!taken) {
        return propagate(taken);
    }
    return selected;
}

std::string all_text(const training::Catalogue& catalogue) {
    std::string text;
    const auto add = [&text](bool some, const std::string& part) {
        if (some) {
            text += (text.empty() ? "" : "\n") + part;
        }
    };
    add(!catalogue.accelerators.empty(), report::accelerators_text(catalogue));
    add(!catalogue.nics.empty(), report::nics_text(catalogue));
    add(!catalogue.models.empty(), report::models_text(catalogue));
    return text;
}

std::string one_text(const training::Catalogue& one) {
    return !one.accelerators.empty() ? report::accelerator_text(one.accelerators.front())
           : !one.nics.empty()       ? report::nic_text(one.nics.front())
                                     : report::model_text(one.models.front());
}

void run(const Options& options, Console& console) {
    if (const auto right = check_kind(options.kind); !right) {
        return console.fail(right.error());
    }
    if (says_model(options.model) && options.kind != kinds[2]) {
        return console.fail({Errc::bad_input, "sizes are those of a model: catalog models", {}});
    }
    const auto catalogue = read_catalogue(options.catalogs, console);
    if (!catalogue) {
        return;
    }
    const auto selected = select(options, *catalogue);
    if (!selected) {
        return console.fail(selected.error());
    }
    const bool one = !options.name.empty() || says_model(options.model);
    console.out << (options.json ? report::catalogue_json(*selected)
                    : one        ? one_text(*selected)
                                 : all_text(*selected));
}

}  // namespace

void add_catalog(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("catalog", "Accelerators, NICs and models known by name");
    command->add_option("kind", options->kind, "accelerators, nics or models (default: all)");
    command->add_option("name", options->name, "All of one: h100, ndr, llama-3-8b");
    add_catalog_option(*command, options->catalogs);
    add_model_options(*command, options->model);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.catalog/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
