// The only user of toml++.
//
// Debian builds packages without NDEBUG, and toml++ 3.3 and 3.4 assert on some broken input
// ("[\no"): that would abort slurmctld.  Without the assert they return a proper error.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>

#include "policy/parse.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"

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

/// Collects what is wrong with one file.
class Reader {
   public:
    Reader(std::string file, std::vector<Error>& errors)
        : file_{std::move(file)}, errors_{errors} {}

    void complain(const toml::source_region& at, std::string message) const {
        errors_.push_back({Errc::bad_input, std::move(message), position(at)});
    }
    void complain(const toml::node& at, std::string message) const {
        complain(at.source(), std::move(message));
    }
    Position position(const toml::source_region& at) const {
        return {file_, at.begin.line, at.begin.column};
    }

    /// What is done with one key: reads `value` into the policy, or complains.
    using Handler = std::function<void(const toml::node& value)>;
    using Keys = std::vector<std::pair<std::string_view, Handler>>;

    /// Every key of `table` goes to its handler; unknown ones are errors with a suggestion.
    void each(const toml::table& table, const Keys& keys) const {
        for (const auto& [key, value] : table) {
            const auto found = std::ranges::find(keys, key.str(), &Keys::value_type::first);
            if (found != keys.end()) {
                found->second(value);
            } else {
                complain_unknown(key, keys);
            }
        }
    }

    Handler flag(std::optional<bool>& to) const {
        return [this, &to](const toml::node& value) {
            if (const auto v = value.as_boolean()) {
                to = v->get();
            } else {
                complain(value, fmt::format("expected true or false, not {}", kind(value)));
            }
        };
    }
    Handler flag(bool& to) const {
        return [this, &to](const toml::node& value) {
            std::optional<bool> read;
            flag(read)(value);
            to = read.value_or(to);
        };
    }
    Handler text(std::string& to) const {
        return [this, &to](const toml::node& value) {
            if (const auto v = value.as_string()) {
                to = v->get();
            } else {
                complain(value, fmt::format("expected text in quotes, not {}", kind(value)));
            }
        };
    }
    Handler texts(std::vector<std::string>& to) const {
        return [this, &to](const toml::node& value) {
            if (const auto list = value.as_array()) {
                for (const auto& element : *list) {
                    text(to.emplace_back())(element);
                }
            } else {
                text(to.emplace_back())(value);
            }
        };
    }
    template <class T>
    Handler number(T& to, std::int64_t least, std::int64_t most) const {
        return [this, &to, least, most](const toml::node& value) {
            const auto v = value.as_integer();
            if (v == nullptr) {
                complain(value, fmt::format("expected a whole number, not {}", kind(value)));
            } else if (v->get() < least || v->get() > most) {
                complain(value, fmt::format("{} is not within {} to {}", v->get(), least, most));
            } else {
                to = static_cast<std::uint32_t>(v->get());
            }
        };
    }
    template <class T>
    Handler seconds(T& to) const {
        return [this, &to](const toml::node& value) {
            std::optional<std::uint32_t> read;
            if (const auto v = value.as_integer(); v != nullptr && v->get() >= 0) {
                read = parse_number<std::uint32_t>(fmt::format("{}", v->get()));
            } else if (const auto s = value.as_string()) {
                read = parse_seconds(s->get());
            }
            if (read) {
                to = *read;
            } else {
                complain(value, "expected a time such as 300, \"90s\", \"10m\", \"2h\" or \"1d\"");
            }
        };
    }
    /// One of a few words.
    template <class T, std::size_t N>
    Handler word(std::optional<T>& to,
                 const std::array<std::pair<std::string_view, T>, N>& words) const {
        return [this, &to, words](const toml::node& value) {
            const auto v = value.as_string();
            const auto found = std::ranges::find_if(
                words, [&](const auto& w) { return v != nullptr && w.first == v->get(); });
            if (found != words.end()) {
                to = found->second;
                return;
            }
            std::string list;
            for (const auto& [name, unused] : words) {
                list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
            }
            complain(value, fmt::format("expected one of {}, not {}", list, shown(value)));
        };
    }
    /// A sub-table, handed on.
    Handler table(std::function<void(const toml::table&)> read) const {
        return [this, read = std::move(read)](const toml::node& value) {
            if (const auto v = value.as_table()) {
                read(*v);
            } else {
                complain(value, fmt::format("expected a table, not {}", kind(value)));
            }
        };
    }

    static std::string kind(const toml::node& value) {
        switch (value.type()) {
            case toml::node_type::table: return "a table";
            case toml::node_type::array: return "a list";
            case toml::node_type::string: return "text";
            case toml::node_type::integer: return "a whole number";
            case toml::node_type::floating_point: return "a fraction";
            case toml::node_type::boolean: return "true or false";
            default: return "a date or time";
        }
    }
    static std::string shown(const toml::node& value) {
        const auto v = value.as_string();
        return v != nullptr ? fmt::format("\"{}\"", printable(v->get())) : kind(value);
    }

   private:
    void complain_unknown(const toml::key& key, const Keys& keys) const {
        std::vector<std::string_view> names;
        for (const auto& [name, unused] : keys) {
            names.push_back(name);
        }
        const auto near = nearest_name(key.str(), names);
        complain(key.source(), fmt::format("unknown key \"{}\"{}", printable(key.str()),
                                           near ? fmt::format(", did you mean \"{}\"?", *near)
                                                : std::string{}));
    }

    std::string file_;
    std::vector<Error>& errors_;
};

constexpr std::array<std::pair<std::string_view, Mode>, 3> modes{
    {{"observe", Mode::observe}, {"advise", Mode::advise}, {"enforce", Mode::enforce}}};
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
            {"gpus_per_node", reader.number(to.gpus_per_node, 1, 1024)}};
}

Reader::Keys placement_keys(const Reader& reader, Overlay& to) {
    return {{"mode", reader.word(to.placement_mode, modes)},
            {"override", reader.flag(to.override_user)},
            {"wait", reader.seconds(to.wait_s)},
            {"model_parallel_group", reader.number(to.model_parallel_group, 1, 65533)}};
}

/// The keys that any layer may have; a layer with more appends its own.
Reader::Keys overlay_keys(const Reader& reader, Overlay& to) {
    return {{"enabled", reader.flag(to.enabled)},
            {"mode", reader.word(to.mode, modes)},
            {"gang", reader.table([&reader, &to](const toml::table& t) {
                 reader.each(t, gang_keys(reader, to));
             })},
            {"placement", reader.table([&reader, &to](const toml::table& t) {
                 reader.each(t, placement_keys(reader, to));
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
    keys.emplace_back("notes", reader.word(notes, note_words));
    keys.emplace_back("user_off", reader.flag(policy.user_off));
    keys.emplace_back("slurm_conf", reader.text(policy.slurm_conf));
    keys.emplace_back("topology", reader.text(policy.topology));
    keys.emplace_back("partition", reader.table([&](const toml::table& t) {
        read_partitions(reader, t, policy);
    }));
    keys.emplace_back("rule",
                      [&](const toml::node& value) { read_rules(reader, value, policy); });
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
    auto parsed = toml::parse(text, file);
    std::vector<Error> errors;
    if (!parsed) {
        const auto& error = parsed.error();
        errors.push_back({Errc::bad_input, std::string{error.description()},
                          {file, error.source().begin.line, error.source().begin.column}});
        return tl::unexpected{std::move(errors)};
    }
    Policy policy;
    read_policy(Reader{file, errors}, parsed.table(), policy);
    if (!errors.empty()) {
        std::ranges::stable_sort(errors, {}, [](const Error& e) {
            return std::pair{e.where.line, e.where.column};
        });
        return tl::unexpected{std::move(errors)};
    }
    return policy;
}

}  // namespace railhead::policy
