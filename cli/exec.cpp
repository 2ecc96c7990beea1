// railhead exec: binds a launcher's process as RAILHEAD_GPU_MAP says, then becomes its command.
//
// It stands between a user and his job, so it never stops that: whatever is missing is said once
// and the command runs as it would without us.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tl/expected.hpp>

#include "affinity/own_mask.hpp"
#include "affinity/own_memory.hpp"
#include "base/environment.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "gpu_map.hpp"
#include "local_rank.hpp"
#include "rank_binding.hpp"
#include "rank_place.hpp"
#include "report/table.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::string local_rank_from;
    bool verbose = false;
    bool dry_run = false;
    std::vector<std::string> command;
};

/// Where this process belongs, and who it is among its like.
struct Found {
    GpuPlace place;
    std::optional<LocalRank> rank;  ///< absent where the visible device told
};

/// Why it has no place.
struct Trouble {
    Error error;
    std::optional<unsigned> first{};  ///< the first local rank that has it, where that can be told
    bool is_wish = false;             ///< it is to have no GPU
};

std::optional<std::string> lookup(std::string_view name) {
    return own_variable(std::string{name});
}

tl::expected<Found, Trouble> find(const Options& options) {
    const VisibleLists visible{own_variable("CUDA_VISIBLE_DEVICES"),
                               own_variable("ROCR_VISIBLE_DEVICES"),
                               own_variable("HIP_VISIBLE_DEVICES")};
    if (const auto empty = find_empty_list(visible)) {
        return tl::unexpected{Trouble{{Errc::not_found, *empty + " gives no GPU", {}}, {}, true}};
    }
    const auto text = own_variable("RAILHEAD_GPU_MAP");
    const auto map =
        text ? parse_gpu_map(*text)
             : Result<std::vector<GpuPlace>>{fail(Errc::not_found, "there is no RAILHEAD_GPU_MAP")};
    if (!map) {
        return tl::unexpected{Trouble{map.error(), 0}};
    }
    auto rank = find_local_rank(options.local_rank_from, &lookup);
    auto place = find_place(*map, rank, visible);
    if (!place) {
        auto first = first_without_place(*map, visible);
        if (first && !rank) {
            first = 0;  // then none of them has a rank
        }
        return tl::unexpected{Trouble{std::move(place.error()), first}};
    }
    return Found{std::move(*place), rank ? std::optional{std::move(*rank)} : std::nullopt};
}

std::string who(const std::optional<LocalRank>& rank) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const auto node = own_variable("SLURMD_NODENAME").value_or(host.data());
    return rank ? fmt::format("node {} local rank {} ({})", node, rank->rank, rank->variable)
                : fmt::format("node {} process {}", node, ::getpid());
}

/// Binds this process; what the kernel refuses is said, and noted in `binding`.
void apply(RankBinding& binding, const CpuSet& mask, Console& console) {
    if (!binding.wanted.empty()) {
        if (const auto done = affinity::write_own_mask(binding.wanted); !done) {
            console.warn(done.error());
            keep_mask(binding, mask, done.error().message);
        }
    }
    if (!binding.memory.nodes.empty()) {
        if (const auto done = affinity::write_own_memory(binding.memory); !done) {
            console.warn(done.error());
            keep_memory(binding, done.error().message);
        }
    }
}

/// `line` in 80 columns, broken at blanks and within long lists of CPUs.
std::string folded(const std::string& line) {
    constexpr std::size_t width = 76;  // and four blanks before each further line
    constexpr std::size_t longest_word = 60;
    std::string text;
    for (const auto word : split_words(line)) {
        text.append(text.empty() ? "" : " ");
        text.append(word.size() > longest_word ? report::breakable_list(word, longest_word)
                                               : std::string{word});
    }
    return fmt::format("{}\n", fmt::join(report::wrap(text, width), "\n    "));
}

void serve(const Found& found, const Options& options, Console& console) {
    const auto mask = affinity::read_own_mask().value_or(CpuSet{});
    auto binding = plan_binding(found.place, mask, affinity::read_allowed_memory());
    if (!options.dry_run) {
        apply(binding, mask, console);
        for (const auto& [name, value] : variables_of(found.place, binding, &lookup)) {
            ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
        }
    }
    const auto line =
        "railhead: " + printable(to_string(line_of(who(found.rank), found.place, binding)));
    if (options.dry_run) {
        console.out << folded(line);
    } else if (options.verbose) {
        console.err << line + '\n';  // one write, or the lines of the node's processes mix
    }
}

/// Of many processes that all lack something the first of the node speaks; where a process cannot
/// tell whether it is that, it does.
bool speaks(const Trouble& trouble, const Options& options) {
    if (options.verbose || options.dry_run || trouble.is_wish) {
        return options.verbose || options.dry_run;
    }
    const auto own = find_local_rank(options.local_rank_from, &lookup);
    const auto rank = own ? std::optional{own->rank} : find_readable_rank(&lookup);
    return !rank || !trouble.first || *rank == *trouble.first;
}

/// Becomes the command; comes back only with what a shell would answer where it cannot.
int become(const std::vector<std::string>& command, Console& console) {
    constexpr int cannot_run = 126;
    constexpr int not_there = 127;
    std::vector<char*> words;
    for (const auto& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    console.out.flush();
    ::execvp(words[0], words.data());
    const int reason = errno;
    console.err << fmt::format("railhead: exec: cannot run \"{}\": {}\n", printable(command[0]),
                               std::generic_category().message(reason));
    return reason == ENOENT ? not_there : cannot_run;
}

void run(const Options& options, Console& console) {
    if (options.command.empty() && !options.dry_run) {
        return console.fail({Errc::bad_input, "exec: no command (railhead exec -- COMMAND)", {}});
    }
    const auto found = find(options);
    if (found) {
        serve(*found, options, console);
    } else if (speaks(found.error(), options)) {
        console.err << fmt::format(
            "railhead: exec: {}: {} is not bound\n", printable(to_string(found.error().error)),
            options.command.empty() ? "this process" : printable(options.command[0]));
    }
    if (!options.dry_run) {
        console.leave(become(options.command, console));
    }
}

}  // namespace

std::vector<std::string> cut_command(std::vector<std::string>& arguments) {
    if (arguments.empty() || arguments[0] != "exec") {
        return {};
    }
    auto word = arguments.begin() + 1;
    while (word != arguments.end() && word->starts_with('-') && *word != "--") {
        const bool has_value = *word == "--local-rank-from" && word + 1 != arguments.end();
        word += has_value ? 2 : 1;
    }
    const auto first = word != arguments.end() && *word == "--" ? word + 1 : word;
    std::vector<std::string> command{first, arguments.end()};
    arguments.erase(word, arguments.end());
    return command;
}

void add_exec(CLI::App& app, Console& console, std::vector<std::string> words) {
    auto options = std::make_shared<Options>();
    options->command = std::move(words);
    auto* command = app.add_subcommand(
        "exec", "Binds a process of torchrun or mpirun to its GPU's CPUs, memory and NIC");
    command->add_option("--local-rank-from", options->local_rank_from,
                        "The variable that has the local rank");
    command->add_flag("--verbose", options->verbose, "Say what this process is given");
    command->add_flag("--dry-run", options->dry_run, "Say it and do nothing");
    command->footer("railhead exec [OPTIONS] -- COMMAND [ARGUMENT ...]");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
