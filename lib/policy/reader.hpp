// Reading TOML into a policy: what only a policy has.  Inside of the policy's parser.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/toml_reader.hpp"
#include "policy/parse.hpp"
#include "policy/policy.hpp"

namespace railhead::policy {

class Reader : public TomlReader {
 public:
    using TomlReader::TomlReader;

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
    /// A list of numbers, or one alone, a level each; complains and gives nothing when one is wrong.
    std::optional<Price> levels(const toml::node& value, double least, double most) const;
};

constexpr std::array<std::pair<std::string_view, Mode>, 3> modes{
    {{"observe", Mode::observe}, {"advise", Mode::advise}, {"enforce", Mode::enforce}}};

/// parse_placement.cpp: the table "placement" of one layer.
void read_placement(const Reader& reader, const toml::table& table, Overlay& to);
/// parse_checkpoint.cpp: the table "checkpoint" of one layer.
void read_checkpoint(const Reader& reader, const toml::table& table, CheckpointOverlay& to);
/// parse_gate.cpp: the table "gate" at the top of the file.
void read_gate(const Reader& reader, const toml::table& table, GateTargets& to);

}  // namespace railhead::policy
