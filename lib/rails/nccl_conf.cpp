#include "rails/nccl_conf.hpp"

#include "base/file.hpp"
#include "base/text.hpp"

namespace railhead::rails {

std::vector<std::string> parse_nccl_conf(std::string_view text) {
    std::vector<std::string> names;
    for (const auto line : split(text, '\n')) {
        const auto equals = line.find('=');
        const auto name = trim(line.substr(0, equals));
        if (equals != std::string_view::npos && !name.empty() && !name.starts_with('#')) {
            names.emplace_back(name);
        }
    }
    return names;
}

Result<std::vector<std::string>> read_nccl_conf(const std::string& path) {
    auto text = read_file(path, nccl_conf_limit);
    if (text) {
        return parse_nccl_conf(*text);
    }
    if (text.error().code == Errc::not_found) {
        return std::vector<std::string>{};
    }
    return propagate(text);
}

}  // namespace railhead::rails
