#include "rails/plugin_arguments.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::rails {

namespace {

using Setter = bool (*)(PluginArguments&, std::string_view);

/// Sets `target` when the value is one of two words.
bool choose(bool& target, std::string_view value, std::string_view yes, std::string_view no) {
    target = value == yes;
    return value == yes || value == no;
}

bool set_file(std::string& target, std::string_view value) {
    target = value;
    return value.starts_with('/');
}

bool set_names(std::vector<std::string>& target, std::string_view value) {
    for (const auto name : split(value, ',')) {
        if (name.empty()) {
            return false;
        }
        target.emplace_back(name);
    }
    return true;
}

struct Key {
    std::string_view name;
    std::string_view values;  ///< for the message
    Setter set;
};

constexpr std::array keys{
    Key{"topology", "a file's absolute path",
        [](PluginArguments& a, std::string_view v) { return set_file(a.topology, v); }},
    Key{"nics", "RDMA devices: mlx5_0,mlx5_1",
        [](PluginArguments& a, std::string_view v) { return set_names(a.nics, v); }},
    Key{"nccl_conf", "a file's absolute path",
        [](PluginArguments& a, std::string_view v) { return set_file(a.nccl_conf, v); }},
    Key{"rail", "auto or off",
        [](PluginArguments& a, std::string_view v) { return choose(a.rail, v, "auto", "off"); }},
    Key{"gpu_affinity", "auto or off",
        [](PluginArguments& a, std::string_view v) {
            return choose(a.gpu_affinity, v, "auto", "off");
        }},
    Key{"user_off", "true or false",
        [](PluginArguments& a, std::string_view v) {
            return choose(a.user_off, v, "true", "false");
        }},
    Key{"strict", "true or false",
        [](PluginArguments& a, std::string_view v) {
            return choose(a.strict, v, "true", "false");
        }},
    Key{"verbose", "true or false",
        [](PluginArguments& a, std::string_view v) {
            return choose(a.verbose, v, "true", "false");
        }},
};

std::string unknown_key(std::string_view argument, std::string_view name) {
    std::array<std::string_view, keys.size()> names{};
    std::ranges::transform(keys, names.begin(), &Key::name);
    const auto near = nearest_name(name, names);
    const auto hint =
        near ? fmt::format(": did you mean '{}'?", *near) : fmt::format(": the keys are {}", [&] {
            std::string all;
            for (const auto key : names) {
                all += (all.empty() ? "" : ", ") + std::string{key};
            }
            return all;
        }());
    return fmt::format("unknown key in plugstack argument '{}'{}", printable(argument), hint);
}

}  // namespace

Result<PluginArguments> parse_plugin_arguments(const std::vector<std::string>& arguments) {
    PluginArguments result;
    std::vector<std::string_view> seen;
    for (const std::string_view argument : arguments) {
        const auto equals = argument.find('=');
        const auto name = argument.substr(0, equals);
        const auto* const key = std::ranges::find(keys, name, &Key::name);
        if (key == keys.end()) {
            return fail(Errc::bad_input, unknown_key(argument, name));
        }
        if (std::ranges::count(seen, name) > 0) {
            return fail(Errc::bad_input,
                        fmt::format("plugstack key '{}' stands twice", printable(name)));
        }
        seen.push_back(name);
        const bool bare = equals == std::string_view::npos;
        const auto value = bare && name == "verbose" ? "true"
                           : bare                    ? std::string_view{}
                                                     : argument.substr(equals + 1);
        if (!key->set(result, value)) {
            return fail(Errc::bad_input,
                        fmt::format("bad value in plugstack argument '{}': {} takes {}",
                                    printable(argument), name, key->values));
        }
    }
    return result;
}

}  // namespace railhead::rails
