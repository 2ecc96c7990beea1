#include "diagnose/run_configuration.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/toml_reader.hpp"
#include "diagnose/json_stream.hpp"
#include "diagnose/setting_topics.hpp"
#include "fabric/yaml_file.hpp"
#include "job/gpu_request.hpp"
#include "job/script.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::size_t longest_value = 1024;
constexpr std::uint64_t most_gpus = std::uint64_t{1} << 24U;

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

/// The line of the option that says how many GPUs: the evidence of "job.gpus".
std::uint64_t line_of_gpus(const job::ScriptComponent& component) {
    std::uint64_t line = 0;
    for (const auto& option : component.options) {
        if (option.name == "gres" || option.name.starts_with("gpus")) {
            line = option.where.line;
        }
    }
    return line;
}

/// "job.gpus" and "job.gpu-type" as sbatch reads the options, where they say it.
void add_gpus(const job::ScriptComponent& component, Settings& to) {
    const auto& request = component.request;
    const auto line = line_of_gpus(component);
    const auto of = [](std::string_view tres) {
        auto gpus = job::parse_gpus(tres);
        return gpus ? *gpus : job::GpuRequest{};
    };
    const std::uint64_t nodes = request.min_nodes.value_or(1);
    const std::uint64_t tasks =
        request.tasks ? *request.tasks : nodes * request.tasks_per_node.value_or(1);
    const std::array asked{std::pair{of(request.gpus_per_job), std::uint64_t{1}},
                           std::pair{of(request.gpus_per_node), nodes},
                           std::pair{of(request.gpus_per_task), tasks}};
    for (const auto& [gpus, times] : asked) {
        if (gpus.total() == 0 || gpus.total() > most_gpus || times > most_gpus) {
            continue;
        }
        to.add("job.gpus", std::to_string(gpus.total() * times), line);
        if (!gpus.type().empty()) {
            to.add("job.gpu-type", gpus.type(), line);
        }
        return;
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
            add_gpus(component, to);
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
    set_topics(to);
    text_.clear();
    text_.shrink_to_fit();
}

}  // namespace railhead::diagnose
