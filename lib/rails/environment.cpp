#include "rails/environment.hpp"

#include <algorithm>
#include <utility>

#include "rails/variables.hpp"

#include <fmt/format.h>

namespace railhead::rails {

namespace {

constexpr std::string_view rails_note = "RAILHEAD_RAILS";
constexpr std::string_view nic_note = "RAILHEAD_NIC";

const Setting* find_extra(const NodeType* type, std::string_view name) {
    if (type == nullptr) {
        return nullptr;
    }
    const auto found = std::ranges::find(type->env, name, &Setting::name);
    return found == type->env.end() ? nullptr : &*found;
}

/// The words of the user and of NCCL's files, then the site's own variable.
std::vector<Word> words_outside(std::string_view name, const Launch& launch) {
    std::vector<Word> words;
    if (auto value = launch.environment(name)) {
        words.push_back({Rung::user, "the environment", std::move(value), {}});
    }
    for (const auto& file : launch.files) {
        if (file.name == name) {
            words.push_back({file.rung, file.by, file.value, {}});
        }
    }
    if (const auto* extra = find_extra(launch.type, name)) {
        words.push_back({Rung::policy, called(*launch.type), extra->value, {}});
    }
    return words;
}

/// Those who set `rival` want the variable left as it is.
void add_rivals(const Rival& rival, const Launch& launch, std::vector<Word>& words) {
    if (rival.name.empty()) {
        return;
    }
    for (auto& word : words_outside(rival.name, launch)) {
        if (rival.counts(word.value.value_or(""))) {
            words.push_back(
                {word.rung, std::move(word.by), std::nullopt, std::string{rival.reason}});
        }
    }
    std::ranges::stable_sort(words, {}, &Word::rung);
}

void add_word(Rung rung, std::string by, std::optional<Said> said, std::vector<Word>& words) {
    if (said) {
        words.push_back({rung, said->by.empty() ? std::move(by) : std::move(said->by),
                         std::move(said->value), std::move(said->reason)});
    }
}

}  // namespace

std::string_view to_string(Rung rung) {
    switch (rung) {
        case Rung::user:
            return "environment";
        case Rung::user_file:
            return "user's file";
        case Rung::site_file:
            return "site's file";
        case Rung::policy:
            return "policy";
        case Rung::automatic:
            return "automatic";
    }
    return "?";
}

Verdict judge(std::string_view name, const Launch& launch) {
    Verdict verdict{std::string{name}, words_outside(name, launch)};
    const auto* variable = find_variable(name);
    if (variable == nullptr) {
        return verdict;
    }
    add_rivals(variable->rival, launch, verdict.words);
    if (find_extra(launch.type, name) == nullptr) {
        add_word(Rung::policy, launch.type == nullptr ? std::string{} : called(*launch.type),
                 variable->site(launch), verdict.words);
    }
    add_word(Rung::automatic, "this node", variable->found(launch), verdict.words);
    return verdict;
}

std::vector<std::string> variables_of(const NodeType* type) {
    std::vector<std::string> names;
    for (const auto& variable : variable_table()) {
        names.emplace_back(variable.name);
    }
    for (const auto& extra : type == nullptr ? std::vector<Setting>{} : type->env) {
        if (find_variable(extra.name) == nullptr) {
            names.push_back(extra.name);
        }
    }
    return names;
}

EnvironmentPlan plan_environment(const Launch& launch) {
    const auto users = without_marked(launch.environment);
    Launch own{launch.node, launch.plan,        launch.nics,     launch.files, users,
               launch.type, launch.declared_by, launch.per_task, nullptr};
    EnvironmentPlan result;
    std::vector<Setting> set;
    for (const auto& name : variables_of(launch.type)) {
        const auto* variable = find_variable(name);
        const bool of_task =
            variable != nullptr && variable->per_task && find_extra(launch.type, name) == nullptr;
        if (of_task && !launch.per_task) {
            continue;
        }
        auto [unused, words] = judge(name, own);
        const auto ours = std::ranges::find_if(
            words, [](const Word& word) { return word.rung >= Rung::policy && word.value; });
        if (ours == words.end()) {
            continue;
        }
        if (auto& first = words.front(); first.rung < Rung::policy) {
            result.kept.push_back({name, std::move(first.by)});
        } else if (first.value) {
            set.push_back({name, std::move(*first.value)});
        }
    }
    for (const auto& [name, value] : set) {
        result.changes.push_back({name, value});
    }
    if (auto marks = mark(set); !marks.empty()) {
        result.changes.push_back({std::string{own_marks}, std::move(marks)});
    }
    if (!launch.plan.list.empty()) {
        result.changes.push_back({std::string{rails_note}, launch.plan.list});
        if (launch.per_task && !launch.nics.empty()) {
            result.changes.push_back(
                {std::string{nic_note}, device_list(launch.node, launch.nics)});
        }
    }
    result.silence = silence_of(launch);
    return result;
}

std::vector<Change> clean_environment(const Lookup& environment) {
    std::vector<Change> changes;
    for (auto& name : marked(environment)) {
        changes.push_back({std::move(name), std::nullopt});
    }
    for (const auto note : {rails_note, nic_note, own_marks}) {
        if (environment(note)) {
            changes.push_back({std::string{note}, std::nullopt});
        }
    }
    return changes;
}

}  // namespace railhead::rails
