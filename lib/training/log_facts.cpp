// What a log says once: arguments, sizes, validation and checkpoints.
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/text.hpp"
#include "training/log_fields.hpp"
#include "training/log_line.hpp"
#include "training/log_reader.hpp"

namespace railhead::training {

namespace {

using Named = std::pair<std::string_view, Topic>;

/// Of Megatron's dump of its arguments: "  hidden_size ........ 8192".
constexpr std::array arguments{
    Named{"num_layers", Topic::layers},
    Named{"hidden_size", Topic::hidden},
    Named{"num_attention_heads", Topic::heads},
    Named{"num_query_groups", Topic::key_value_heads},
    Named{"ffn_hidden_size", Topic::ffn},
    Named{"padded_vocab_size", Topic::vocabulary},
    Named{"vocab_size", Topic::vocabulary},
    Named{"seq_length", Topic::sequence},
    Named{"num_experts", Topic::experts},
    Named{"moe_router_topk", Topic::active_experts},
    Named{"moe_ffn_hidden_size", Topic::expert_ffn},
    Named{"global_batch_size", Topic::global_batch},
    Named{"micro_batch_size", Topic::micro_batch},
    Named{"world_size", Topic::world_size},
    Named{"tensor_model_parallel_size", Topic::tensor_parallel},
    Named{"model_parallel_size", Topic::tensor_parallel},
    Named{"pipeline_model_parallel_size", Topic::pipeline_parallel},
    Named{"context_parallel_size", Topic::context_parallel},
    Named{"expert_model_parallel_size", Topic::expert_parallel},
    Named{"data_parallel_size", Topic::data_parallel},
    Named{"train_iters", Topic::steps},
    Named{"log_interval", Topic::log_interval},
    Named{"virtual_pipeline_model_parallel_size", Topic::chunks},
    Named{"num_layers_per_virtual_pipeline_stage", Topic::layers_per_chunk},
    Named{"save_interval", Topic::save_interval},
};

/// Arguments that are true or false.
constexpr std::array flags{
    Named{"swiglu", Topic::gated},
    Named{"bf16", Topic::bf16},
    Named{"fp16", Topic::fp16},
    Named{"checkpoint_activations", Topic::full_recompute},
    Named{"recompute_activations", Topic::selective_recompute},
    Named{"overlap_grad_reduce", Topic::gradient_overlap},
    Named{"async_save", Topic::asynchronous_save},
};

template <std::size_t size>
std::optional<Topic> find(const std::array<Named, size>& names, std::string_view name) {
    const auto* const found =
        std::ranges::find(names, name, [](const Named& one) { return one.first; });
    return found == names.end() ? std::nullopt : std::optional{found->second};
}

/// Numbers of sentences: "using world size: 64, data-parallel size: 8, …".
constexpr std::array sizes{
    Named{"using world size:", Topic::world_size},
    Named{"data-parallel size:", Topic::data_parallel},
    Named{"context-parallel size:", Topic::context_parallel},
    Named{"tensor-model-parallel size:", Topic::tensor_parallel},
    Named{" model-parallel size:", Topic::tensor_parallel},
    Named{"pipeline-model-parallel size:", Topic::pipeline_parallel},
};

/// Of torchtitan's "Training starts at step 1, with local batch size 1, global batch size 8, …".
constexpr std::array starts{
    Named{"global batch size", Topic::global_batch},
    Named{"local batch size", Topic::micro_batch},
    Named{"sequence length", Topic::sequence},
    Named{"total steps", Topic::steps},
};

/// A sentence that ends with its number.
struct Sentence {
    std::string_view words;
    Topic topic;
    double scale;
    bool is_start;  ///< only a start of the program writes it
};
constexpr std::array sentences{
    Sentence{"reated model with total parameters", Topic::parameters, 1, true},
    Sentence{"Total number of parameters in billions", Topic::parameters, 1e9, false},
    Sentence{"Peak FLOPS used for computing MFU", Topic::peak_tflops, 1e-12, false},
};

bool holds(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::optional<std::uint64_t> iteration_in(std::string_view text) {
    const auto number = number_after(text, "iteration");
    return number && *number >= 0 && *number < 1e15
               ? std::optional{static_cast<std::uint64_t>(*number)}
               : std::nullopt;
}

/// The number before `words`: "size: 8,030,261,248 total parameters".
std::optional<double> number_before(std::string_view text, std::string_view words) {
    const auto head = text.substr(0, text.find(words));
    const auto start = head.find_last_not_of("0123456789,.");
    return start == std::string_view::npos ? std::nullopt : leading_number(head.substr(start + 1));
}

constexpr std::array<std::string_view, static_cast<std::size_t>(Topic::count_)> topic_names{
    "layers",
    "hidden size",
    "attention heads",
    "key-value heads",
    "FFN size",
    "vocabulary",
    "sequence length",
    "experts",
    "active experts",
    "expert FFN size",
    "gated MLP",
    "tied embeddings",
    "parameters",
    "global batch",
    "microbatch",
    "GPUs",
    "tensor parallel",
    "pipeline parallel",
    "context parallel",
    "expert parallel",
    "data parallel",
    "full recomputation",
    "selective recomputation",
    "BF16",
    "FP16",
    "FP8",
    "peak TFLOP/s",
    "steps",
    "log interval",
    "virtual stages",
    "layers of a virtual stage",
    "overlap of gradients",
    "bytes of a bucket",
    "flash attention",
    "FP32",
    "loader workers",
    "pinned memory",
    "steps between checkpoints",
    "asynchronous checkpoints"};

}  // namespace

std::string_view name_of(Topic topic) {
    return topic_names[static_cast<std::size_t>(topic)];
}

std::string_view name_of(EventKind kind) {
    switch (kind) {
        case EventKind::validation:
            return "validation";
        case EventKind::checkpoint_save:
            return "checkpoint";
        case EventKind::checkpoint_load:
            return "loading a checkpoint";
    }
    return "";
}

std::string_view name_of(LogKind kind) {
    constexpr std::array<std::string_view, 10> names{"no training log",
                                                     "Megatron",
                                                     "NeMo",
                                                     "torchtitan",
                                                     "composer (llm-foundry)",
                                                     "Hugging Face Trainer",
                                                     "progress bar (Lightning, tqdm)",
                                                     "DeepSpeed flops profiler",
                                                     "samples/sec lines",
                                                     "MLPerf log"};
    return names[static_cast<std::size_t>(kind)];
}

bool LogReader::read_event(std::string_view text) {
    const auto first = text.substr(0, text.find('|'));
    std::optional<EventKind> kind;
    if (holds(first, "loss at iteration") || first.starts_with("validate step:")) {
        kind = EventKind::validation;
    } else if (holds(first, "aving checkpoint at iteration") ||
               holds(first, "aved checkpoint at iteration") ||
               holds(first, "aving the checkpoint") || holds(first, "aving a full checkpoint")) {
        kind = EventKind::checkpoint_save;
    } else if (holds(first, "loaded checkpoint") || holds(first, "Loading the checkpoint")) {
        kind = EventKind::checkpoint_load;
    }
    if (text.starts_with("time (ms)") || first.starts_with("save-checkpoint")) {
        const auto saved_ms = number_after(text, "save-checkpoint:");
        if (saved_ms) {
            add_event({EventKind::checkpoint_save, std::nullopt, *saved_ms / 1000, log_.lines});
        }
        return true;
    }
    if (!kind) {
        return false;
    }
    Event event{*kind, iteration_in(first), std::nullopt, log_.lines};
    if (kind == EventKind::checkpoint_save) {
        event.duration_s = number_after(first, "checkpoint in ");
        if (holds(first, "aving checkpoint at")) {
            save_start_s_ = line_at_s_;
        } else if (holds(first, "saved") && save_start_s_ && line_at_s_) {
            event.duration_s = *line_at_s_ - *std::exchange(save_start_s_, std::nullopt);
        }
    }
    add_event(event);
    return true;
}

bool LogReader::read_argument(std::string_view text) {
    const auto dots = text.find(" ..");
    if (dots == std::string_view::npos) {
        return false;
    }
    const auto key = text.substr(0, dots);
    const auto start = text.find_first_not_of('.', dots + 1);
    if (start == std::string_view::npos) {
        return false;
    }
    const auto value = trim(text.substr(start));
    if (const auto topic = find(arguments, key)) {
        if (const auto number = leading_number(value); number && *number > 0) {
            set_fact(*topic, *number, key);
        }
    } else if (const auto flag = find(flags, key)) {
        set_fact(*flag, value == "True" ? 1 : 0, key);
    } else if (key == "recompute_granularity" && value != "None") {
        set_fact(value == "full" ? Topic::full_recompute : Topic::selective_recompute, 1, key);
    } else if (key == "untie_embeddings_and_output_weights") {
        set_fact(Topic::tied, value == "True" ? 0 : 1, key);
    } else if (key == "fp8") {
        set_fact(Topic::fp8, value == "None" || value == "False" ? 0 : 1, key);
    } else {
        read_setting(key, value);
    }
    return true;
}

/// What Megatron's arguments say of how fast things are done; each has words of its own.
void LogReader::read_setting(std::string_view key, std::string_view value) {
    const auto number = leading_number(value);
    const auto is_told = [&] { return current().fact(Topic::flash_attention) != nullptr; };
    if (key == "num_workers" && number) {
        set_fact(Topic::loader_workers, *number, key);
    } else if (key == "ddp_bucket_size" && number) {
        constexpr double element = 4;  // gradients of 32 bits
        set_fact(Topic::bucket_bytes, *number * element, key);
    } else if (key == "params_dtype") {
        set_fact(Topic::fp32, value == "torch.float32" ? 1 : 0, key);
    } else if (key == "attention_backend" && !value.ends_with("auto")) {
        const bool slow = value.ends_with("unfused") || value.ends_with("local");
        set_fact(Topic::flash_attention, slow ? 0 : 1, key);
    } else if (key == "transformer_impl" && value == "transformer_engine" && !is_told()) {
        set_fact(Topic::flash_attention, 1, key);  // it takes a fused one by itself
    } else if (key == "use_flash_attn" && (value == "True" || !is_told())) {
        set_fact(Topic::flash_attention, value == "True" ? 1 : 0, key);
    }
}

/// A line that only a start of the program writes opens a run, unless one waits for its steps.
void LogReader::see_start() {
    if (!log_.runs.empty() && log_.runs.back().first) {
        open_run();
    }
}

void LogReader::set_facts(std::string_view text,
                          std::span<const std::pair<std::string_view, Topic>> named) {
    for (const auto& [words, topic] : named) {
        if (const auto number = number_after(text, words)) {
            set_fact(topic, *number, trim(words));
        }
    }
}

bool LogReader::read_fact(std::string_view text) {
    if (holds(text, "using world size:")) {
        see_start();
        set_facts(text, sizes);
        return true;
    }
    if (holds(text, "Training starts at step")) {
        set_facts(text, starts);
        return true;
    }
    constexpr std::string_view capacity = "CUDA capacity: ";
    if (const auto at = text.find(capacity); at != std::string_view::npos) {
        const auto name = text.substr(at + capacity.size());
        current().device = std::string{trim(name.substr(0, name.find(" with ")))};
        current().device_line = log_.lines;
        return true;
    }
    for (const auto& [words, topic, scale, is_start] : sentences) {
        if (const auto number = number_after(text, words)) {
            if (is_start) {
                see_start();
            }
            set_fact(topic, *number * scale, words);
            return true;
        }
    }
    constexpr std::string_view total = " total parameters";
    if (holds(text, total)) {
        if (const auto number = number_before(text, total)) {
            see_start();
            set_fact(Topic::parameters, *number, trim(total));
        }
        return true;
    }
    return read_argument(text);
}

}  // namespace railhead::training
