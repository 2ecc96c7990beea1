#include "diagnose/failures_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "training/log_line.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::size_t longest_message = 500;
constexpr unsigned longest_traceback = 2000;  // lines

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

struct Sign {
    std::string_view text;
    FailureKind kind;
};
/// The first that stands in "type: message" counts.
constexpr std::array signs{
    Sign{"ChildFailedError", FailureKind::consequence},
    Sign{"SignalException", FailureKind::consequence},
    Sign{"KeyboardInterrupt", FailureKind::consequence},
    Sign{"Connection reset by peer", FailureKind::consequence},
    Sign{"Connection closed by peer", FailureKind::consequence},
    Sign{"Broken pipe", FailureKind::consequence},
    Sign{"RendezvousConnectionError", FailureKind::consequence},
    Sign{"uncorrectable ECC error", FailureKind::gpu_hardware},
    Sign{"no CUDA-capable device", FailureKind::gpu_hardware},
    Sign{"GPU is lost", FailureKind::gpu_hardware},
    Sign{"out of shared memory", FailureKind::shared_memory},
    Sign{"CUDA out of memory", FailureKind::gpu_memory},
    Sign{"HIP out of memory", FailureKind::gpu_memory},
    Sign{"CUDA error: out of memory", FailureKind::gpu_memory},
    Sign{"OutOfMemoryError", FailureKind::gpu_memory},
    Sign{"CUBLAS_STATUS_ALLOC_FAILED", FailureKind::gpu_memory},
    Sign{"DefaultCPUAllocator", FailureKind::host_memory},
    Sign{"is killed by signal: Killed", FailureKind::host_memory},
    Sign{"Cannot allocate memory", FailureKind::host_memory},
    Sign{"MemoryError", FailureKind::host_memory},
    Sign{"Watchdog caught collective operation timeout", FailureKind::timeout},
    Sign{"Timed out", FailureKind::timeout},
    Sign{"timed out", FailureKind::timeout},
    Sign{"DistStoreError", FailureKind::timeout},
    Sign{"RendezvousTimeoutError", FailureKind::timeout},
    Sign{"Socket Timeout", FailureKind::timeout},
    Sign{"NCCL error", FailureKind::nccl},
    Sign{"DistBackendError", FailureKind::nccl},
    Sign{"illegal memory access", FailureKind::gpu_program},
    Sign{"device-side assert", FailureKind::gpu_program},
    Sign{"unspecified launch failure", FailureKind::gpu_program},
    Sign{"found NaN", FailureKind::not_a_number},
    Sign{"found Inf", FailureKind::not_a_number},
    Sign{"loss is nan", FailureKind::not_a_number},
    Sign{"FloatingPointError", FailureKind::not_a_number},
    Sign{"No space left on device", FailureKind::disk_full},
    Sign{"Disk quota exceeded", FailureKind::disk_full},
};

FailureKind kind_of(std::string_view text) {
    const auto* found =
        std::ranges::find_if(signs, [&](const Sign& s) { return has(text, s.text); });
    return found == signs.end() ? FailureKind::other : found->kind;
}

bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/// "torch.OutOfMemoryError: CUDA out of memory. …": a class and what it says.
std::optional<KeyValue> exception_of(std::string_view text) {
    std::size_t end = 0;
    while (end < text.size() && is_name(text[end])) {
        ++end;
    }
    const auto type = text.substr(0, end);
    const auto last = type.substr(type.rfind('.') + 1);  // npos + 1 is 0
    const bool is_class = !last.empty() && last[0] >= 'A' && last[0] <= 'Z';
    if (!is_class || (end < text.size() && text[end] != ':')) {
        return std::nullopt;
    }
    return KeyValue{type, trim(text.substr(std::min(text.size(), end + 1)))};
}

/// "rank3", "3", "1,3" of mpirun: the rank.  torchrun's "default3" counts within a node.
std::optional<std::uint32_t> rank_of(std::string_view label) {
    label.remove_prefix(label.starts_with("rank") ? 4 : 0);
    return parse_number<std::uint32_t>(label.substr(label.rfind(',') + 1));
}

/// "File "/a/b/train.py", line 88, in step": "train.py:88".
std::string frame_of(std::string_view text) {
    const auto path = word_after(text, "File \"", "\"");
    return fmt::format("{}:{}", printable(path.substr(path.rfind('/') + 1)),
                       word_after(text, "\", line ", ","));
}

}  // namespace

std::string_view name_of(FailureKind kind) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(FailureKind::count_)>
        names{"GPU memory exhausted",
              "host memory exhausted",
              "shared memory exhausted",
              "GPU hardware",
              "GPU program error",
              "not a number",
              "disk full",
              "crash",
              "error",
              "timeout",
              "NCCL error",
              "consequence"};
    return names.at(static_cast<std::size_t>(kind));
}

bool may_be_cause(FailureKind kind) {
    return kind < FailureKind::timeout;
}

const RankFailure* find_first(const Failures& failures) {
    std::vector<const RankFailure*> causes;
    for (const auto& failure : failures.failures) {
        if (may_be_cause(failure.kind) && !failure.is_chained) {
            causes.push_back(&failure);
        }
    }
    if (causes.empty()) {
        return failures.failures.empty() ? nullptr : failures.failures.data();
    }
    if (std::ranges::all_of(causes, [](const RankFailure* f) { return f->at_s.has_value(); })) {
        return *std::ranges::min_element(causes, {}, [](const RankFailure* f) { return *f->at_s; });
    }
    // An exit code says less than the exception of the same job.
    const auto told = std::ranges::find_if(causes, [](const RankFailure* f) {
        return f->type != "srun" || f->kind != FailureKind::other;
    });
    return told == causes.end() ? causes.front() : *told;
}

void FailureReader::read_line(std::string_view line) {
    const auto stripped = training::strip_prefixes(line);
    label_ = stripped.label;
    at_s_ = stripped.at_s;
    const auto text = trim(stripped.text);
    if (text.empty()) {
        return;
    }
    auto indent = static_cast<std::size_t>(stripped.text.data() - line.data());
    std::size_t blanks = 0;
    while (indent > 0 && (line[indent - 1] == ' ' || line[indent - 1] == '\t')) {
        --indent;
        ++blanks;
    }
    static_cast<void>(read_traceback(text, blanks) || read_torchrun(text) || read_slurm(text));
}

bool FailureReader::read_traceback(std::string_view text, std::size_t indent) {
    if (text == "Traceback (most recent call last):") {
        if (open_.size() == most_labels) {
            return true;
        }
        auto& open = open_[label_];
        failures_.unfinished += open.first_line == 0 ? 0 : 1;
        const auto chained = chained_.find(label_);
        constexpr std::uint64_t near = 4;  // lines: blanks stand between
        open = {
            indent, line(), 0, {}, chained != chained_.end() && line() <= chained->second + near};
        return true;
    }
    if (has(text, "another exception occurred:") || has(text, "was the direct cause of the")) {
        if (chained_.size() < most_labels) {
            chained_[label_] = line();
        }
        return true;
    }
    const auto found = open_.find(label_);
    if (found == open_.end()) {
        return false;
    }
    auto& open = found->second;
    if (text.starts_with("File \"")) {
        open.frame = frame_of(text);
        return true;
    }
    const auto exception = indent <= open.indent ? exception_of(text) : std::nullopt;
    if (!exception) {
        if (++open.lines > longest_traceback) {
            ++failures_.unfinished;
            open_.erase(found);
        }
        return indent > open.indent;
    }
    RankFailure failure;
    failure.kind = kind_of(text);
    failure.type = printable(exception->key.substr(0, evidence_limit));
    failure.message = printable(exception->value.substr(0, longest_message));
    failure.frame = open.frame;
    failure.is_chained = open.is_chained;
    failure.first_line = open.first_line;
    open_.erase(found);
    add(std::move(failure));
    return true;
}

/// The block that torchrun prints under "Root Cause (first observed failure):".
bool FailureReader::read_torchrun(std::string_view text) {
    if (text.starts_with("Root Cause (first observed failure)")) {
        torchrun_ = RankFailure{};
        torchrun_->kind = FailureKind::consequence;
        torchrun_->type = "torchrun";
        torchrun_->first_line = line();
        return true;
    }
    const auto parts = torchrun_ ? split_key(text, ':') : std::nullopt;
    if (!parts) {
        return false;
    }
    if (parts->key == "host") {
        torchrun_->host = printable(parts->value.substr(0, evidence_limit));
    } else if (parts->key == "rank") {
        torchrun_->rank =
            parse_number<std::uint32_t>(parts->value.substr(0, parts->value.find(' ')));
    } else if (parts->key == "exitcode") {
        torchrun_->message = "exit code " + printable(parts->value.substr(0, longest_message));
        auto failure = std::move(*torchrun_);
        torchrun_.reset();
        add(std::move(failure));
    } else {
        return false;
    }
    return true;
}

/// "srun: error: gpu-017: task 3: Out Of Memory"; "slurmstepd: error: Detected 1 oom_kill event …".
bool FailureReader::read_slurm(std::string_view text) {
    RankFailure failure;
    failure.first_line = line();
    if (text.starts_with("slurmstepd: error: Detected ") &&
        (has(text, "oom_kill event") || has(text, "oom-kill event"))) {
        failure.kind = FailureKind::host_memory;
        failure.type = "slurmstepd";
        failure.message = printable(text.substr(19, longest_message));
        add(std::move(failure));
        return true;
    }
    constexpr std::string_view srun = "srun: error: ";
    const auto task = text.find(": task");
    if (!text.starts_with(srun) || task == std::string_view::npos || task < srun.size()) {
        return false;
    }
    const auto said = text.find(": ", task + 2);
    if (said == std::string_view::npos) {
        return false;
    }
    const auto message = text.substr(said + 2);
    failure.type = "srun";
    failure.host =
        printable(text.substr(srun.size(), task - srun.size()).substr(0, evidence_limit));
    failure.rank = parse_number<std::uint32_t>(word_after(text.substr(task), "task ", ":"));
    failure.message = printable(message.substr(0, longest_message));
    if (message.starts_with("Out Of Memory")) {
        failure.kind = FailureKind::host_memory;
    } else if (message.starts_with("Killed") || message.starts_with("Terminated")) {
        failure.kind = FailureKind::consequence;  // srun ends the others so
    } else if (!message.starts_with("Exited with exit code")) {
        failure.kind = FailureKind::crash;
    }
    add(std::move(failure));
    return true;
}

void FailureReader::add(RankFailure failure) {
    if (failures_.failures.size() == most_failures) {
        ++failures_.left_out;
        return;
    }
    failure.label = label_;
    failure.rank = failure.rank ? failure.rank : rank_of(label_);
    failure.at_s = at_s_;
    failure.evidence = evidence();
    failures_.failures.push_back(std::move(failure));
}

void FailureReader::read_end() {
    failures_.unfinished += open_.size();
    open_.clear();
}

}  // namespace railhead::diagnose
