#include "rails/nccl_conf.hpp"

#include "base/file.hpp"
#include "base/text.hpp"

namespace railhead::rails {

std::vector<Setting> parse_nccl_conf(std::string_view text) {
    std::vector<Setting> settings;
    for (const auto line : split(text, '\n')) {
        const auto equals = line.find('=');
        const auto name = trim(line.substr(0, equals));
        if (equals != std::string_view::npos && !name.empty() && !name.starts_with('#')) {
            settings.push_back({std::string{name}, std::string{trim(line.substr(equals + 1))}});
        }
    }
    return settings;
}

Result<std::vector<Setting>> read_nccl_conf(const std::string& path) {
    auto text = read_file(path, nccl_conf_limit);
    if (text) {
        return parse_nccl_conf(*text);
    }
    if (text.error().code == Errc::not_found) {
        return std::vector<Setting>{};
    }
    return propagate(text);
}

}  // namespace railhead::rails
