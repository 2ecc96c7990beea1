// The keys of [checkpoint]: how often gangs are to write one, and what becomes of jobs that can.
#include <algorithm>
#include <cmath>
#include <memory>

#include "checkpoint/mtbf.hpp"
#include "checkpoint/wish.hpp"
#include "policy/site_variable.hpp"
#include "policy/reader.hpp"

namespace railhead::policy {

namespace {

using checkpoint::Target;

constexpr std::array<std::pair<std::string_view, Undeclared>, 4> undeclared_words{
    {{"ignore", Undeclared::ignore},
     {"advise", Undeclared::advise},
     {"refuse", Undeclared::refuse},
     {"cap", Undeclared::cap}}};
constexpr std::array<std::pair<std::string_view, LongInterval>, 3> interval_words{
    {{"ignore", LongInterval::ignore},
     {"advise", LongInterval::advise},
     {"refuse", LongInterval::refuse}}};
constexpr std::array<std::pair<std::string_view, Target>, 4> target_words{
    {{"auto", Target::unsaid},
     {"batch", Target::batch},
     {"tasks", Target::tasks},
     {"rank0", Target::rank0}}};

/// A published rate as `railhead ckpt --rate` takes it.
void read_rate_name(const Reader& reader, const toml::node& value, const std::string& name,
                    std::optional<double>& to) {
    if (const auto* rate = checkpoint::find_rate(name)) {
        to = rate->per_1000_node_days;
        return;
    }
    std::vector<std::string_view> names;
    std::string list;
    for (const auto& rate : checkpoint::published_rates()) {
        names.push_back(rate.name);
        list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", rate.name);
    }
    const auto near = nearest_name(name, names);
    reader.complain(value, near ? fmt::format("no rate is named {}, did you mean \"{}\"?",
                                              Reader::shown(value), *near)
                                : fmt::format("no rate is named {}: expected failures per 1000 "
                                              "node-days, or one of {}",
                                              Reader::shown(value), list));
}

/// Failures per 1000 node-days: a number, or the name of one that is published.
Reader::Handler rate(const Reader& reader, std::optional<double>& to) {
    constexpr double least = 0.001;
    constexpr double most = 1e6;
    return [=, &reader, &to](const toml::node& value) {
        if (const auto* name = value.as_string()) {
            read_rate_name(reader, value, name->get(), to);
        } else {
            reader.fraction(to, least, most)(value);
        }
    };
}

/// A time of a second or more, and at most a year.
Reader::Handler time(const Reader& reader, std::optional<std::uint32_t>& to) {
    constexpr std::uint32_t most_s = 365 * 24 * 3600;
    return [&reader, &to](const toml::node& value) {
        std::optional<std::uint32_t> read;
        reader.seconds(read)(value);
        if (read && (*read == 0 || *read > most_s)) {
            reader.complain(value, "expected a time from 1 s to 365 d");
        } else if (read) {
            to = read;
        }
    };
}

/// A signal's name; "none" for no signal.
Reader::Handler signal(const Reader& reader, std::optional<int>& to) {
    return [&reader, &to](const toml::node& value) {
        const auto* text = value.as_string();
        if (text == nullptr) {
            reader.complain(value,
                            fmt::format("expected text in quotes, not {}", Reader::kind(value)));
            return;
        }
        if (text->get() == "none") {
            to = 0;
            return;
        }
        const auto wish = checkpoint::parse_signal_wish(text->get());
        if (!wish) {
            reader.complain(value, wish.error().message);
        } else if (wish->target != Target::unsaid) {
            reader.complain(value, fmt::format("{} names a target: that is signal_to = \"{}\"",
                                               Reader::shown(value), to_string(wish->target)));
        } else {
            to = wish->number;
        }
    };
}

/// Names of variables that a job may declare by.
Reader::Handler variables(const Reader& reader, CheckpointOverlay& to) {
    return [&reader, &to](const toml::node& value) {
        std::vector<std::string> names;
        const auto take = [&](const toml::node& element) {
            auto& name = names.emplace_back();
            reader.text(name)(element);
            if (element.is_string() && !is_variable_name(name)) {
                reader.complain(element,
                                fmt::format("{} is no variable: a name is made of letters, digits "
                                            "and \"_\"",
                                            Reader::shown(element)));
            } else if (name.starts_with("RAILHEAD") || name.starts_with("SLURM")) {
                reader.complain(element, fmt::format("{} cannot stand here: jobs have it without "
                                                     "being asked",
                                                     Reader::shown(element)));
            }
        };
        if (const auto* list = value.as_array()) {
            std::ranges::for_each(*list, take);
        } else {
            take(value);
        }
        to.declares = std::make_shared<const std::vector<std::string>>(std::move(names));
    };
}

Reader::Keys checkpoint_keys(const Reader& reader, CheckpointOverlay& to) {
    constexpr std::int64_t most_nodes = 65533;
    constexpr double most_times = 1000;
    constexpr std::int64_t most_attempts = 1000;
    return {{"mode", reader.word(to.mode, modes)},
            {"min_nodes", reader.number(to.min_nodes, 1, most_nodes)},
            {"failures", rate(reader, to.per_1000_node_days)},
            {"cost", time(reader, to.cost_s)},
            {"step", time(reader, to.step_s)},
            {"restart", time(reader, to.restart_s)},
            {"undeclared", reader.word(to.undeclared, undeclared_words)},
            {"declare_above", reader.number(to.declare_above, 0, most_nodes)},
            {"undeclared_time", time(reader, to.undeclared_time_s)},
            {"long_interval", reader.word(to.long_interval, interval_words)},
            {"most_interval", reader.fraction(to.most_interval, 1, most_times)},
            {"declares", variables(reader, to)},
            {"signal", signal(reader, to.signal)},
            {"signal_to", reader.word(to.signal_to, target_words)},
            {"requeue", reader.flag(to.requeue)},
            {"append", reader.flag(to.append)},
            {"clock", reader.flag(to.clock)},
            {"attempts", reader.number(to.attempts, 0, most_attempts)}};
}

/// A key that another one needs, in the same layer or at the top of the file.
void check_beside(const Reader& reader, const toml::table& table, std::string_view needed,
                  std::string_view why) {
    if (table.get(needed) == nullptr && !reader.is_at_top("checkpoint", needed)) {
        const auto& word = *table.get("undeclared");
        reader.complain(word, fmt::format("{} needs \"{}\", here or at the top of the file: {}",
                                          Reader::shown(word), needed, why));
    }
}

}  // namespace

void read_checkpoint(const Reader& reader, const toml::table& table, CheckpointOverlay& to) {
    reader.each(table, checkpoint_keys(reader, to));
    if (to.undeclared.value_or(Undeclared::ignore) != Undeclared::ignore) {
        check_beside(reader, table, "declare_above", "the nodes above which jobs are to declare");
    }
    if (to.undeclared == Undeclared::cap) {
        check_beside(reader, table, "undeclared_time", "how long the others may run");
    }
    constexpr std::uint32_t minute_s = 60;
    if (to.undeclared_time_s && *to.undeclared_time_s < minute_s) {
        reader.complain(*table.get("undeclared_time"),
                        "a time limit is a minute at least: expected a time such as \"1h\"");
    }
}

}  // namespace railhead::policy
