#include "policy/parse.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/parse_node_types.hpp"
#include "policy/reader.hpp"

namespace railhead::policy {

namespace {

constexpr std::uint32_t day_s = 24 * 3600;

std::optional<std::uint32_t> parse_clock(std::string_view text) {
    std::uint64_t seconds = 0;
    for (const auto part : split(text, ':')) {
        const auto number = parse_number<std::uint32_t>(part);
        if (!number) {
            return std::nullopt;
        }
        seconds = seconds * 60 + *number;
    }
    return seconds <= UINT32_MAX ? std::optional{static_cast<std::uint32_t>(seconds)}
                                 : std::nullopt;
}

constexpr std::array<std::pair<std::string_view, Partial>, 3> partials{
    {{"advise", Partial::advise}, {"refuse", Partial::refuse}, {"ignore", Partial::ignore}}};
constexpr std::array<std::pair<std::string_view, Notes>, 3> note_words{
    {{"never", Notes::never}, {"changes", Notes::changes}, {"all", Notes::all}}};

Reader::Handler exclusive(const Reader& reader, std::optional<Exclusive>& to) {
    return [&reader, &to](const toml::node& value) {
        if (const auto v = value.as_boolean()) {
            to = v->get() ? Exclusive::always : Exclusive::never;
        } else if (const auto s = value.as_string(); s != nullptr && s->get() == "auto") {
            to = Exclusive::when_safe;
        } else {
            reader.complain(value, fmt::format("expected true, false or \"auto\", not {}",
                                               Reader::shown(value)));
        }
    };
}

Reader::Keys gang_keys(const Reader& reader, Overlay& to) {
    return {{"mode", reader.word(to.gang_mode, modes)},
            {"exclusive", exclusive(reader, to.exclusive)},
            {"partial", reader.word(to.partial, partials)},
            {"isolation_note", reader.flag(to.isolation_note)},
            {"sockets_note", reader.flag(to.sockets_note)},
            {"gpus_per_node", reader.number(to.gpus_per_node, 1, 1024)}};
}

Reader::Keys lemons_keys(const Reader& reader, Overlay& to) {
    return {{"mode", reader.word(to.lemons_mode, modes)},
            {"min_nodes", reader.number(to.lemons_min_nodes, 1, 65533)}};
}

/// The keys that any layer may have; a layer with more appends its own.
Reader::Keys overlay_keys(const Reader& reader, Overlay& to) {
    return {{"enabled", reader.flag(to.enabled)},
            {"mode", reader.word(to.mode, modes)},
            {"gang", reader.table([&reader, &to](const toml::table& t) {
                 reader.each(t, gang_keys(reader, to));
             })},
            {"placement", reader.table([&reader, &to](const toml::table& t) {
                 read_placement(reader, t, to);
             })},
            {"lemons", reader.table([&reader, &to](const toml::table& t) {
                 reader.each(t, lemons_keys(reader, to));
             })},
            {"checkpoint", reader.table([&reader, &to](const toml::table& t) {
                 read_checkpoint(reader, t, to.checkpoint);
             })}};
}

void read_partitions(const Reader& reader, const toml::table& table, Policy& policy) {
    for (const auto& [key, value] : table) {
        PartitionOverlay partition{std::string{key.str()}, {}, reader.position(key.source())};
        reader.table([&](const toml::table& t) {
            reader.each(t, overlay_keys(reader, partition.overlay));
        })(value);
        policy.partitions.push_back(std::move(partition));
    }
}

Reader::Keys match_keys(const Reader& reader, Rule& rule) {
    return {{"partition", reader.texts(rule.partitions)},
            {"account", reader.texts(rule.accounts)},
            {"qos", reader.texts(rule.qos)},
            {"min_gpus", reader.number(rule.min_gpus, 0, INT32_MAX)},
            {"max_gpus", reader.number(rule.max_gpus, 0, INT32_MAX)}};
}

void read_rule(const Reader& reader, const toml::table& table, Policy& policy) {
    Rule rule;
    auto keys = overlay_keys(reader, rule.overlay);
    keys.emplace_back("name", reader.text(rule.name));
    keys.emplace_back("match", reader.table([&](const toml::table& t) {
        reader.each(t, match_keys(reader, rule));
    }));
    reader.each(table, keys);
    if (rule.name.empty()) {
        reader.complain(table, "a [[rule]] needs a name, for the log and for notes");
    } else if (std::ranges::find(policy.rules, rule.name, &Rule::name) != policy.rules.end()) {
        reader.complain(table, fmt::format("two rules are named \"{}\"", printable(rule.name)));
    }
    if (rule.min_gpus > rule.max_gpus) {
        reader.complain(table, fmt::format("min_gpus {} is above max_gpus {}: the rule never matches",
                                           rule.min_gpus, rule.max_gpus));
    }
    policy.rules.push_back(std::move(rule));
}

void read_rules(const Reader& reader, const toml::node& value, Policy& policy) {
    const auto list = value.as_array();
    if (list == nullptr) {
        reader.complain(value, "rules are written [[rule]], with two brackets");
        return;
    }
    for (const auto& element : *list) {
        reader.table([&](const toml::table& t) { read_rule(reader, t, policy); })(element);
    }
}

void read_policy(const Reader& reader, const toml::table& root, Policy& policy) {
    std::optional<Notes> notes;
    auto keys = overlay_keys(reader, policy.global);
    // The file is the site's: a layer has none of its own.
    std::erase_if(keys, [](const auto& key) { return key.first == "lemons"; });
    keys.emplace_back("lemons", reader.table([&](const toml::table& t) {
        auto own = lemons_keys(reader, policy.global);
        own.emplace_back("file", reader.text(policy.lemons));
        reader.each(t, own);
    }));
    keys.emplace_back("gate", reader.table([&](const toml::table& t) {
        read_gate(reader, t, policy.gate);
    }));
    keys.emplace_back("notes", reader.word(notes, note_words));
    keys.emplace_back("user_off", reader.flag(policy.user_off));
    keys.emplace_back("slurm_conf", reader.text(policy.slurm_conf));
    keys.emplace_back("topology", reader.text(policy.topology));
    keys.emplace_back("partition", reader.table([&](const toml::table& t) {
        read_partitions(reader, t, policy);
    }));
    keys.emplace_back("rule",
                      [&](const toml::node& value) { read_rules(reader, value, policy); });
    keys.emplace_back("node_type", [&](const toml::node& value) {
        read_node_types(reader, value, policy);
    });
    reader.each(root, keys);
    policy.notes = notes.value_or(policy.notes);
}

}  // namespace

std::optional<std::uint32_t> parse_seconds(std::string_view text) {
    if (text.find(':') != std::string_view::npos) {
        return parse_clock(text);
    }
    constexpr std::array<std::pair<char, std::uint32_t>, 4> units{
        {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', day_s}}};
    std::uint32_t factor = 1;
    if (!text.empty()) {
        const auto unit = std::ranges::find(units, text.back(), &std::pair<char, std::uint32_t>::first);
        if (unit != units.end()) {
            factor = unit->second;
            text = trim(text.substr(0, text.size() - 1));
        }
    }
    const auto number = parse_number<std::uint32_t>(text);
    if (!number || std::uint64_t{*number} * factor > UINT32_MAX) {
        return std::nullopt;
    }
    return *number * factor;
}

tl::expected<Policy, std::vector<Error>> parse_policy(std::string_view text,
                                                      const std::string& file) {
    Policy policy;
    auto errors = read_toml(text, file, [&](const toml::table& root, std::vector<Error>& found) {
        read_policy(Reader{file, root, found}, root, policy);
    });
    if (!errors.empty()) {
        return tl::unexpected{std::move(errors)};
    }
    return policy;
}

}  // namespace railhead::policy
