#include "report/shown_paths.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

/// How many bytes two texts end in alike.
std::size_t common_end(std::string_view a, std::string_view b) {
    const auto parted = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first;
    return static_cast<std::size_t>(parted - a.rbegin());
}

/// `path` with the folder, or the name, that holds the byte `common` from its end.
std::string with_folder(const std::string& path, std::size_t common) {
    if (common >= path.size()) {
        return path;
    }
    const auto at = path.size() - common - 1;
    const auto slash = path.rfind('/', at);
    const auto from = slash == std::string::npos ? 0 : slash + 1;
    const auto folder = path.substr(from, path.find('/', at) - from);
    constexpr std::size_t longest_folder = 32;
    constexpr std::size_t rest = 28;
    return folder.size() > longest_folder
               ? path
               : fmt::format(".../{}/{}", folder, end_of_path(path, rest));
}

/// Tells apart paths with the same end.
void tell_apart(const std::vector<std::uint32_t>& alike, const std::vector<std::string>& paths,
                std::vector<std::string>& shown) {
    constexpr std::size_t many = 64;
    std::set<std::string> distinct;
    for (const auto file : alike) {
        std::size_t common = 0;
        for (const auto other : alike) {
            if (other != file && alike.size() <= many) {
                common = std::max(common, common_end(paths[file], paths[other]));
            }
        }
        shown[file] = common == 0 ? paths[file] : with_folder(paths[file], common);
        distinct.insert(shown[file]);
    }
    if (distinct.size() < alike.size()) {
        for (const auto file : alike) {
            shown[file] = paths[file];
        }
    }
}

}  // namespace

std::string end_of_path(const std::string& path, std::size_t most) {
    return columns(path) <= most ? path : "..." + path.substr(path.size() - (most - 3));
}

ShownPaths::ShownPaths(const diagnose::Sources& sources) {
    std::vector<std::string> paths;
    std::map<std::string, std::vector<std::uint32_t>> by_end;
    for (std::uint32_t file = 0; file < sources.size(); ++file) {
        paths.push_back(printable(sources.name(file)));
        shown_.push_back(end_of_path(paths.back(), longest));
        by_end[shown_.back()].push_back(file);
    }
    for (const auto& [end, alike] : by_end) {
        if (alike.size() > 1) {
            tell_apart(alike, paths, shown_);
        }
    }
}

}  // namespace railhead::report
