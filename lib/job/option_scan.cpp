#include "job/option_scan.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/sbatch_options.hpp"

namespace railhead::job {

namespace {

std::string shown(std::string_view text) {
    constexpr std::size_t most = 60;
    return fmt::format("{}{}", printable(text.substr(0, most)), text.size() > most ? "…" : "");
}

class Scanner {
 public:
    Scanner(std::span<const Word> words, ScriptOption::Source source, std::vector<Error>& warnings)
        : words_{words}, source_{source}, warnings_{warnings} {}

    Result<Scan> run();

 private:
    Result<> take_long(const Word& word);
    Result<> take_letters(const Word& word);
    Result<const SbatchOption*> choose(const Word& word, std::string_view name);
    Result<> take_argument(const SbatchOption& option, const Word& word);
    void skip_unknown(const Word& word, std::string_view name, bool has_argument);
    void put(const SbatchOption& option, std::string_view value, const Word& word);

    tl::unexpected<Error> fail_at(const Word& word, std::string message) const {
        return fail(Errc::bad_input, std::move(message), word.where);
    }

    std::span<const Word> words_;
    ScriptOption::Source source_;
    std::vector<Error>& warnings_;
    Scan scan_;
};

void Scanner::put(const SbatchOption& option, std::string_view value, const Word& word) {
    const auto name = option.name == "tasks-per-node" ? "ntasks-per-node" : option.name;
    scan_.options.push_back({std::string{name}, std::string{value}, source_, word.where});
}

/// The argument is the next word, whatever it looks like.
Result<> Scanner::take_argument(const SbatchOption& option, const Word& word) {
    if (scan_.used == words_.size()) {
        return fail_at(word, fmt::format("{} needs an argument", shown(word.text)));
    }
    put(option, words_[scan_.used++].text, word);
    return {};
}

/// An option that nobody knows: what it takes is a guess, good enough to read on.
void Scanner::skip_unknown(const Word& word, std::string_view name, bool has_argument) {
    constexpr std::size_t enough = 20;  // the search takes its time
    const auto near = warnings_.size() < enough ? suggest_option(name) : "";
    warnings_.push_back(
        {Errc::bad_input,
         fmt::format("sbatch knows no option {}, it would refuse the script{}",
                     shown(word.text.substr(0, word.text.find('='))),
                     near.empty() ? std::string{} : fmt::format(": did you mean --{}?", near)),
         word.where});
    if (!has_argument && scan_.used < words_.size() && !words_[scan_.used].text.starts_with('-') &&
        words_[scan_.used].text != ":") {
        ++scan_.used;
    }
}

/// The option that `name` stands for; null when there is none.
Result<const SbatchOption*> Scanner::choose(const Word& word, std::string_view name) {
    if (const auto* exact = find_option(name)) {
        return exact;
    }
    auto matches = complete_option(name);
    if (matches.size() > 1) {
        // A prefix that newer releases made ambiguous still works on 22.05.
        std::erase_if(matches, [](const auto* o) { return o->since > 2205; });
    }
    if (matches.size() == 1) {
        return matches.front();
    }
    const auto all = complete_option(name);
    if (all.empty()) {
        return nullptr;
    }
    std::string names;
    for (const auto* option : all) {
        names += fmt::format("{}--{}", names.empty() ? "" : ", ", option->name);
    }
    return fail_at(word, fmt::format("{} is ambiguous: {}", shown(word.text), names));
}

Result<> Scanner::take_long(const Word& word) {
    const std::string_view text = word.text;
    const auto equals = text.find('=');
    const auto name = text.substr(2, equals == std::string_view::npos ? equals : equals - 2);
    auto option = choose(word, name);
    if (!option) {
        return propagate(option);
    }
    const bool has_argument = equals != std::string_view::npos;
    if (*option == nullptr) {
        skip_unknown(word, name, has_argument);
        return {};
    }
    if (has_argument && (*option)->argument == Argument::none) {
        return fail_at(word, fmt::format("--{} takes no argument", (*option)->name));
    }
    if (!has_argument && (*option)->argument == Argument::required) {
        return take_argument(**option, word);
    }
    put(**option, has_argument ? text.substr(equals + 1) : "", word);
    return {};
}

/// "-N2", "-N 2", "-HN2": letters until one takes the rest as its argument.
Result<> Scanner::take_letters(const Word& word) {
    const std::string_view text = word.text;
    for (std::size_t i = 1; i < text.size(); ++i) {
        const auto* option = find_option(text[i]);
        const auto rest = text.substr(i + 1);
        if (option == nullptr) {
            skip_unknown(word, text.substr(1), !rest.empty());
            return {};
        }
        if (option->argument == Argument::required && rest.empty()) {
            return take_argument(*option, word);
        }
        put(*option, option->argument == Argument::none ? "" : rest, word);
        if (option->argument != Argument::none) {
            return {};
        }
    }
    return {};
}

Result<Scan> Scanner::run() {
    while (scan_.used < words_.size()) {
        const auto& word = words_[scan_.used];
        if (!word.text.starts_with('-') || word.text == "-") {
            break;
        }
        ++scan_.used;
        if (word.text == "--") {
            break;
        }
        auto taken = word.text.starts_with("--") ? take_long(word) : take_letters(word);
        if (!taken) {
            return propagate(taken);
        }
    }
    return std::move(scan_);
}

}  // namespace

Result<Scan> scan_options(std::span<const Word> words, ScriptOption::Source source,
                          std::vector<Error>& warnings) {
    return Scanner{words, source, warnings}.run();
}

}  // namespace railhead::job
