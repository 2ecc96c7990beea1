#include "arguments.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::helper {

Result<Arguments> Arguments::parse(const std::vector<std::string>& words,
                                   const std::vector<std::string_view>& flags) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view name = words[i];
        if (name.size() < 3 || !name.starts_with("--")) {
            return fail(Errc::bad_input, fmt::format("\"{}\" is no option", printable(name)));
        }
        const bool is_flag = std::ranges::find(flags, name) != flags.end();
        if (!is_flag && i + 1 == words.size()) {
            return fail(Errc::bad_input, fmt::format("{} has no value", printable(name)));
        }
        const auto value = is_flag ? std::string{} : words[++i];
        if (!arguments.values_.emplace(name, value).second) {
            return fail(Errc::bad_input, fmt::format("{} stands twice", printable(name)));
        }
    }
    return arguments;
}

std::optional<std::string> Arguments::text(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional{found->second};
}

std::optional<std::int64_t> Arguments::number(std::string_view name) const {
    return parse_number<std::int64_t>(text(name).value_or(""));
}

}  // namespace railhead::helper
