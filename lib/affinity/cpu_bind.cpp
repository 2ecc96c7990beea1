#include "affinity/cpu_bind.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace railhead::affinity {

namespace {

using Words = std::initializer_list<std::string_view>;

bool contains(Words words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

/// Whether the option that `word` begins with is --`name`, with "-" or "_", cut short as getopt
/// allows: down to what no other option of srun begins with.
bool is_option(std::string_view word, std::string_view name) {
    constexpr std::size_t shortest = std::string_view{"cpu-b"}.size();
    if (!word.starts_with("--")) {
        return false;
    }
    std::string given{word.substr(2, word.find('=') - 2)};
    std::ranges::replace(given, '_', '-');
    return given.size() >= shortest && name.starts_with(given);
}

/// Whether the word after this one may be its value: not after "--name=value" and "-n16".
bool may_take_value(std::string_view word) {
    constexpr std::string_view with_value{"nNcGpt"};
    if (!word.starts_with('-') || word == "--") {
        return false;
    }
    return word.starts_with("--")
               ? word.find('=') == std::string_view::npos
               : word.size() <= 2 || with_value.find(word[1]) == std::string_view::npos;
}

/// Whether the program has begun at `word`: it is neither an option of srun's nor the value of one.
/// In doubt it has not.
bool is_past_options(std::string_view before, std::string_view word) {
    return !may_take_value(before) && (word == "--" || !word.starts_with('-'));
}

/// Whether srun's option --`name` has a value that `binds`.
bool command_binds(std::string_view command_line, std::string_view name,
                   bool (*binds)(std::string_view)) {
    const auto words = split(command_line, '\0');
    bool in_options = true;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const auto word = words[i];
        if (word == ":") {  // srun's options for the next component of a heterogeneous step
            in_options = true;
            continue;
        }
        in_options = in_options && !is_past_options(words[i - 1], word);
        if (!in_options || !is_option(word, name)) {
            continue;
        }
        const auto equals = word.find('=');
        const auto value = equals != std::string_view::npos ? word.substr(equals + 1)
                           : i + 1 < words.size()           ? words[i + 1]
                                                            : std::string_view{};
        if (binds(value)) {
            return true;
        }
    }
    return false;
}

bool names_any(std::string_view text, Words modes) {
    return std::ranges::any_of(
        modes, [&](std::string_view mode) { return text.find(mode) != std::string_view::npos; });
}

}  // namespace

bool binds_tasks(std::string_view value) {
    return !contains({"", "v", "verbose", "q", "quiet"}, value);
}

bool binds_memory(std::string_view value) {
    return std::ranges::any_of(split(value, ','), [](std::string_view word) {
        return binds_tasks(word) && !contains({"sort", "nosort"}, word);
    });
}

bool command_binds_tasks(std::string_view command_line) {
    return command_binds(command_line, "cpu-bind", &binds_tasks);
}

bool command_binds_memory(std::string_view command_line) {
    return command_binds(command_line, "mem-bind", &binds_memory);
}

bool variables_bind_tasks(std::string_view type, std::string_view list) {
    return names_any(type, {"none", "rank", "map_", "mask_"}) || (!type.empty() && !list.empty());
}

bool variables_bind_memory(std::string_view type) {
    return names_any(type, {"none", "rank", "local", "map_", "mask_"});
}

}  // namespace railhead::affinity
