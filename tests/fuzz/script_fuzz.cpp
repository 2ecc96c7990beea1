#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "job/script.hpp"

// The input is a script; what stands behind a first NUL byte are arguments, one a line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto nul = text.find('\0');
    std::vector<std::string> arguments;
    if (nul != std::string_view::npos) {
        for (const auto line : railhead::split(text.substr(nul + 1), '\n')) {
            arguments.emplace_back(line);
        }
    }
    const std::map<std::string, std::string> environment{
        {"SBATCH_GRES", arguments.empty() ? "gpu:1" : arguments.front()}};
    const auto script =
        railhead::job::parse_script(text.substr(0, nul), "job", arguments, environment);
    std::size_t used = 0;
    if (script) {
        for (const auto& component : script->components) {
            used += component.request.gpus_per_node.size() + component.request.partition.size();
        }
    }
    return used == SIZE_MAX ? 1 : 0;
}
