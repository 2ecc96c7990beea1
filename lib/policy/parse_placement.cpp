// The keys of [placement]: what waiting is worth, and where jobs are steered.
#include <algorithm>

#include "policy/reader.hpp"

namespace railhead::policy {

namespace {

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
    constexpr double most_times = 1000;
    auto keys = price_keys(reader, to);
    keys.emplace_back("mode", reader.word(to.placement_mode, modes));
    keys.emplace_back("override", reader.flag(to.override_user));
    keys.emplace_back("communication", reader.fraction(to.communication, 0, 1));
    keys.emplace_back("run_time", reader.seconds(to.run_time_s));
    keys.emplace_back("wait_least", reader.seconds(to.wait_least_s));
    keys.emplace_back("wait_most", reader.seconds(to.wait_most_s));
    keys.emplace_back("below_leaf", reader.fraction(to.below_leaf, 1, most_times));
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

}  // namespace

void read_placement(const Reader& reader, const toml::table& table, Overlay& to) {
    reader.each(table, placement_keys(reader, to));
    check_price(reader, table);
    if (to.wait_least_s && to.wait_most_s && *to.wait_least_s > *to.wait_most_s) {
        reader.complain(*table.get("wait_least"),
                        fmt::format("wait_least {} is above wait_most {}",
                                    duration_text(*to.wait_least_s), duration_text(*to.wait_most_s)));
    }
}

}  // namespace railhead::policy
