#include "watch_options.hpp"

#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::helper {

namespace {

/// Whether `text` is a number of seconds from 0 on, which `to` then has.
bool read_seconds(const std::string& text, double& to) {
    char* end = nullptr;
    to = std::strtod(text.c_str(), &end);
    constexpr double most_s = 1e10;
    return !text.empty() && *end == '\0' && std::isfinite(to) && to >= 0 && to < most_s;
}

template <class T>
bool read_number(const std::string& text, T& to) {
    const auto number = parse_number<T>(text);
    to = number.value_or(to);
    return number.has_value();
}

/// Whether `option` is known and its value fits.
bool take(std::string_view option, const std::string& value, WatchOptions& to) {
    if (option == "--name") {
        to.name = value;
        return true;
    }
    if (option == "--dir") {
        to.folder = value;
        return !value.empty();
    }
    if (option == "--poll") {
        return read_seconds(value, to.poll_s.emplace());
    }
    return (option == "--job" && read_number(value, to.job)) ||
           (option == "--restarts" && read_number(value, to.restarts)) ||
           (option == "--attempts" && read_number(value, to.attempts)) ||
           (option == "--nodes" && read_number(value, to.nodes)) ||
           (option == "--end-fd" && read_number(value, to.end_fd)) ||
           (option == "--interval" && read_seconds(value, to.interval_s)) ||
           (option == "--cost" && read_seconds(value, to.cost_s)) ||
           (option == "--settle" && read_seconds(value, to.settle_s)) ||
           (option == "--quiet" && read_seconds(value, to.quiet_s));
}

}  // namespace

Result<WatchOptions> parse_watch_options(const std::vector<std::string>& arguments) {
    WatchOptions options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto& option = arguments[i];
        if (option == "--hold") {
            options.hold = true;
            continue;
        }
        if (i + 1 >= arguments.size() || !take(option, arguments[i + 1], options)) {
            return fail(Errc::bad_input,
                        fmt::format("watch: \"{}{}\" cannot be read", printable(option),
                                    i + 1 < arguments.size() ? " " + printable(arguments[i + 1])
                                                             : std::string{}));
        }
        ++i;
    }
    if (options.job == 0 || options.folder.empty() || options.end_fd < 0) {
        return fail(Errc::bad_input, "watch: --job, --dir and --end-fd are needed");
    }
    return options;
}

}  // namespace railhead::helper
