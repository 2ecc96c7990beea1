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
    Reader(std::string file, const toml::table& root, std::vector<Error>& errors)
        : file_{std::move(file)}, root_{root}, errors_{errors} {}

    /// Whether the top of the file has `key` in its table `table`, which every layer lies over.
    bool is_at_top(std::string_view table, std::string_view key) const {
        return static_cast<bool>(root_[table][key]);
    }

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
    /// A whole number or a fraction.
    template <class T>
    Handler fraction(T& to, double least, double most) const {
        return [this, &to, least, most](const toml::node& value) {
            if (const auto v = read_fraction(value, least, most)) {
                to = *v;
            }
        };
    }
    /// A list of numbers, or one alone, a level each; complains and gives nothing when one is wrong.
    std::optional<Price> levels(const toml::node& value, double least, double most) const {
        Price price;
        const auto add = [&](const toml::node& element) {
            const auto number = read_fraction(element, least, most);
            price.by_level[price.levels++] = number.value_or(0);
            return number.has_value();
        };
        const auto list = value.as_array();
        if (list == nullptr) {
            return add(value) ? std::optional{price} : std::nullopt;
        }
        if (list->empty() || list->size() > most_levels) {
            complain(value, fmt::format("expected 1 to {} numbers, one a level, not {}",
                                        most_levels, list->size()));
            return std::nullopt;
        }
        bool right = true;
        for (const auto& element : *list) {
            right = add(element) && right;
        }
        return right ? std::optional{price} : std::nullopt;
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
    std::optional<double> read_fraction(const toml::node& value, double least, double most) const {
        const auto number = value.value<double>();
        if (!value.is_number()) {
            complain(value, fmt::format("expected a number, not {}", kind(value)));
        } else if (!number || !(*number >= least && *number <= most)) {  // NaN is neither
            complain(value, fmt::format("{} is not within {} to {}", number.value_or(0), least, most));
        } else {
            return number;
        }
        return std::nullopt;
    }
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
    const toml::table& root_;
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

/// A node feature, as --prefer takes it: it is joined with others by "&".
Reader::Handler feature(const Reader& reader, std::optional<std::string>& to) {
    return [&reader, &to](const toml::node& value) {
        const auto v = value.as_string();
        if (v == nullptr) {
            reader.complain(value, fmt::format("expected text in quotes, not {}", Reader::kind(value)));
        } else if (v->get().find_first_of("|&[]()*,!: \t") != std::string::npos) {
            reader.complain(value, fmt::format("expected one node feature, not {}", Reader::shown(value)));
        } else {
            to = v->get();
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

/// Takes a key that says what waiting is worth.
void put_price(std::optional<Price> read, PriceFrom from, Overlay& to) {
    if (read) {
        read->from = from;
        to.price = *read;
    }
}

void read_bandwidth(const Reader& reader, const toml::node& value, Overlay& to) {
    constexpr double least_gb_s = 0.001;
    constexpr double most_gb_s = 1e6;
    const auto price = reader.levels(value, least_gb_s, most_gb_s);
    if (!price) {
        return;
    }
    if (price->levels < 2) {
        reader.complain(value, "expected two bandwidths or more: within a leaf, then across leaves");
        return;
    }
    for (std::size_t i = 1; i < price->levels; ++i) {
        if (price->by_level[i] > price->by_level[i - 1]) {
            reader.complain(value, fmt::format("{} GB/s follow {}: no level is faster than the one "
                                               "below it", price->by_level[i], price->by_level[i - 1]));
            return;
        }
    }
    put_price(price, PriceFrom::bus_bandwidth, to);
}

Reader::Keys price_keys(const Reader& reader, Overlay& to) {
    constexpr double most_slowdown = 10;
    constexpr double most_oversubscription = 1000;
    return {{"slowdown", [=, &reader, &to](const toml::node& value) {
                 put_price(reader.levels(value, 0, most_slowdown), PriceFrom::slowdown, to);
             }},
            {"bus_bandwidth", [&reader, &to](const toml::node& value) {
                 read_bandwidth(reader, value, to);
             }},
            {"oversubscription", [=, &reader, &to](const toml::node& value) {
                 put_price(reader.levels(value, 1, most_oversubscription),
                           PriceFrom::oversubscription, to);
             }},
            {"wait", [&reader, &to](const toml::node& value) {
                 std::optional<std::uint32_t> wait_s;
                 reader.seconds(wait_s)(value);
                 put_price(wait_s ? std::optional{Price{{}, {}, 0, *wait_s}} : std::nullopt,
                           PriceFrom::wait, to);
             }}};
}

Reader::Keys placement_keys(const Reader& reader, Overlay& to) {
    auto keys = price_keys(reader, to);
    keys.emplace_back("mode", reader.word(to.placement_mode, modes));
    keys.emplace_back("override", reader.flag(to.override_user));
    keys.emplace_back("communication", reader.fraction(to.communication, 0, 1));
    keys.emplace_back("run_time", reader.seconds(to.run_time_s));
    keys.emplace_back("wait_least", reader.seconds(to.wait_least_s));
    keys.emplace_back("wait_most", reader.seconds(to.wait_most_s));
    keys.emplace_back("set_aside", feature(reader, to.set_aside));
    keys.emplace_back("model_parallel_group", reader.number(to.model_parallel_group, 1, 65533));
    return keys;
}

/// One layer has one price, and all that it needs.
void check_price(const Reader& reader, const toml::table& table) {
    std::vector<const toml::key*> found;
    for (const auto& [key, unused] : table) {
        for (const auto* price : {"bus_bandwidth", "oversubscription", "slowdown", "wait"}) {
            if (key.str() == price) {
                found.push_back(&key);
            }
        }
    }
    const auto place = [](const toml::key* key) {
        return std::pair{key->source().begin.line, key->source().begin.column};
    };
    std::ranges::sort(found, {}, place);
    for (const auto* key : found) {
        const bool needs_share = key->str() == "bus_bandwidth" || key->str() == "oversubscription";
        if (needs_share && table.get("communication") == nullptr &&
            !reader.is_at_top("placement", "communication")) {
            reader.complain(key->source(),
                            fmt::format("\"{}\" needs \"communication\", here or at the top of the "
                                        "file: the share of a step that is communication",
                                        key->str()));
        }
    }
    for (std::size_t i = 1; i < found.size(); ++i) {
        reader.complain(found[i]->source(),
                        fmt::format("\"{}\" beside \"{}\" of line {}: one of them says what "
                                    "waiting is worth, take out the other",
                                    found[i]->str(), found[0]->str(),
                                    found[0]->source().begin.line));
    }
}

void read_placement(const Reader& reader, const toml::table& table, Overlay& to) {
    reader.each(table, placement_keys(reader, to));
    check_price(reader, table);
    if (to.wait_least_s && to.wait_most_s && *to.wait_least_s > *to.wait_most_s) {
        reader.complain(*table.get("wait_least"),
                        fmt::format("wait_least {} is above wait_most {}",
                                    duration_text(*to.wait_least_s), duration_text(*to.wait_most_s)));
    }
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
    read_policy(Reader{file, parsed.table(), errors}, parsed.table(), policy);
    if (!errors.empty()) {
        std::ranges::stable_sort(errors, {}, [](const Error& e) {
            return std::pair{e.where.line, e.where.column};
        });
        return tl::unexpected{std::move(errors)};
    }
    return policy;
}

}  // namespace railhead::policy
