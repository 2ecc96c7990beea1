#include "diagnose/run_configuration.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/toml_reader.hpp"
#include "diagnose/json_stream.hpp"
#include "fabric/yaml_file.hpp"
#include "job/script.hpp"

namespace railhead::diagnose {

namespace {

using training::Topic;

constexpr std::size_t longest_value = 1024;

/// Adds settings, each with the line of the file as evidence.
class Settings {
 public:
    Settings(std::uint32_t file, std::string_view text, RunConfiguration& to)
        : file_{file}, to_{to}, lines_{split(text, '\n')} {}

    void add(std::string key, std::string_view value, std::uint64_t line) {
        if (to_.settings.size() == RunConfigurationReader::most_settings) {
            ++to_.left_out;
            return;
        }
        const auto text = line > 0 && line <= lines_.size() ? lines_[line - 1] : std::string_view{};
        to_.settings.push_back({printable(key.substr(0, evidence_limit)),
                                printable(value.substr(0, longest_value)),
                                make_evidence(file_, line, text)});
    }

 private:
    std::uint32_t file_;
    RunConfiguration& to_;
    std::vector<std::string_view> lines_;
};

std::string joined(std::string_view path, std::string_view key) {
    return path.empty() ? std::string{key} : fmt::format("{}.{}", path, key);
}

// -- JSON ------------------------------------------------------------------------------------

class JsonSettings : public JsonHandler {
 public:
    explicit JsonSettings(Settings& to) : to_{to} {}
    void watch(const JsonStream& stream) { stream_ = &stream; }

 private:
    void begin(bool is_object) override {
        paths_.push_back(paths_.empty() ? std::string{} : joined(paths_.back(), key_));
        objects_.push_back(is_object);
        list_.clear();
    }
    void end() override {
        if (!objects_.back()) {
            to_.add(paths_.back(), list_, stream_->line());
        }
        list_.clear();
        paths_.pop_back();
        objects_.pop_back();
    }
    void key(std::string_view name) override { key_ = name.substr(0, evidence_limit); }
    void value(std::string_view text, bool /*is_text*/) override {
        if (objects_.back()) {
            to_.add(joined(paths_.back(), key_), text, stream_->line());
        } else if (list_.size() < longest_value) {
            list_ += list_.empty() ? "" : ",";
            list_ += text;
        }
    }

    Settings& to_;
    const JsonStream* stream_ = nullptr;
    std::vector<std::string> paths_;
    std::vector<bool> objects_;
    std::string key_, list_;
};

void read_json(std::string_view text, const std::string& name, Settings& to,
               std::vector<Error>& errors) {
    JsonSettings handler{to};
    JsonStream stream{handler};
    handler.watch(stream);
    stream.feed(text);
    stream.finish();
    if (!stream.is_whole()) {
        const auto line =
            static_cast<unsigned>(std::min<std::uint64_t>(stream.line(), 0xffffffffU));
        errors.push_back({Errc::bad_input,
                          stream.is_broken() ? "no JSON from here on" : "the JSON has no end",
                          {name, line, 0}});
    }
}

// -- TOML ------------------------------------------------------------------------------------

std::string toml_text(const toml::node& node) {
    if (const auto* text = node.as_string()) {
        return text->get();
    }
    if (const auto* number = node.as_integer()) {
        return std::to_string(number->get());
    }
    if (const auto* number = node.as_floating_point()) {
        return fmt::format("{}", number->get());
    }
    if (const auto* flag = node.as_boolean()) {
        return flag->get() ? "true" : "false";
    }
    std::string list;
    if (const auto* values = node.as_array()) {
        for (const auto& value : *values) {
            list += (list.empty() ? "" : ",") + toml_text(value);
        }
    }
    return list;
}

void add_table(const toml::table& table, const std::string& path, Settings& to) {
    for (const auto& [key, value] : table) {
        const auto name = joined(path, key.str());
        if (const auto* inner = value.as_table()) {
            add_table(*inner, name, to);
        } else {
            to.add(name, toml_text(value), key.source().begin.line);
        }
    }
}

// -- YAML ------------------------------------------------------------------------------------

void add_yaml(const fabric::Yaml& yaml, const std::string& path, Settings& to) {
    using Shape = fabric::Yaml::Shape;
    if (yaml.shape == Shape::map) {
        for (const auto& item : yaml.items) {
            add_yaml(item, joined(path, item.key), to);
        }
        return;
    }
    std::string list = yaml.word;
    for (const auto& item : yaml.items) {
        list += (list.empty() ? "" : ",") + item.word;
    }
    to.add(path, list, yaml.line);
}

// -- batch scripts ---------------------------------------------------------------------------

std::string_view unquoted(std::string_view value) {
    const bool quoted =
        value.size() > 1 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
    return quoted ? value.substr(1, value.size() - 2) : value;
}

bool is_variable(std::string_view name) {
    return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
           std::ranges::all_of(name, [](char c) {
               return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      c == '_';
           });
}

/// "--tensor-model-parallel-size 8", "--bf16", "--nodes=4": each as a setting without dashes.
void add_options(const std::vector<std::string_view>& words, std::uint64_t line, Settings& to) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!words[i].starts_with("--") || words[i].size() == 2) {
            continue;
        }
        const auto option = words[i].substr(2);
        const auto equals = option.find('=');
        std::string_view value = equals == std::string_view::npos ? "" : option.substr(equals + 1);
        if (equals == std::string_view::npos && i + 1 < words.size() &&
            !words[i + 1].starts_with('-') && words[i + 1] != "\\") {
            value = words[i + 1];
        }
        to.add(joined("option", option.substr(0, equals)), unquoted(value), line);
    }
}

/// "sbatch.nodes" of #SBATCH lines, "env.NCCL_DEBUG" of assignments, "option.bf16" of commands.
void read_script(std::string_view text, const std::string& name, Settings& to,
                 std::vector<Error>& errors) {
    const auto script = job::parse_script(text, name);
    if (script) {
        for (const auto& component : script->components) {
            for (const auto& option : component.options) {
                to.add(joined("sbatch", option.name), option.value, option.where.line);
            }
        }
    } else {
        errors.push_back(script.error());
    }
    std::uint64_t number = 0;
    for (const auto raw : split(text, '\n')) {
        ++number;
        const auto line = trim(raw);
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        const auto words = split_words(line);
        for (const auto word : words) {
            const auto equals = word.find('=');
            if (word == "export" || word == "env") {
                continue;
            }
            if (equals == std::string_view::npos || !is_variable(word.substr(0, equals))) {
                break;
            }
            to.add(joined("env", word.substr(0, equals)), unquoted(word.substr(equals + 1)),
                   number);
        }
        add_options(words, number, to);
    }
}

// -- what settings say -----------------------------------------------------------------------

struct Meaning {
    std::string_view key;
    Topic topic;
};
/// By the ends of keys: they are in "model.", "trainer." or at the top.
constexpr std::array meanings{
    Meaning{"num_layers", Topic::layers},
    Meaning{"num-layers", Topic::layers},
    Meaning{"n_layers", Topic::layers},
    Meaning{"hidden_size", Topic::hidden},
    Meaning{"hidden-size", Topic::hidden},
    Meaning{"num_attention_heads", Topic::heads},
    Meaning{"num-attention-heads", Topic::heads},
    Meaning{"num_query_groups", Topic::key_value_heads},
    Meaning{"num-query-groups", Topic::key_value_heads},
    Meaning{"ffn_hidden_size", Topic::ffn},
    Meaning{"ffn-hidden-size", Topic::ffn},
    Meaning{"encoder_seq_length", Topic::sequence},
    Meaning{"seq-length", Topic::sequence},
    Meaning{"seq_length", Topic::sequence},
    Meaning{"training.seq_len", Topic::sequence},
    Meaning{"global_batch_size", Topic::global_batch},
    Meaning{"global-batch-size", Topic::global_batch},
    Meaning{"train_batch_size", Topic::global_batch},
    Meaning{"micro_batch_size", Topic::micro_batch},
    Meaning{"micro-batch-size", Topic::micro_batch},
    Meaning{"train_micro_batch_size_per_gpu", Topic::micro_batch},
    Meaning{"training.local_batch_size", Topic::micro_batch},
    Meaning{"training.batch_size", Topic::micro_batch},
    Meaning{"tensor_model_parallel_size", Topic::tensor_parallel},
    Meaning{"tensor-model-parallel-size", Topic::tensor_parallel},
    Meaning{"parallelism.tensor_parallel_degree", Topic::tensor_parallel},
    Meaning{"pipeline_model_parallel_size", Topic::pipeline_parallel},
    Meaning{"pipeline-model-parallel-size", Topic::pipeline_parallel},
    Meaning{"parallelism.pipeline_parallel_degree", Topic::pipeline_parallel},
    Meaning{"context_parallel_size", Topic::context_parallel},
    Meaning{"context-parallel-size", Topic::context_parallel},
    Meaning{"parallelism.context_parallel_degree", Topic::context_parallel},
    Meaning{"expert_model_parallel_size", Topic::expert_parallel},
    Meaning{"expert-model-parallel-size", Topic::expert_parallel},
    Meaning{"bf16.enabled", Topic::bf16},
    Meaning{"option.bf16", Topic::bf16},
    Meaning{"fp16.enabled", Topic::fp16},
    Meaning{"option.fp16", Topic::fp16},
    Meaning{"training.steps", Topic::steps},
    Meaning{"trainer.max_steps", Topic::steps},
};

/// Whether `key` is `end`, or ends in it after a dot.
bool ends_in(std::string_view key, std::string_view end) {
    return key == end || (key.ends_with(end) && key[key.size() - end.size() - 1] == '.');
}

std::optional<double> worth_of(const Setting& setting) {
    if (setting.value == "true" || setting.value == "True" ||
        (setting.value.empty() && setting.key.starts_with("option."))) {
        return 1;
    }
    if (setting.value == "false" || setting.value == "False") {
        return 0;
    }
    const auto number = number_in(setting.value);
    return number && setting.value.find_first_not_of("0123456789.eE+-") == std::string::npos
               ? number
               : std::nullopt;  // "auto", "${SEQ_LEN}"
}

void set_facts(RunConfiguration& configuration) {
    for (const auto& setting : configuration.settings) {
        const auto* found = std::ranges::find_if(
            meanings, [&](const Meaning& meaning) { return ends_in(setting.key, meaning.key); });
        const auto worth = worth_of(setting);
        if (found != meanings.end() && worth && !setting.key.starts_with("sbatch.")) {
            configuration.facts.at(static_cast<std::size_t>(found->topic)) =
                training::Fact{*worth, setting.key, setting.evidence.line};
        }
    }
    // torchtitan and NeMo name a mode.
    const auto set = [&](Topic topic, const Setting& by) {
        configuration.facts.at(static_cast<std::size_t>(topic)) =
            training::Fact{1, by.key, by.evidence.line};
    };
    for (const auto& setting : configuration.settings) {
        const bool recompute = ends_in(setting.key, "activation_checkpoint.mode") ||
                               ends_in(setting.key, "activations_checkpoint_granularity") ||
                               ends_in(setting.key, "recompute-granularity");
        if (recompute && setting.value == "full") {
            set(Topic::full_recompute, setting);
        } else if (recompute && setting.value == "selective") {
            set(Topic::selective_recompute, setting);
        } else if (ends_in(setting.key, "trainer.precision") && setting.value.starts_with("bf16")) {
            set(Topic::bf16, setting);
        }
    }
}

}  // namespace

const Setting* RunConfiguration::find(std::string_view key) const {
    const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                    [&](const Setting& setting) { return setting.key == key; });
    return found == settings.rend() ? nullptr : &*found;
}

void RunConfigurationReader::feed(std::string_view piece) {
    text_.append(piece.substr(0, limit - text_.size()));
}

void RunConfigurationReader::finish() {
    std::erase(text_, '\r');
    auto& to = configuration_;
    Settings settings{file_, text_, to};
    if (to.kind == FileKind::deepspeed_config) {
        read_json(text_, name_, settings, to.errors);
    } else if (to.kind == FileKind::torchtitan_config) {
        to.errors = read_toml(text_, name_, [&](const toml::table& root, std::vector<Error>&) {
            add_table(root, {}, settings);
        });
    } else if (to.kind == FileKind::nemo_config) {
        bool more = false;
        auto yaml = fabric::parse_yaml(text_, name_, more);
        if (yaml) {
            add_yaml(*yaml, {}, settings);
        } else {
            to.errors.push_back(std::move(yaml.error()));
        }
    } else {
        read_script(text_, name_, settings, to.errors);
    }
    std::ranges::stable_sort(to.settings, {}, [](const Setting& s) { return s.evidence.line; });
    set_facts(to);
    text_.clear();
    text_.shrink_to_fit();
}

}  // namespace railhead::diagnose
