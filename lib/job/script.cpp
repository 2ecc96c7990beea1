#include "job/script.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/directives.hpp"
#include "job/exported.hpp"
#include "job/option_scan.hpp"
#include "job/request_builder.hpp"
#include "job/sbatch_options.hpp"

namespace railhead::job {

namespace {

using Options = std::vector<ScriptOption>;
using Environment = std::map<std::string, std::string>;

/// More components than any job has; sbatch's own limit is 128.
constexpr std::size_t max_components = 128;

/// Sets an option: an earlier one of the same name is gone, and the new one is the latest.
void put(Options& options, ScriptOption option) {
    const auto cancels = [&option](const ScriptOption& other) {
        const auto both = [&](std::string_view a, std::string_view b) {
            return (option.name == a && other.name == b) || (option.name == b && other.name == a);
        };
        return other.name == option.name || both("nodelist", "nodefile") ||
               both("gpu-bind", "tres-bind");
    };
    std::erase_if(options, cancels);
    options.push_back(std::move(option));
}

/// Whether a variable that stands for a flag sets it, as sbatch decides.
bool sets_flag(std::string_view value) {
    return value.empty() || equals_ignoring_case(value, "yes") ||
           parse_number<std::int64_t>(value).value_or(0) != 0;
}

const ScriptOption* find(const Options& options, std::string_view name) {
    const auto at = std::ranges::find(options, name, &ScriptOption::name);
    return at == options.end() ? nullptr : &*at;
}

/// Applies one variable.  One that takes a flag back leaves it as if nobody had set it.
Result<> apply_variable(const SbatchVariable& variable, const std::string& value,
                        Options& options) {
    ScriptOption option{std::string{variable.option}, value, ScriptOption::Source::environment, {}};
    const auto* known = find_option(variable.option);
    if (known != nullptr && known->argument == Argument::none) {
        option.value.clear();
        if (!sets_flag(value)) {
            std::erase_if(options, [&](const ScriptOption& o) { return o.name == option.name; });
            return {};
        }
    }
    if (auto fine = check_option(option); !fine) {
        fine.error().message =
            fmt::format("{} in the environment: {}", variable.variable, fine.error().message);
        return fine;
    }
    put(options, std::move(option));
    return {};
}

/// The interval that the job around this one was told: nobody's wish.
bool is_told(std::string_view option, const Environment& environment) {
    if (option != "ckpt-interval") {
        return false;
    }
    const auto source = environment.find("RAILHEAD_CKPT_FROM");
    return source != environment.end() && !source->second.empty() && source->second != "user";
}

/// Applies the SBATCH_* variables, which go before the script; RAILHEAD* go behind it.
Result<> apply_environment(const Environment& environment, Options& options) {
    for (const auto& variable : sbatch_variables()) {
        const auto set = environment.find(std::string{variable.variable});
        const bool is_ours = variable.variable.starts_with("RAILHEAD");
        if (set == environment.end() || is_told(variable.option, environment) ||
            (is_ours && (set->second.empty() || find(options, variable.option) != nullptr))) {
            continue;
        }
        if (auto done = apply_variable(variable, set->second, options); !done) {
            return done;
        }
    }
    return {};
}

Result<> apply_all(const Options& found, Options& options) {
    for (const auto& option : found) {
        if (auto fine = check_option(option); !fine) {
            return fine;
        }
        put(options, option);
    }
    return {};
}

/// Applies the #SBATCH words of one component.
Result<> apply_directives(std::span<const Word> words, Options& options,
                          std::vector<Error>& warnings) {
    auto scan = scan_options(words, ScriptOption::Source::script, warnings);
    if (!scan) {
        return propagate(scan);
    }
    if (scan->used < words.size()) {
        const auto& word = words[scan->used];
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is no option: sbatch refuses the script",
                                printable(word.text.substr(0, 60))),
                    word.where);
    }
    return apply_all(scan->options, options);
}

/// The command line: a ":" begins the options of the next component; when none follow, the last
/// ones hold for all components that are left.
class CommandLine {
 public:
    CommandLine(std::span<const std::string> arguments, std::vector<Error>& warnings)
        : warnings_{warnings} {
        for (const auto& argument : arguments) {
            words_.push_back({argument, {}});
        }
    }
    /// Applies the options of the present component.
    Result<> apply(Options& options);
    /// Goes on to the next component; whether one is named.
    bool advance();

 private:
    std::vector<Word> words_;
    std::vector<Error>& warnings_;
    std::size_t start_ = 0;
    std::size_t end_ = 0;
};

Result<> CommandLine::apply(Options& options) {
    const auto words = std::span{words_}.subspan(start_);
    auto scan = scan_options(words, ScriptOption::Source::command_line, warnings_);
    if (!scan) {
        return propagate(scan);
    }
    end_ = start_ + scan->used;
    if (end_ < words_.size() && words_[end_].text != ":") {
        return fail(Errc::bad_input, fmt::format("\"{}\" is no option of sbatch",
                                                 printable(words_[end_].text.substr(0, 60))));
    }
    return apply_all(scan->options, options);
}

bool CommandLine::advance() {
    if (end_ < words_.size() && words_[end_].text == ":") {
        start_ = end_ + 1;
        return true;
    }
    return false;
}

/// What a component inherits from the one before it.
Options carried(const Options& options) {
    Options kept;
    std::ranges::copy_if(options, std::back_inserter(kept), [](const ScriptOption& option) {
        const auto* known = find_option(option.name);
        return known != nullptr && known->carries;
    });
    return kept;
}

/// sbatch puts the hint of a component into its own environment, where the next one finds it.
void pass_hint_on(const Options& options, Environment& environment) {
    if (const auto* hint = find(options, "hint")) {
        environment["SLURM_HINT"] = hint->value;
    }
}

/// Reads one component: script, then environment, then command line.
Result<> read_component(std::span<const Word> words, Environment& environment,
                        CommandLine& command_line, Options& options, std::vector<Error>& warnings) {
    if (auto done = apply_directives(words, options, warnings); !done) {
        return done;
    }
    if (auto done = apply_environment(environment, options); !done) {
        return done;
    }
    if (auto done = command_line.apply(options); !done) {
        return done;
    }
    auto settled = settle_conflicts(options, warnings);
    pass_hint_on(options, environment);
    return settled;
}

/// What is said of checkpoints by variables alone.
void add_checkpoint_words(const Environment& environment, std::deque<std::string>& storage,
                          CheckpointWords& words) {
    const auto value = [&](const char* name) {
        const auto at = environment.find(name);
        return at == environment.end() ? std::string_view{}
                                       : std::string_view{storage.emplace_back(at->second)};
    };
    words.cost = value("RAILHEAD_CKPT_COST");
    words.step = value("RAILHEAD_CKPT_STEP");
    words.history = value("RAILHEAD_CKPT_FROM") == "history";
}

/// The last options of the command line may hold for several components: one message is enough.
void drop_repeated(std::vector<Error>& warnings) {
    std::set<std::string> seen;
    std::erase_if(warnings, [&seen](const Error& warning) {
        return !seen.insert(to_string(warning)).second;
    });
}

}  // namespace

Result<Script> parse_script(std::string_view text, const std::string& file,
                            std::span<const std::string> arguments,
                            const std::map<std::string, std::string>& environment) {
    Script script;
    auto directives = read_directives(text, file, script.warnings);
    if (!directives) {
        return propagate(directives);
    }
    auto storage = std::make_shared<std::deque<std::string>>();
    CommandLine command_line{arguments, script.warnings};
    Environment variables = environment;
    Options options;
    for (std::size_t i = 0;; ++i) {
        if (i == max_components) {
            return fail(Errc::bad_input, fmt::format("more than {} components", max_components));
        }
        const auto words = i < directives->size() ? std::span<const Word>{(*directives)[i]}
                                                  : std::span<const Word>{};
        auto read = read_component(words, variables, command_line, options, script.warnings);
        if (!read) {
            return propagate(read);
        }
        auto request = build_request(options, *storage, script.warnings);
        if (!request) {
            return propagate(request);
        }
        request->component = i > 0;
        add_checkpoint_words(variables, *storage, request->checkpoint);
        if (i == 0) {
            const auto* said = find(options, "export");
            script.environment = std::make_shared<const std::vector<const char*>>(
                exported(said != nullptr ? said->value : "", environment, *storage));
            request->script = storage->emplace_back(text);
        }
        request->environment = *script.environment;
        script.components.push_back({options, *request});
        if (!command_line.advance() && i + 1 >= directives->size()) {
            break;
        }
        options = carried(options);
    }
    for (auto& component : script.components) {
        component.request.heterogeneous = script.components.size() > 1;
    }
    drop_repeated(script.warnings);
    script.storage = std::move(storage);
    return script;
}

}  // namespace railhead::job
