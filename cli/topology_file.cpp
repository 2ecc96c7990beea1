#include "topology_file.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "fabric/topology_yaml.hpp"

namespace railhead::cli {

namespace {

bool is_yaml(std::string_view file) {
    return file.ends_with(".yaml") || file.ends_with(".yml");
}

}  // namespace

Result<std::vector<fabric::Fabric>> read_topology(const std::string& file, std::string_view plugin,
                                                  std::vector<Error>& warnings) {
    const auto text = read_file(file);
    if (!text) {
        return tl::unexpected<Error>{text.error()};
    }
    if (is_yaml(file)) {
        return fabric::parse_topology_yaml(*text, file, &warnings);
    }
    auto fabric = fabric::parse_topology_conf(*text, file, &warnings);
    if (!fabric) {
        return propagate(fabric);
    }
    if (fabric->switches.empty() && fabric->blocks.empty()) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is no topology: it has neither SwitchName= nor BlockName= "
                                "lines; give a topology.conf or a topology.yaml",
                                printable(file)));
    }
    if (!fabric->switches.empty() && !fabric->blocks.empty()) {
        fabric::choose_kind(*fabric, plugin);
    }
    std::vector<fabric::Fabric> fabrics;
    fabrics.push_back(std::move(*fabric));
    return fabrics;
}

Result<std::size_t> find_topology(std::span<const fabric::Fabric* const> fabrics,
                                  const std::string& name) {
    const auto found = std::ranges::find_if(fabrics, [&](const fabric::Fabric* one) {
        return name.empty() ? one->is_default : one->name == name;
    });
    if (found != fabrics.end()) {
        return static_cast<std::size_t>(std::distance(fabrics.begin(), found));
    }
    if (!name.empty() || fabrics.empty()) {
        return fail(Errc::not_found, fmt::format("no topology \"{}\" to draw", printable(name)));
    }
    return std::size_t{0};
}

void warn_of_topology(const std::vector<Error>& warnings, Console& console) {
    constexpr std::size_t most = 20;
    for (std::size_t i = 0; i < std::min(most, warnings.size()); ++i) {
        console.warn(warnings[i]);
    }
    if (warnings.size() > most) {
        console.warn({Errc::bad_input, fmt::format("and {} more", warnings.size() - most), {}});
    }
}

}  // namespace railhead::cli
