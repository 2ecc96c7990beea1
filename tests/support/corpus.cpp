#include "support/corpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "base/file.hpp"
#include "support/paths.hpp"

namespace railhead::test {

std::string corpus() {
    const char* set = std::getenv("RAILHEAD_CORPUS");
    const std::filesystem::path folder = set != nullptr ? set : checkout("../shared/corpus");
    std::error_code error;
    return std::filesystem::is_directory(folder, error) ? folder.string() : "";
}

std::string read_corpus(std::string_view name) {
    auto text = read_file(corpus().append("/").append(name));
    if (!text) {
        throw std::runtime_error{to_string(text.error())};
    }
    return std::move(*text);
}

std::vector<std::string> list_corpus(std::string_view folder, std::string_view suffix) {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator{corpus().append("/").append(folder)}) {
        auto name = entry.path().filename().string();
        if (name.ends_with(suffix)) {
            names.push_back(std::move(name));
        }
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace railhead::test
