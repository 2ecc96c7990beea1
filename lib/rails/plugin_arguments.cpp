#include "rails/plugin_arguments.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::rails {

namespace {

/// A member that is true or false, and the words for it.
struct Choice {
    bool PluginArguments::*member;
    std::string_view yes, no;
};
using File = std::string PluginArguments::*;
using Level = Health PluginArguments::*;

/// A path, or "off" for none.
struct PathOrOff {
    std::string PluginArguments::*member;
};
using MemoryWord = Memory PluginArguments::*;
using Names = std::vector<std::string> PluginArguments::*;

struct Key {
    std::string_view name;
    std::variant<Choice, File, PathOrOff, MemoryWord, Names, Level> target;
};

constexpr Choice on_off(bool PluginArguments::*member) {
    return {member, "auto", "off"};
}
constexpr Choice true_false(bool PluginArguments::*member) {
    return {member, "true", "false"};
}

constexpr std::array<std::pair<std::string_view, Health>, 4> levels{{{"off", Health::off},
                                                                     {"note", Health::note},
                                                                     {"warn", Health::warn},
                                                                     {"strict", Health::strict}}};

constexpr std::array keys{
    Key{"topology", &PluginArguments::topology},
    Key{"nics", &PluginArguments::nics},
    Key{"nccl_conf", &PluginArguments::nccl_conf},
    Key{"policy", &PluginArguments::policy},
    Key{"cache", PathOrOff{&PluginArguments::cache}},
    Key{"helper", PathOrOff{&PluginArguments::helper}},
    Key{"rail", on_off(&PluginArguments::rail)},
    Key{"gpu_affinity", on_off(&PluginArguments::gpu_affinity)},
    Key{"memory", &PluginArguments::memory},
    Key{"omp_num_threads", Choice{&PluginArguments::omp_cores, "cores", "off"}},
    Key{"user_off", true_false(&PluginArguments::user_off)},
    Key{"health", &PluginArguments::health},
    Key{"root", &PluginArguments::root},
    Key{"strict", true_false(&PluginArguments::strict)},
    Key{"verbose", true_false(&PluginArguments::verbose)},
};

/// Sets the member of a key; false when the value is not one of it.
struct Assign {
    PluginArguments& to;
    std::string_view value;

    bool operator()(const Choice& choice) const {
        to.*choice.member = value == choice.yes;
        return value == choice.yes || value == choice.no;
    }
    bool operator()(File member) const {
        to.*member = value;
        return value.starts_with('/');
    }
    bool operator()(Level member) const {
        const auto* const found =
            std::ranges::find(levels, value, [](const auto& level) { return level.first; });
        if (found == levels.end()) {
            return false;
        }
        to.*member = found->second;
        return true;
    }
    bool operator()(PathOrOff path) const {
        to.*path.member = value == "off" ? "" : value;
        return value == "off" || value.starts_with('/');
    }
    bool operator()(MemoryWord member) const {
        to.*member = value == "prefer" ? Memory::prefer
                     : value == "bind" ? Memory::bind
                                       : Memory::off;
        return value == "prefer" || value == "bind" || value == "off";
    }
    bool operator()(Names member) const {
        for (const auto name : split(value, ',')) {
            if (name.empty()) {
                return false;
            }
            (to.*member).emplace_back(name);
        }
        return true;
    }
};

/// What a key takes, for the message.
struct Values {
    std::string operator()(const Choice& choice) const {
        return fmt::format("{} or {}", choice.yes, choice.no);
    }
    std::string operator()(File /*member*/) const { return "an absolute path"; }
    std::string operator()(PathOrOff /*path*/) const {
        return "an absolute path, or off";
    }
    std::string operator()(MemoryWord /*member*/) const { return "prefer, bind or off"; }
    std::string operator()(Level /*member*/) const { return "off, note, warn or strict"; }
    std::string operator()(Names /*member*/) const { return "RDMA devices: mlx5_0,mlx5_1"; }
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

std::string installed_helper() {
    return RAILHEAD_HELPER_FILE;
}

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
        if (!std::visit(Assign{result, value}, key->target)) {
            return fail(Errc::bad_input,
                        fmt::format("bad value in plugstack argument '{}': {} takes {}",
                                    printable(argument), name, std::visit(Values{}, key->target)));
        }
    }
    return result;
}

}  // namespace railhead::rails
