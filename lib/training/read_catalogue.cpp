// The TOML of a catalogue: [[accelerator]], [[nic]] and [[model]].
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "base/toml_reader.hpp"
#include "training/catalogue.hpp"
#include "training/flops.hpp"

namespace railhead::training {

namespace {

constexpr double giga = 1e9;
constexpr double mebi = 1024.0 * 1024.0;
constexpr std::int64_t most_size = std::int64_t{1} << 40U;

constexpr std::array<std::pair<std::string_view, Mlp>, 2> mlp_words{
    {{"plain", Mlp::plain}, {"gated", Mlp::gated}}};
constexpr std::array<std::pair<std::string_view, Bias>, 3> bias_words{
    {{"none", Bias::none}, {"attention-inputs", Bias::attention_inputs}, {"all", Bias::all}}};

class CatalogueReader : public TomlReader {
 public:
    CatalogueReader(const std::string& file, const toml::table& root, std::vector<Error>& errors)
        : TomlReader{file, root, errors}, errors_{errors} {}

    [[nodiscard]] std::size_t complaints() const { return errors_.size(); }

    /// A number above 0, in units of `unit`.
    template <class T>
    [[nodiscard]] Handler amount(T& to, double unit = 1) const {
        return [this, &to, unit](const toml::node& value) {
            constexpr double least = 1e-6;
            constexpr double most = 1e18;
            std::optional<double> read;
            fraction(read, least, most)(value);
            if (read) {
                to = *read * unit;
            }
        };
    }
    /// A size of a model.
    [[nodiscard]] Handler size(std::uint64_t& to) const { return count(to, 0, most_size); }
    /// A list of texts that takes the place of the one before.
    [[nodiscard]] Handler list(std::vector<std::string>& to) const {
        return [this, &to](const toml::node& value) {
            to.clear();
            texts(to)(value);
        };
    }

 private:
    std::vector<Error>& errors_;
};

using Keys = TomlReader::Keys;

std::optional<double>& peak_of(Accelerator& to, Precision precision) {
    switch (precision) {
        case Precision::fp32:
            return to.fp32_tflops;
        case Precision::tf32:
            return to.tf32_tflops;
        case Precision::bf16:
            return to.bf16_tflops;
        case Precision::fp16:
            return to.fp16_tflops;
        case Precision::fp8:
            return to.fp8_tflops;
        case Precision::fp4:
            break;
    }
    return to.fp4_tflops;
}

Keys peak_keys(const CatalogueReader& reader, Accelerator& to) {
    Keys keys;
    for (const auto precision : precisions()) {
        keys.emplace_back(to_string(precision), reader.amount(peak_of(to, precision)));
    }
    return keys;
}

std::array<std::pair<std::string_view, Precision>, 6> precision_words() {
    std::array<std::pair<std::string_view, Precision>, 6> words;
    std::ranges::transform(precisions(), words.begin(), [](Precision p) {
        return std::pair{to_string(p), p};
    });
    return words;
}

void read_highest(const CatalogueReader& reader, const toml::node& value, Accelerator& to) {
    const auto list = value.as_array();
    if (list == nullptr) {
        reader.complain(value, "written [[accelerator.highest_mfu]], with two brackets");
        return;
    }
    to.highest_mfu.clear();
    for (const auto& element : *list) {
        reader.table([&](const toml::table& table) {
            auto& run = to.highest_mfu.emplace_back();
            constexpr double percent = 100;
            reader.each(table, {{"precision", reader.word(run.precision, precision_words())},
                                {"percent",
                                 [&](const toml::node& node) {
                                     double read = 0;
                                     reader.fraction(read, 0, percent)(node);
                                     run.share = read / percent;
                                 }},
                                {"source", reader.text(run.source)},
                                {"convention", reader.text(run.convention)}});
            if (!run.convention.empty()) {
                if (const auto known = find_convention(run.convention); !known) {
                    reader.complain(table, known.error().message);
                }
            }
        })(element);
    }
}

void read_row(const CatalogueReader& reader, const toml::table& table, Accelerator& to) {
    const auto peaks = [&](const toml::table& t) { reader.each(t, peak_keys(reader, to)); };
    const auto matmuls = [&](const toml::table& t) {
        reader.each(t, {{"bf16", reader.amount(to.measured_bf16_tflops)},
                        {"fp8", reader.amount(to.measured_fp8_tflops)}});
    };
    const auto memory = [&](double unit, bool as_sold) {
        return [&reader, &to, unit, as_sold](const toml::node& node) {
            to.memory_as_sold = as_sold;
            reader.amount(to.memory_bytes, unit)(node);
        };
    };
    const auto before = reader.complaints();
    reader.each(table,
                {{"name", reader.text(to.name)},
                 {"aliases", reader.list(to.aliases)},
                 {"dense_tflops", reader.table(peaks)},
                 {"matmul_tflops", reader.table(matmuls)},
                 {"memory_gb", memory(giga, true)},
                 {"memory_mib", memory(mebi, false)},
                 {"memory_bandwidth_gb_s", reader.amount(to.memory_bytes_per_s, giga)},
                 {"scale_up_gb_s", reader.amount(to.scale_up_bytes_per_s, giga)},
                 {"pcie_gb_s", reader.amount(to.pcie_bytes_per_s, giga)},
                 {"power_w", reader.amount(to.power_w)},
                 {"per_node", reader.number(to.per_node, 1, 1024)},
                 {"highest_mfu", [&](const toml::node& node) { read_highest(reader, node, to); }},
                 {"source", reader.text(to.source)},
                 {"note", reader.text(to.note)},
                 {"unverified", reader.list(to.unverified)}});
    const bool has_peak = std::ranges::any_of(
        precisions(), [&](Precision p) { return to.peak_tflops(p).has_value(); });
    if (reader.complaints() != before) {
        return;
    }
    if (!has_peak || to.memory_bytes == 0 || to.memory_bytes_per_s == 0) {
        reader.complain(table, fmt::format("the accelerator \"{}\" needs dense_tflops, memory_gb "
                                           "(or memory_mib) and memory_bandwidth_gb_s",
                                           printable(to.name)));
    }
}

void read_row(const CatalogueReader& reader, const toml::table& table, Nic& to) {
    const auto before = reader.complaints();
    reader.each(table, {{"name", reader.text(to.name)},
                        {"aliases", reader.list(to.aliases)},
                        {"port_gbit_s", reader.amount(to.port_gbit_per_s)},
                        {"per_node", reader.number(to.per_node, 1, 1024)},
                        {"usual_node", reader.text(to.usual_node)},
                        {"measured_gb_s", reader.amount(to.measured_bytes_per_s, giga)},
                        {"source", reader.text(to.source)},
                        {"note", reader.text(to.note)}});
    if (to.port_gbit_per_s == 0 && reader.complaints() == before) {
        reader.complain(table, fmt::format("the NIC \"{}\" needs port_gbit_s", printable(to.name)));
    }
}

Keys expert_keys(const CatalogueReader& reader, Experts& to) {
    return {{"count", reader.size(to.count)},
            {"active", reader.size(to.active)},
            {"shared", reader.size(to.shared)},
            {"ffn", reader.size(to.ffn)},
            {"dense_layers", reader.size(to.dense_layers)}};
}

Keys latent_keys(const CatalogueReader& reader, Latent& to) {
    return {{"query_rank", reader.size(to.query_rank)},
            {"key_value_rank", reader.size(to.key_value_rank)},
            {"rope_head", reader.size(to.rope_head)},
            {"plain_head", reader.size(to.plain_head)},
            {"value_head", reader.size(to.value_head)}};
}

Keys model_keys(const CatalogueReader& reader, Shape& to) {
    const auto experts = [&reader, &to](const toml::table& t) {
        to.experts = to.experts.value_or(Experts{});
        reader.each(t, expert_keys(reader, *to.experts));
    };
    const auto latent = [&reader, &to](const toml::table& t) {
        to.latent = to.latent.value_or(Latent{});
        reader.each(t, latent_keys(reader, *to.latent));
    };
    return {{"name", reader.text(to.name)},
            {"aliases", reader.list(to.aliases)},
            {"layers", reader.size(to.layers)},
            {"hidden", reader.size(to.hidden)},
            {"heads", reader.size(to.heads)},
            {"kv_heads", reader.size(to.key_value_heads)},
            {"head", reader.size(to.head)},
            {"ffn", reader.size(to.ffn)},
            {"vocabulary", reader.size(to.vocabulary)},
            {"sequence", reader.size(to.sequence)},
            {"window", reader.size(to.window)},
            {"window_layers", reader.size(to.window_layers)},
            {"mtp_layers", reader.size(to.mtp_layers)},
            {"mlp", reader.word(to.mlp, mlp_words)},
            {"bias", reader.word(to.bias, bias_words)},
            {"tied", reader.flag(to.tied)},
            {"positions", reader.flag(to.positions)},
            {"experts", reader.table(experts)},
            {"latent", reader.table(latent)},
            {"parameters", reader.amount(to.published_parameters)},
            {"tokens", reader.amount(to.tokens)},
            {"source", reader.text(to.source)}};
}

void read_row(const CatalogueReader& reader, const toml::table& table, Shape& to) {
    const auto before = reader.complaints();
    reader.each(table, model_keys(reader, to));
    if (to.window != 0 && !table.contains("window_layers") && to.window_layers == 0) {
        to.window_layers = to.layers;
    }
    if (reader.complaints() != before) {
        return;
    }
    if (const auto right = check_shape(to); !right) {
        reader.complain(
            table, fmt::format("the model \"{}\": {}", printable(to.name), right.error().message));
    }
}

/// Keys of a row that are no figures.
bool is_word(std::string_view key) {
    constexpr std::array<std::string_view, 7> words{
        "name", "aliases", "source", "note", "unverified", "highest_mfu", "usual_node"};
    return std::ranges::find(words, key) != words.end();
}

/// The keys of `table` that give figures.
std::vector<std::string> figures_of(const toml::table& table) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : table) {
        if (!is_word(key.str())) {
            keys.emplace_back(key.str());
        }
    }
    return keys;
}

/// Figures that a later file changes are that file's, where it names no source of its own.
template <class Row>
void attribute(const CatalogueReader& reader, const toml::table& table, Row& row) {
    const auto figures = figures_of(table);
    if (!table.contains("source") && !row.source.empty() && !figures.empty()) {
        row.source = fmt::format("{} ({}); the rest: {}", reader.position(table.source()).file,
                                 fmt::join(figures, ", "), row.source);
    }
    if constexpr (std::is_same_v<Row, Accelerator>) {
        if (!table.contains("unverified")) {
            std::erase_if(row.unverified, [&](const auto& key) {
                return std::ranges::find(figures, key) != figures.end();
            });
        }
        for (auto& run : row.highest_mfu) {
            if (run.source.empty()) {
                run.source = reader.position(table.source()).file;
            }
        }
    }
}

/// Reads one row over that of the same name, or as a new one.
template <class Row>
void read_named(const CatalogueReader& reader, const toml::table& table, std::vector<Row>& rows) {
    const auto name = table["name"].value<std::string>().value_or("");
    if (name.empty()) {
        reader.complain(table, "a row of the catalogue needs a name");
        return;
    }
    auto row = std::ranges::find(rows, name, &Row::name);
    if (row == rows.end()) {
        row = rows.emplace(rows.end());
    }
    read_row(reader, table, *row);
    attribute(reader, table, *row);
    if (row->source.empty()) {
        reader.complain(table, fmt::format("\"{}\" needs a source: where its figures are from",
                                           printable(name)));
    }
}

template <class Row>
TomlReader::Handler rows_of(const CatalogueReader& reader, std::string_view kind,
                            std::vector<Row>& rows) {
    return [&reader, kind, &rows](const toml::node& value) {
        const auto list = value.as_array();
        if (list == nullptr) {
            reader.complain(value, fmt::format("written [[{}]], with two brackets", kind));
            return;
        }
        for (const auto& element : *list) {
            reader.table([&](const toml::table& table) { read_named(reader, table, rows); })(
                element);
        }
    };
}

}  // namespace

std::vector<Error> add_to_catalogue(Catalogue& to, std::string_view text, const std::string& file) {
    auto with = to;
    auto errors = read_toml(text, file, [&](const toml::table& root, std::vector<Error>& found) {
        const CatalogueReader reader{file, root, found};
        reader.each(root, {{"accelerator", rows_of(reader, "accelerator", with.accelerators)},
                           {"nic", rows_of(reader, "nic", with.nics)},
                           {"model", rows_of(reader, "model", with.models)}});
    });
    if (errors.empty()) {
        to = std::move(with);
    }
    return errors;
}

}  // namespace railhead::training
