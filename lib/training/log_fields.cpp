#include "training/log_fields.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "base/text.hpp"
#include "training/log_line.hpp"

namespace railhead::training {

namespace {

struct Key {
    std::string_view name;  ///< without its blanks
    std::optional<double> Step::*field;
    double scale = 1;
};

constexpr std::string_view nemo_time = "train_step_timingins";

/// Sorted by name.
constexpr std::array keys{
    Key{"MFU", &Step::mfu},
    Key{"TFLOPS_per_GPU", &Step::tflops},
    Key{"TFLOPs", &Step::tflops},
    Key{"consumed_samples", &Step::consumed_samples},
    Key{"consumedsamples", &Step::consumed_samples},
    Key{"consumedtokens", &Step::consumed_tokens},
    Key{"elapsedtimeperiteration(ms)", &Step::step_s, 1e-3},
    Key{"elapsedtimeperiteration(s)", &Step::step_s},
    Key{"global_batch_size", &Step::global_batch},
    Key{"globalbatchsize", &Step::global_batch},
    Key{"gradnorm", &Step::grad_norm},
    Key{"learningrate", &Step::learning_rate},
    Key{"lmloss", &Step::loss},
    Key{"loss", &Step::loss},
    Key{"lr", &Step::learning_rate},
    Key{"mem-max-allocated-gigabytes", &Step::memory_bytes, 1e9},
    Key{"numberofnaniterations", &Step::nan},
    Key{"numberofskippediterations", &Step::skipped},
    Key{"reduced_train_loss", &Step::loss},
    Key{"samplespersecond", &Step::samples_per_s},
    Key{"throughputperGPU(TFLOP/s/GPU)", &Step::tflops},
    Key{"tokenspergpupersecond(tgs)", &Step::tokens_per_s_gpu},
    Key{nemo_time, &Step::step_s},
};
static_assert(std::ranges::is_sorted(keys, {}, &Key::name));

constexpr std::size_t longest_key = 48;

/// The key that `written` is, blanks left out; null: none that is known.
const Key* find_key(std::string_view written) {
    std::array<char, longest_key> name{};
    std::size_t size = 0;
    for (const char c : written) {
        if (c == ' ' || c == '\t') {
            continue;
        }
        if (size == longest_key) {
            return nullptr;
        }
        name[size++] = c;
    }
    const std::string_view key{name.data(), size};
    const auto* const found = std::ranges::lower_bound(keys, key, {}, &Key::name);
    return found != keys.end() && found->name == key ? found : nullptr;
}

/// Seconds a step, of "2.18s/it" or "4.40it/s".
std::optional<double> bar_step_s(std::string_view inside) {
    for (const std::string_view unit : {"it/s", "s/it", "steps/s", "s/step"}) {
        const auto at = inside.find(unit);
        if (at == std::string_view::npos) {
            continue;
        }
        const auto start = inside.substr(0, at).find_last_not_of("0123456789.");
        const auto value =
            leading_number(inside.substr(start == std::string_view::npos ? 0 : start + 1, at));
        if (!value || *value <= 0) {
            return std::nullopt;
        }
        return unit.starts_with("s/") ? *value : 1 / *value;
    }
    return std::nullopt;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_word(char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Begins of what LogReader::read_plain() looks for.
constexpr std::array<std::string_view, 26> telling_words{
    "samples/second", "step:",           "Batch ",          "validat",      "valid loss",
    "saving ",        "Saving ",         "saved ",          "loaded ",      "Loading ",
    "save-check",     "using world",     "Training starts", "created",      "Created",
    "Total num",      "Peak FLOPS",      "total param",     "Finished sav", "..",
    "world size:",    "params of model", "batch size per",  "fwd+bwd",      "iter latency",
    "CUDA capac",
};
constexpr auto begins_telling = [] {
    std::array<bool, 256> begins{};
    for (const auto word : telling_words) {
        begins[static_cast<unsigned char>(word.front())] = true;
    }
    return begins;
}();

/// Takes a whole number off, and the blanks before it.
std::optional<std::uint64_t> take_whole(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_number<std::uint64_t>(text.substr(0, end));
    text.remove_prefix(end);
    return number;
}

}  // namespace

Iteration find_iteration(std::string_view text) {
    constexpr std::string_view word = "iteration";
    for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        auto rest = text.substr(at + word.size());
        const auto number = take_whole(rest);
        rest = trim(rest);
        if (number && rest.starts_with('/')) {
            rest.remove_prefix(1);
            return {number, take_whole(rest)};
        }
    }
    return {};
}

Fields read_fields(std::string_view text) {
    Fields fields;
    auto& step = fields.step;
    const auto iteration = find_iteration(text.substr(0, text.find('|')));
    step.iteration = iteration.number;
    step.of = iteration.of;
    while (!text.empty()) {
        const auto end = std::min(text.find('|'), text.size());
        const auto part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto colon = part.rfind(':');
        if (colon == std::string_view::npos) {
            continue;
        }
        if (const auto* const key = find_key(part.substr(0, colon))) {
            if (const auto value = leading_number(part.substr(colon + 1))) {
                step.*key->field = *value * key->scale;
            }
            if (key->name == nemo_time) {
                fields.kind = LogKind::nemo;
            }
        }
    }
    if (step.mfu && *step.mfu > 1) {
        *step.mfu /= 100;  // some print percents
    }
    return fields;
}

bool may_tell(std::string_view text) {
    char before = ' ';
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (begins_telling[static_cast<unsigned char>(c)] && !is_word(before)) {
            for (const auto word : telling_words) {
                if (word.front() == c && text.substr(i, word.size()) == word) {
                    return true;
                }
            }
        }
        before = c;
    }
    return false;
}

std::optional<double> memory_of(std::string_view text) {
    if (text.find("memory (") == std::string_view::npos) {
        return std::nullopt;
    }
    if (const auto gigabytes = number_after(text, "mem-max-allocated-gigabytes")) {
        return *gigabytes * 1e9;
    }
    constexpr double mebibyte = 1048576;  // what Megatron-LM divides by for its "MB"
    const auto megabytes = number_after(text, "max allocated");
    return megabytes ? std::optional{*megabytes * mebibyte} : std::nullopt;
}

std::optional<Step> read_bar(std::string_view text) {
    const auto percent = text.find("%|");
    auto what = text.substr(0, percent);
    while (!what.empty() && is_digit(what.back())) {
        what.remove_suffix(1);
    }
    what = trim(what);
    if (!what.empty() && !what.starts_with("Epoch") && !what.starts_with("Train")) {
        return std::nullopt;
    }
    const auto bar_end = text.rfind('[');
    const auto numbers = bar_end == std::string_view::npos ? std::string_view::npos
                                                           : text.substr(0, bar_end).rfind('|');
    if (numbers == std::string_view::npos) {
        return std::nullopt;
    }
    const auto counts = trim(text.substr(numbers + 1, bar_end - numbers - 1));
    const auto slash = counts.find('/');
    const auto iteration = parse_number<std::uint64_t>(counts.substr(0, slash));
    Step step;
    step.step_s = bar_step_s(text.substr(bar_end));
    if (slash == std::string_view::npos || !iteration || *iteration == 0 || !step.step_s) {
        return std::nullopt;
    }
    step.iteration = iteration;
    step.of = parse_number<std::uint64_t>(trim(counts.substr(slash + 1)));
    step.loss = number_after(text.substr(bar_end), "loss=");
    return step;
}

std::optional<double> number_after(std::string_view text, std::string_view key) {
    const auto at = text.find(key);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const auto rest = text.substr(at + key.size());
    const auto start = rest.find_first_not_of(" \t:='\"");
    return start == std::string_view::npos ? std::nullopt : leading_number(rest.substr(start));
}

std::optional<Step> read_titan_line(std::string_view text) {
    const auto at = text.find("step:");
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(at);
    const auto number = number_after(text, "step:");
    auto tps = number_after(text, "tps:");
    tps = tps ? tps : number_after(text, "wps:");  // its name before 2025
    if (!number || *number < 0 || *number > 1e15 || !tps || *tps <= 0) {
        return std::nullopt;
    }
    Step step;
    step.iteration = static_cast<std::uint64_t>(*number);
    step.tokens_per_s_gpu = tps;
    step.loss = number_after(text, "loss:");
    step.grad_norm = number_after(text, "grad_norm:");
    step.tflops = number_after(text, "tflops:");
    if (const auto mfu = number_after(text, "mfu:")) {
        step.mfu = *mfu / 100;
    }
    if (const auto memory = number_after(text, "memory:")) {
        constexpr double gibibyte = 1073741824;
        step.memory_bytes = *memory * gibibyte;
    }
    return step;
}

std::optional<Step> read_speed_line(std::string_view text) {
    const auto at = text.starts_with("Batch ") ? 0 : text.find(" Batch ");
    if (at == std::string_view::npos || text.find("samples/sec") == std::string_view::npos) {
        return std::nullopt;
    }
    const auto number = number_after(text.substr(at), "Batch ");
    const auto speed = number_after(text, "Speed:");
    if (!number || *number < 0 || *number > 1e15 || !speed || *speed <= 0) {
        return std::nullopt;
    }
    Step step;
    step.iteration = static_cast<std::uint64_t>(*number);
    step.samples_per_s = speed;
    step.loss = number_after(text, "Loss:");
    step.learning_rate = number_after(text, "lr:");
    return step;
}

std::optional<Step> read_dict(std::string_view text) {
    Step step;
    step.loss = number_after(text, "'loss'");
    if (!step.loss) {
        return std::nullopt;
    }
    step.grad_norm = number_after(text, "'grad_norm'");
    step.learning_rate = number_after(text, "'learning_rate'");
    return step;
}

}  // namespace railhead::training
