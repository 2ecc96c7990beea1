#include "topo_file.hpp"

#include "base/file.hpp"

namespace railhead::cli {

std::vector<std::string> check_topo_file(const std::string& path, const node::Node& /*node*/) {
    const auto text = read_file(path);
    return text ? std::vector<std::string>{} : std::vector{to_string(text.error())};
}

}  // namespace railhead::cli
