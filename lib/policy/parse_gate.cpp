// The keys of [gate]: what `railhead gate` holds a cluster and its jobs against.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "policy/reader.hpp"

namespace railhead::policy {

namespace {

void set(const Reader& reader, const toml::node& value, std::optional<double> read,
         std::optional<GateTarget>& to) {
    if (read) {
        to = GateTarget{*read, reader.position(value.source())};
    }
}

/// A share, written as 0.45; 0 is no target.
Reader::Handler share(const Reader& reader, std::optional<GateTarget>& to) {
    return [&reader, &to](const toml::node& value) {
        constexpr double least = 0.0001;
        constexpr double hundred = 100;
        const auto number = value.value<double>();
        if (value.is_number() && number && *number > 1 && *number <= hundred) {
            reader.complain(value, fmt::format("{:g} is no share of 1: {:g} % is {:g}", *number,
                                               *number, *number / hundred));
            return;
        }
        std::optional<double> read;
        reader.fraction(read, least, 1)(value);
        set(reader, value, read, to);
    };
}

Reader::Handler times(const Reader& reader, std::optional<GateTarget>& to) {
    return [&reader, &to](const toml::node& value) {
        constexpr double most = 1000;
        std::optional<double> read;
        reader.fraction(read, 1, most)(value);
        set(reader, value, read, to);
    };
}

Reader::Handler time(const Reader& reader, std::optional<GateTarget>& to) {
    return [&reader, &to](const toml::node& value) {
        std::optional<std::uint32_t> read;
        reader.seconds(read)(value);
        set(reader, value, read ? std::optional{static_cast<double>(*read)} : std::nullopt, to);
    };
}

/// One share for all accelerators, or a table of them by name.
Reader::Handler mfu(const Reader& reader, GateTargets& to) {
    return [&reader, &to](const toml::node& value) {
        const auto* table = value.as_table();
        if (table == nullptr) {
            share(reader, to.mfu)(value);
            return;
        }
        for (const auto& [name, target] : *table) {
            std::optional<GateTarget> read;
            share(reader, read)(target);
            if (read) {
                to.mfu_of.push_back({std::string{name.str()}, *std::move(read)});
            }
        }
    };
}

}  // namespace

void read_gate(const Reader& reader, const toml::table& table, GateTargets& to) {
    reader.each(table, {{"mfu", mfu(reader, to)},
                        {"all_reduce", share(reader, to.all_reduce)},
                        {"interval", times(reader, to.interval)},
                        {"recovery", time(reader, to.recovery_s)},
                        {"completion", share(reader, to.completion)},
                        {"idle", time(reader, to.idle_s)},
                        {"utilization", share(reader, to.utilization)},
                        {"checkpoint", share(reader, to.checkpoint_share)},
                        {"loader", share(reader, to.loader_share)}});
}

}  // namespace railhead::policy
