// railhead policy test DIR: whether a folder of scripts is still reviewed as the site expects.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "output_file.hpp"
#include "policy/load.hpp"
#include "report/diff.hpp"
#include "report/junit.hpp"
#include "report/policy_test.hpp"

namespace railhead::cli {

namespace {

using report::TestCase;

struct Options {
    policy::Places places;
    std::string folder;
    std::string junit;
    bool update = false;
};

/// The names in a folder, each without ".sbatch", ".expected" or ".options"; sorted.
struct Names {
    std::vector<std::string> scripts, expected, options;
};

Result<Names> list(const std::string& folder) {
    Names names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator{folder, error}) {
        const auto& path = entry.path();
        const auto extension = path.extension();
        auto* const to = extension == ".sbatch"     ? &names.scripts
                         : extension == ".expected" ? &names.expected
                         : extension == ".options"  ? &names.options
                                                    : nullptr;
        if (to != nullptr) {
            to->push_back(path.stem().string());
        }
    }
    if (error) {
        return fail(Errc::not_found,
                    fmt::format("cannot look into \"{}\": {}", folder, error.message()));
    }
    for (auto* some : {&names.scripts, &names.expected, &names.options}) {
        std::ranges::sort(*some);
    }
    return names;
}

/// A text that need not be there.
Result<std::optional<std::string>> read_if_there(const std::string& path) {
    auto text = read_file(path);
    if (text) {
        return std::move(*text);
    }
    if (text.error().code == Errc::not_found) {
        return std::nullopt;
    }
    return propagate(text);
}

class Tester {
 public:
    Tester(const Options& options, const policy::Site& site, Console& console)
        : options_{options}, site_{site}, console_{console} {}

    /// Runs every script and tells each result; fails on a file that cannot be read or written.
    Result<> run(const Names& names) {
        for (const auto& name : names.scripts) {
            if (auto done = test(name); !done) {
                return done;
            }
        }
        tell_orphans(names.expected, ".expected", names.scripts);
        tell_orphans(names.options, ".options", names.scripts);
        const auto failed =
            std::ranges::count_if(cases_, [](const TestCase& c) { return !c.failure.empty(); });
        console_.out << fmt::format("\n{}: {} as expected, {} not\n",
                                    count_of(names.scripts.size(), "script"), passed_, failed);
        if (failed > 0) {
            console_.leave(Exit::findings);
        }
        return {};
    }

    [[nodiscard]] const std::vector<TestCase>& cases() const { return cases_; }

 private:
    [[nodiscard]] std::string path(const std::string& name, std::string_view extension) const {
        return fmt::format("{}/{}{}", options_.folder, name, extension);
    }

    Result<> test(const std::string& name) {
        const auto script = read_file(path(name, ".sbatch"));
        const auto options = read_if_there(path(name, ".options"));
        const auto expected = read_if_there(path(name, ".expected"));
        for (const auto* error :
             {script ? nullptr : &script.error(), options ? nullptr : &options.error(),
              expected ? nullptr : &expected.error()}) {
            if (error != nullptr) {
                return tl::unexpected{*error};
            }
        }
        auto submission = report::parse_submission(options->value_or(""), name + ".options");
        if (!submission) {
            return propagate(submission);
        }
        const auto actual = report::reviewed_text(name + ".sbatch", *script, *submission, site_);
        if (*expected == actual) {
            pass(name, "ok");
            return {};
        }
        if (options_.update) {
            pass(name, "written");
            return write_file(path(name, ".expected"), actual);
        }
        fail_test(name, *expected, actual);
        return {};
    }

    void pass(const std::string& name, std::string_view word) {
        console_.out << fmt::format("{:<8}{}.sbatch\n", word, printable(name));
        cases_.push_back({name + ".sbatch", {}, {}});
        ++passed_;
    }

    void fail_test(const std::string& name, const std::optional<std::string>& expected,
                   const std::string& actual) {
        const auto file = name + ".expected";
        auto failure = expected ? fmt::format("differs from {}", file)
                                : fmt::format("there is no {}: write it with --update", file);
        tell(name + ".sbatch", std::move(failure),
             report::unified_diff(expected ? file : "/dev/null", expected.value_or(""),
                                  "the review", actual));
    }

    void tell_orphans(const std::vector<std::string>& names, std::string_view extension,
                      const std::vector<std::string>& scripts) {
        for (const auto& name : names) {
            if (!std::ranges::binary_search(scripts, name)) {
                tell(fmt::format("{}{}", name, extension),
                     fmt::format("there is no {}.sbatch", name), {});
            }
        }
    }

    /// Tells one failure; the details stand below it, indented.
    void tell(std::string name, std::string failure, std::string details) {
        console_.out << fmt::format("{:<8}{}: {}\n", "FAILED", printable(name), printable(failure));
        for (const auto line : split(trim(details), '\n')) {
            console_.out << (line.empty() ? "" : fmt::format("  {}\n", printable(line)));
        }
        cases_.push_back({std::move(name), std::move(failure), std::move(details)});
    }

    const Options& options_;
    const policy::Site& site_;
    Console& console_;
    std::vector<TestCase> cases_;
    std::size_t passed_ = 0;
};

/// Files of the folder, where it has them and none was named.
policy::Places places_of(const Options& options) {
    auto places = options.places;
    const auto use = [&](std::string& place, std::string_view name) {
        auto path = fmt::format("{}/{}", options.folder, name);
        if (place.empty() && std::filesystem::exists(path)) {
            place = std::move(path);
        }
    };
    use(places.policy, "railhead.toml");
    use(places.slurm_conf_said, "slurm.conf");
    use(places.topology, "topology.yaml");
    use(places.topology, "topology.conf");
    const auto otherwise = policy::default_places();
    places.slurm_conf = otherwise.slurm_conf;
    if (places.policy.empty()) {
        places.policy = otherwise.policy;
    }
    return places;
}

/// The site of the test.  A policy without its cluster would leave every job as it is, and the
/// test would prove nothing: that is an error here.
Result<std::shared_ptr<const policy::Site>> load_site(const policy::Places& places,
                                                      Console& console) {
    auto loaded = policy::load(places, std::nullopt);
    for (const auto& warning : loaded.warnings) {
        console.warn(warning);
    }
    if (!loaded.errors.empty()) {
        for (std::size_t i = 0; i + 1 < loaded.errors.size(); ++i) {
            console.fail(loaded.errors[i]);
        }
        return tl::unexpected{loaded.errors.back()};
    }
    if (loaded.absent) {
        return fail(Errc::not_found,
                    fmt::format("there is no policy \"{}\": put railhead.toml into "
                                "the folder, or name one with --policy",
                                loaded.policy_path));
    }
    if (loaded.degraded) {
        return fail(Errc::bad_input,
                    "the cluster's files could not be read (see above): jobs "
                    "would be left as they are");
    }
    return std::move(loaded.site);
}

void run(const Options& options, Console& console) {
    const auto names = list(options.folder);
    if (!names) {
        return console.fail(names.error());
    }
    if (names->scripts.empty()) {
        return console.fail(
            {Errc::not_found,
             fmt::format("no *.sbatch is in \"{}\": nothing to test", options.folder),
             {}});
    }
    const auto site = load_site(places_of(options), console);
    if (!site) {
        return console.fail(site.error());
    }
    Tester tester{options, **site, console};
    if (const auto done = tester.run(*names); !done) {
        return console.fail(done.error());
    }
    if (!options.junit.empty()) {
        if (const auto done = write_file(options.junit,
                                         report::junit_xml("railhead policy test", tester.cases()));
            !done) {
            console.fail(done.error());
        }
    }
}

}  // namespace

void add_policy(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* policy = app.add_subcommand("policy", "Tests of the site's policy");
    policy->require_subcommand(1);
    auto* test = policy->add_subcommand(
        "test", "Whether a folder of scripts is reviewed as its .expected files say");
    test->add_option("--policy", options->places.policy, "Policy (default: railhead.toml in DIR)");
    test->add_option("--slurm-conf", options->places.slurm_conf_said,
                     "slurm.conf (default: in DIR)");
    test->add_option("--topology", options->places.topology, "topology.conf (default: in DIR)");
    test->add_flag("--update", options->update, "Write the .expected files anew");
    test->add_option("--junit", options->junit,
                     "Also write the results to this file, as JUnit XML");
    test->add_option("dir", options->folder, "The folder: NAME.sbatch, NAME.expected, NAME.options")
        ->required();
    test->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
