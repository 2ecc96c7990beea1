#include "training/hf_config.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace railhead::training {

namespace {

using json = nlohmann::json;

/// A value in a message: a list or an object may be deep, and is not printed.
std::string shown(const json& value) {
    return value.is_primitive()
               ? printable(value.dump(-1, ' ', true, json::error_handler_t::replace))
               : fmt::format("an {}", value.type_name());
}

/// Values of config.json by their keys; keeps the first complaint.
class Config {
 public:
    Config(const json& from, const std::string& file) : from_{from}, file_{file} {}

    /// A count that must be there.
    std::uint64_t count(const char* key) {
        const auto found = find_count(key);
        if (!found && complaint_.empty()) {
            complaint_ = fmt::format("{}: \"{}\" is missing", file_, key);
        }
        return found.value_or(0);
    }
    /// A count that may be absent or null.
    std::optional<std::uint64_t> find_count(const char* key) {
        const auto found = from_.find(key);
        if (found == from_.end() || found->is_null()) {
            return std::nullopt;
        }
        if (!found->is_number_unsigned()) {
            if (complaint_.empty()) {
                complaint_ = fmt::format("{}: \"{}\" must be a whole number, not {}", file_, key,
                                         shown(*found));
            }
            return std::nullopt;
        }
        return found->get<std::uint64_t>();
    }
    [[nodiscard]] bool flag(const char* key, bool otherwise) const {
        const auto found = from_.find(key);
        return found != from_.end() && found->is_boolean() ? found->get<bool>() : otherwise;
    }
    [[nodiscard]] std::string text(const char* key) const {
        const auto found = from_.find(key);
        return found != from_.end() && found->is_string() ? found->get<std::string>() : "";
    }
    [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
    const json& from_;
    const std::string& file_;
    std::string complaint_;
};

void read_gpt2(Config& config, Shape& to) {
    to.hidden = config.count("n_embd");
    to.layers = config.count("n_layer");
    to.heads = config.count("n_head");
    to.ffn = config.find_count("n_inner").value_or(4 * to.hidden);
    to.sequence = config.count("n_positions");
    to.mlp = Mlp::plain;
    to.bias = Bias::all;
    to.positions = true;
    to.tied = config.flag("tie_word_embeddings", true);
}

void read_llama(Config& config, Shape& to) {
    to.hidden = config.count("hidden_size");
    to.layers = config.count("num_hidden_layers");
    to.heads = config.count("num_attention_heads");
    to.key_value_heads = config.find_count("num_key_value_heads").value_or(0);
    to.head = config.find_count("head_dim").value_or(0);
    to.ffn = config.count("intermediate_size");
    to.tied = config.flag("tie_word_embeddings", false);
}

void read_mistral(Config& config, Shape& to) {
    read_llama(config, to);
    to.window = config.find_count("sliding_window").value_or(0);
    to.window_layers = to.window == 0 ? 0 : to.layers;
}

void read_mixtral(Config& config, Shape& to) {
    read_mistral(config, to);
    to.experts = Experts{.count = config.count("num_local_experts"),
                         .active = config.count("num_experts_per_tok"),
                         .shared = 0,
                         .ffn = to.ffn,
                         .dense_layers = 0};
}

void read_qwen2(Config& config, Shape& to) {
    read_llama(config, to);
    to.bias = Bias::attention_inputs;
    if (config.flag("use_sliding_window", false)) {
        to.window = config.find_count("sliding_window").value_or(0);
        const auto whole = std::min(config.find_count("max_window_layers").value_or(0), to.layers);
        to.window_layers = to.window == 0 ? 0 : to.layers - whole;
    }
}

void read_qwen3(Config& config, Shape& to) {
    read_qwen2(config, to);
    to.bias = config.flag("attention_bias", false) ? Bias::attention_inputs : Bias::none;
}

void read_qwen3_moe(Config& config, Shape& to) {
    read_qwen3(config, to);
    to.experts = Experts{.count = config.count("num_experts"),
                         .active = config.count("num_experts_per_tok"),
                         .shared = 0,
                         .ffn = config.count("moe_intermediate_size"),
                         .dense_layers = 0};
}

void read_deepseek(Config& config, Shape& to) {
    read_llama(config, to);
    to.key_value_heads = 0;  // latent attention has one latent for all heads
    to.head = 0;
    to.experts = Experts{.count = config.count("n_routed_experts"),
                         .active = config.count("num_experts_per_tok"),
                         .shared = config.find_count("n_shared_experts").value_or(0),
                         .ffn = config.count("moe_intermediate_size"),
                         .dense_layers = config.count("first_k_dense_replace")};
    to.latent = Latent{.query_rank = config.find_count("q_lora_rank").value_or(0),
                       .key_value_rank = config.count("kv_lora_rank"),
                       .rope_head = config.count("qk_rope_head_dim"),
                       .plain_head = config.count("qk_nope_head_dim"),
                       .value_head = config.count("v_head_dim")};
    to.mtp_layers = config.find_count("num_nextn_predict_layers").value_or(0);
}

using Read = void (*)(Config&, Shape&);
constexpr std::array<std::pair<std::string_view, Read>, 9> types{{{"llama", read_llama},
                                                                  {"mistral", read_mistral},
                                                                  {"mixtral", read_mixtral},
                                                                  {"gpt2", read_gpt2},
                                                                  {"qwen2", read_qwen2},
                                                                  {"qwen3", read_qwen3},
                                                                  {"qwen3_moe", read_qwen3_moe},
                                                                  {"deepseek_v2", read_deepseek},
                                                                  {"deepseek_v3", read_deepseek}}};

/// Where the byte `at` of a text lies.
Position position_of(std::string_view text, std::size_t at, const std::string& file) {
    const auto before = text.substr(0, std::min(at, text.size()));
    const auto line = static_cast<unsigned>(std::ranges::count(before, '\n')) + 1;
    const auto start = before.rfind('\n');
    const auto column = start == std::string_view::npos ? before.size() : before.size() - start - 1;
    return {file, line, static_cast<unsigned>(std::max<std::size_t>(column, 1))};
}

Result<json> parse_json(std::string_view text, const std::string& file) {
    try {
        return json::parse(text);
    } catch (const json::parse_error& error) {
        return fail(Errc::bad_input, "no JSON from here on", position_of(text, error.byte, file));
    } catch (const std::exception& error) {
        return fail(Errc::bad_input, fmt::format("{}: {}", file, error.what()));
    }
}

Result<Shape> read_shape(const json& document, Read read, const std::string& file) {
    Config config{document, file};
    Shape shape;
    shape.name = config.text("_name_or_path");
    shape.source = file;
    read(config, shape);
    shape.vocabulary = config.count("vocab_size");
    if (!config.complaint().empty()) {
        return fail(Errc::bad_input, config.complaint());
    }
    if (const auto right = check_shape(shape); !right) {
        return fail(Errc::bad_input, fmt::format("{}: {}", file, right.error().message));
    }
    return shape;
}

}  // namespace

Result<Shape> parse_hf_config(std::string_view text, const std::string& file) {
    auto document = parse_json(text, file);
    if (!document) {
        return propagate(document);
    }
    const auto type =
        document->is_object() ? Config{*document, file}.text("model_type") : std::string{};
    if (type.empty()) {
        return fail(
            Errc::bad_input,
            fmt::format("{}: \"model_type\" is missing: is it the config.json of a model?", file));
    }
    const auto known = std::ranges::find(types, type, &std::pair<std::string_view, Read>::first);
    if (known == types.end()) {
        std::vector<std::string_view> names;
        for (const auto& [name, unused] : types) {
            names.push_back(name);
        }
        return fail(Errc::unsupported,
                    fmt::format("{}: the model_type \"{}\" is not known ({}): say the sizes by "
                                "--layers, --hidden, ...",
                                file, printable(type), fmt::join(names, ", ")));
    }
    return read_shape(*document, known->second, file);
}

}  // namespace railhead::training
