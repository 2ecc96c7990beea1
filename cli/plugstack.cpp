#include "plugstack.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "policy/policy.hpp"

namespace railhead::cli {

namespace {

constexpr int most_depth = 4;

void read_into(const std::string& file, int depth, Plugstack& plugstack);

void include(const std::filesystem::path& pattern, int depth, Plugstack& plugstack) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator{pattern.parent_path(), error}) {
        if (policy::glob_matches(pattern.filename().string(), entry.path().filename().string())) {
            read_into(entry.path().string(), depth + 1, plugstack);
        }
    }
}

void read_into(const std::string& file, int depth, Plugstack& plugstack) {
    auto text = read_file(file);
    if (!text) {
        plugstack.errors.push_back(std::move(text.error()));
        return;
    }
    unsigned number = 0;
    for (const auto line : split(*text, '\n')) {
        ++number;
        const auto words = split_words(line.substr(0, line.find('#')));
        if (words.size() >= 2 && words[0] == "include" && depth < most_depth) {
            plugstack.includes = true;
            include(std::filesystem::path{file}.parent_path() / std::string{words[1]}, depth,
                    plugstack);
        } else if (words.size() >= 2 && words[1].ends_with("spank_railhead.so")) {
            plugstack.lines.push_back({std::string{words[0]},
                                       std::string{words[1]},
                                       {words.begin() + 2, words.end()},
                                       {file, number, 1}});
        }
    }
}

}  // namespace

Plugstack read_plugstack(const std::string& file) {
    Plugstack plugstack;
    read_into(file, 0, plugstack);
    return plugstack;
}

}  // namespace railhead::cli
