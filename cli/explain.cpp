// railhead explain SCRIPT: what would become of this script at submission.
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "command.hpp"
#include "job/script.hpp"
#include "places.hpp"
#include "policy/load.hpp"
#include "report/explain.hpp"

namespace railhead::cli {

namespace {

struct Options {
    policy::Places places;
    std::string script;
    std::vector<std::string> sbatch_options;
    bool json = false;
};

void run(const Options& options, Console& console) {
    auto text = read_file(options.script);
    if (!text) {
        return console.fail(text.error());
    }
    auto script = job::parse_script(*text, options.script, options.sbatch_options,
                                    whole_environment());
    if (!script) {
        return console.fail(script.error());
    }
    const auto loaded = policy::load(options.places, std::nullopt);
    for (const auto& error : loaded.errors) {
        console.fail(error);
    }
    for (const auto& warning : loaded.warnings) {
        console.warn(warning);
    }
    for (const auto& warning : script->warnings) {
        console.warn(warning);
        if (warning.code == Errc::bad_input) {
            console.leave(Exit::findings);  // sbatch, or one release of it, would refuse the script
        }
    }
    if (loaded.absent) {
        return console.fail({Errc::not_found,
                             "there is no policy \"" + loaded.policy_path +
                                 "\": every job passes unchanged (name one with --policy)",
                             {}});
    }
    if (!loaded.site) {
        return;
    }
    const auto reviewed = report::review_script(std::move(*script), *loaded.site, std::time(nullptr));
    for (const auto& review : reviewed.reviews) {
        const bool nowhere = review.seen.partition.empty() && !review.off;
        if (review.refusal || nowhere) {
            console.leave(Exit::findings);
        }
    }
    const auto components = reviewed.components();
    console.out << (options.json
                        ? report::explain_json(options.script, components)
                        : report::explain_text(options.script, components, *loaded.site));
}

}  // namespace

void add_explain(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    options->places = policy::default_places();
    auto* command = app.add_subcommand("explain", "What would become of an sbatch script, and why");
    add_places(*command, options->places);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.explain/1");
    command->add_option("script", options->script, "The sbatch script")->required();
    command->add_option("options", options->sbatch_options, "Further sbatch options, after --");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
