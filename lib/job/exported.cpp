#include "job/exported.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace railhead::job {

namespace {

bool has_word(const std::vector<std::string_view>& words, std::string_view wanted) {
    return std::ranges::any_of(words,
                               [&](auto word) { return equals_ignoring_case(word, wanted); });
}

}  // namespace

std::vector<const char*> exported(std::string_view said,
                                  const std::map<std::string, std::string>& environment,
                                  std::deque<std::string>& storage) {
    const auto words = split(said, ',');
    const bool all = said.empty() || has_word(words, "ALL");
    std::map<std::string, std::string> sent;
    for (const auto& [name, value] : environment) {
        const bool named = std::ranges::find(words, name) != words.end();
        if (all || named || name.starts_with("SLURM_")) {
            sent[name] = value;
        }
    }
    for (const auto word : words) {
        if (const auto equals = word.find('='); equals != std::string_view::npos && equals > 0) {
            sent[std::string{word.substr(0, equals)}] = word.substr(equals + 1);
        }
    }
    std::vector<const char*> variables;
    for (const auto& [name, value] : sent) {
        variables.push_back(storage.emplace_back(name + "=" + value).c_str());
    }
    return variables;
}

}  // namespace railhead::job
