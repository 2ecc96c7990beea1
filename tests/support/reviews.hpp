// What tests of the review share: requests from a few words, and what was noted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "job/request.hpp"
#include "policy/review.hpp"

namespace railhead::test {

/// Every rule enforces, all is told, and a gang waits five minutes.
inline const std::string enforce = "mode = \"enforce\"\nnotes = \"all\"\nplacement.wait = \"5m\"\n";

inline bool has_note(const policy::Review& review, policy::NoteKind kind, const std::string& part) {
    return std::any_of(review.notes.begin(), review.notes.end(), [&](const auto& note) {
        return note.kind == kind && note.text.find(part) != std::string::npos;
    });
}

inline std::string all_notes(const policy::Review& review) {
    std::string text;
    for (const auto& note : review.notes) {
        text += note.text + "\n";
    }
    return text;
}

/// A request from a few words, so that a table line reads like an sbatch line.
struct Ask {
    const char* gpus = "";
    const char* gres = "";
    const char* gpus_per_task = "";
    std::optional<std::uint32_t> n, per_node, c, N;
    std::optional<std::uint32_t> cpus_per_gpu = {};
    std::optional<std::uint64_t> mem = {};
    std::optional<std::uint64_t> mem_per_cpu = {};
};

inline job::JobRequest request_of(const Ask& ask) {
    job::JobRequest request;
    request.gpus_per_job = ask.gpus;
    request.gpus_per_node = ask.gres;
    request.gpus_per_task = ask.gpus_per_task;
    request.tasks = ask.n;
    request.tasks_per_node = ask.per_node;
    request.cpus_per_task = ask.c;
    request.min_nodes = ask.N;
    request.max_nodes = ask.N;
    request.cpus_per_gpu = ask.cpus_per_gpu;
    request.mem_per_node_mb = ask.mem;
    request.mem_per_cpu_mb = ask.mem_per_cpu;
    return request;
}

/// Text as one line: what a table wrapped is joined again.
inline std::string unwrapped(const std::string& text) {
    std::string out;
    for (const auto line : split(text, '\n')) {
        for (const auto word : split_words(line)) {
            out.append(out.empty() ? "" : " ").append(word);
        }
    }
    return out;
}

}  // namespace railhead::test
