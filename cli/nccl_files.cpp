#include "nccl_files.hpp"

#include <array>
#include <utility>

#include "base/environment.hpp"
#include "rails/nccl_conf.hpp"

namespace railhead::cli {

std::vector<rails::FileSetting> read_nccl_files(const std::string& site_file, Console& console) {
    const auto own = own_variable("NCCL_CONF_FILE");
    const std::array paths{std::pair{own ? *own : own_variable("HOME").value_or("") + "/.nccl.conf",
                                     rails::Rung::user_file},
                           std::pair{site_file, rails::Rung::site_file}};
    std::vector<rails::FileSetting> files;
    for (const auto& [path, rung] : paths) {
        auto settings = rails::read_nccl_conf(path);
        if (!settings) {
            console.warn(settings.error());
            continue;
        }
        for (auto& [name, value] : *settings) {
            files.push_back({std::move(name), std::move(value), rung, path});
        }
    }
    return files;
}

}  // namespace railhead::cli
