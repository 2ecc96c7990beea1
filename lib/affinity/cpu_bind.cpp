#include "affinity/cpu_bind.hpp"

#include <algorithm>
#include <initializer_list>

#include "base/text.hpp"

namespace railhead::affinity {

namespace {

using Words = std::initializer_list<std::string_view>;

bool contains(Words words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

/// Whether an option that begins with one of `names` has a value that `binds`.
bool command_binds(std::string_view command_line, Words names, bool (*binds)(std::string_view)) {
    const auto words = split(command_line, '\0');
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto word = words[i];
        const auto begins = [&](std::string_view name) { return word.starts_with(name); };
        if (std::ranges::none_of(names, begins)) {
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
    return command_binds(command_line, {"--cpu-b", "--cpu_b"}, &binds_tasks);
}

bool command_binds_memory(std::string_view command_line) {
    return command_binds(command_line, {"--mem-b", "--mem_b"}, &binds_memory);
}

bool variables_bind_tasks(std::string_view type, std::string_view list) {
    return names_any(type, {"none", "rank", "map_", "mask_"}) || (!type.empty() && !list.empty());
}

bool variables_bind_memory(std::string_view type) {
    return names_any(type, {"none", "rank", "local", "map_", "mask_"});
}

}  // namespace railhead::affinity
