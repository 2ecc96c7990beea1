#include "report/why.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using rails::Rung;
using rails::Verdict;
using rails::Word;

using json = nlohmann::ordered_json;

constexpr std::size_t width = 80;
constexpr std::size_t value_width = 42;  // beside rung and source

constexpr std::array rungs{Rung::user, Rung::user_file, Rung::site_file, Rung::policy,
                           Rung::automatic};

/// A value, or why there is none.
std::string said(const Word& word) {
    if (word.value) {
        return word.value->empty() ? "(empty)"
                                   : breakable_list(printable(*word.value), value_width);
    }
    return word.reason.empty() ? "(set there)" : "left unset: " + printable(word.reason);
}

json or_null(const std::string& text) {
    return text.empty() ? json(nullptr) : json(text);
}

json answer_json(const WhyAnswer& answer) {
    auto words = json::array();
    for (const auto& word : answer.verdict.words) {
        words.push_back({{"rung", to_string(word.rung)},
                         {"by", word.by},
                         {"value", word.value ? json(*word.value) : json(nullptr)},
                         {"left_unset", or_null(word.reason)}});
    }
    return {{"name", answer.verdict.name}, {"words", std::move(words)}, {"notes", answer.notes}};
}

std::string headline(const Verdict& verdict) {
    if (verdict.words.empty()) {
        return printable(verdict.name) + " is not set: nobody says anything of it\n";
    }
    const auto& first = verdict.words.front();
    const auto by = printable(first.by);
    const auto name = printable(verdict.name);
    return first.value || first.reason.empty() ? fmt::format("{} is set by {}\n", name, by)
                                               : fmt::format("{} is left unset by {}\n", name, by);
}

std::string notes_text(const std::vector<std::string>& notes, std::string_view about) {
    std::string out;
    for (const auto& note : notes) {
        std::string_view bullet = "- ";
        const auto text = about.empty() ? note : fmt::format("{}: {}", about, note);
        for (const auto& line : wrap(printable(text), width - bullet.size())) {
            out += fmt::format("{}{}\n", bullet, line);
            bullet = "  ";
        }
    }
    return out;
}

}  // namespace

std::string why_text(const WhyAnswer& answer) {
    const auto& words = answer.verdict.words;
    Table table;
    for (const auto rung : rungs) {
        bool silent = true;
        for (const auto& word : words) {
            if (word.rung == rung) {
                table.add({&word == words.data() ? "->" : "", std::string{to_string(rung)},
                           rung == Rung::user ? "" : printable(word.by), said(word)});
                silent = false;
            }
        }
        if (silent) {
            table.add({"", std::string{to_string(rung)}, "", "-"});
        }
    }
    auto text = headline(answer.verdict) + table.text(0, width);
    if (!answer.notes.empty()) {
        text += "\n" + notes_text(answer.notes, {});
    }
    return text;
}

std::string why_table(const std::vector<WhyAnswer>& all) {
    Table table{{"variable", "set by", "value"}};
    std::string notes;
    for (const auto& [verdict, about] : all) {
        const auto& words = verdict.words;
        table.add({printable(verdict.name), words.empty() ? "nobody" : printable(words.front().by),
                   words.empty() ? "-" : said(words.front())});
        notes += notes_text(about, verdict.name);
    }
    return table.text(0, width) + (notes.empty() ? "" : "\n" + notes);
}

std::string why_json(const AskedNode& node, const std::vector<WhyAnswer>& answers) {
    auto variables = json::array();
    for (const auto& answer : answers) {
        variables.push_back(answer_json(answer));
    }
    const json document{{"schema", "railhead.why/1"},
                        {"node", or_null(node.name)},
                        {"node_type", or_null(node.type)},
                        {"variables", std::move(variables)}};
    constexpr int indent = 2;
    return document.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
