#include "topo_file.hpp"

#include "base/file.hpp"
#include "node/from_nccl_xml.hpp"
#include "node/topo_fit.hpp"

namespace railhead::cli {

std::vector<std::string> check_topo_file(const std::string& path, const node::Node& node) {
    const auto text = read_file(path);
    if (!text) {
        return {to_string(text.error())};
    }
    const auto file = node::parse_nccl_xml(*text, path);
    if (!file) {
        return {to_string(file.error())};
    }
    auto misfits = node::find_misfits(*file, node);
    for (auto& misfit : misfits) {
        misfit.insert(0, path + ": ");
    }
    return misfits;
}

}  // namespace railhead::cli
