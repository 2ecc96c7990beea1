#include "checkpoint/layout_judges.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/layout_names.hpp"

namespace railhead::checkpoint {

namespace {

void say_writing(Found& found, std::string why) {
    found.verdict = Verdict::writing;
    found.why = std::move(why);
}

/// Sealed by a file of this name, of so many bytes at least.
bool seal_by(const Folder& folder, const std::string& name, std::uint64_t least, Found& found) {
    const auto entry = folder.find(name);
    if (!entry || entry->kind != EntryKind::file || entry->bytes < least) {
        return false;
    }
    found.seal_ns = entry->changed_ns;
    return true;
}

/// Sealed by the first of `names` that is a file with something in it.
template <std::size_t Count>
bool seal(const Folder& folder, const std::array<const char*, Count>& names, Found& found) {
    return std::ranges::any_of(names,
                               [&](const char* name) { return seal_by(folder, name, 1, found); });
}

bool judge_huggingface(const Candidate& it, Found& found) {
    constexpr const char* state = "trainer_state.json";
    constexpr std::array accelerate{"random_states_0.pkl"};
    if (!number_after(it.name, "checkpoint-") && !number_after(it.name, "checkpoint_")) {
        return false;
    }
    constexpr std::size_t last_byte = 2;  // with a line end
    if (const auto file = it.below.find(state)) {
        found.layout = Layout::huggingface;
        found.seal_ns = file->changed_ns;
        const auto ends = it.below.ends(state, last_byte);
        if (ends && trim(ends->last).ends_with('}')) {
            found.verdict = Verdict::settling;
        } else {
            say_writing(found, "trainer_state.json is cut");
        }
        return true;
    }
    if (seal(it.below, accelerate, found)) {
        found.layout = Layout::huggingface;
        found.verdict = Verdict::settling;
        return true;
    }
    if (it.below.find("config.json") || it.below.find("model.safetensors") ||
        it.below.find("adapter_config.json") || it.below.find("pytorch_model.bin")) {
        found.layout = Layout::huggingface;
        say_writing(found, "it has no trainer_state.json");
        return true;
    }
    return false;
}

bool judge_nemo(const Candidate& it, Found& found) {
    constexpr std::array metadata{"metadata.json"};
    const auto marker = nemo_marker(it.name);
    if (it.around.find(marker)) {
        found.layout = Layout::nemo;
        say_writing(found, fmt::format("NeMo's marker {} is there", marker));
        return true;
    }
    if (!has_step_name(it.name)) {
        return false;
    }
    // Each part of the path is opened by itself: none may be a link.
    const auto weights = it.below.below("weights");
    if (seal(it.below, metadata, found) || (weights && seal(*weights, metadata, found))) {
        found.layout = Layout::nemo;
        found.verdict = Verdict::settling;
        return true;
    }
    return false;
}

bool judge_dcp(const Candidate& it, Found& found) {
    constexpr std::array metadata{".metadata"};
    const bool is_lightning = it.name.ends_with(".ckpt");
    if (seal(it.below, metadata, found)) {
        found.layout = is_lightning ? Layout::lightning : Layout::dcp;
        // Of Lightning's, meta.pt comes behind it.
        found.verdict = is_lightning ? Verdict::settling : Verdict::complete;
        return true;
    }
    constexpr std::size_t some = 64;
    const auto inside = it.below.list(some).entries;
    const bool has_shards = std::ranges::any_of(
        inside, [](const Entry& file) { return file.name.ends_with(".distcp"); });
    if (has_shards) {
        found.layout = Layout::dcp;
        say_writing(found, "it has no .metadata");
    }
    return has_shards;
}

bool judge_marked(const Candidate& it, Found& found) {
    constexpr std::array inside{"_SUCCESS",
                                ".complete",
                                "complete",
                                "COMPLETE",
                                ".done",
                                "done",
                                "DONE",
                                ".finished",
                                "finished",
                                "commit_success.txt",
                                "_CHECKPOINT_METADATA"};
    constexpr std::array beside{".done", ".complete"};
    const bool marked =
        seal(it.below, inside, found) ||  // most markers have nothing in them
        std::ranges::any_of(inside,
                            [&](const char* name) { return seal_by(it.below, name, 0, found); }) ||
        std::ranges::any_of(
            beside, [&](const char* end) { return seal_by(it.around, it.name + end, 0, found); });
    if (marked) {
        found.layout = Layout::marked;
        found.verdict = Verdict::complete;
    }
    return marked;
}

bool judge_plain(const Candidate& it, Found& found) {
    if (!is_numbered(it.name) && !has_step_name(it.name) && !is_weights_file(it.name)) {
        return false;
    }
    found.layout = it.name.ends_with(".ckpt") ? Layout::lightning : Layout::plain;
    found.verdict = Verdict::quieting;
    return true;
}

}  // namespace

bool judge_temporary(const std::string& name, Found& found) {
    auto to_come = name_to_come(name);
    if (!to_come) {
        return false;
    }
    found.name_to_come = std::move(*to_come);
    say_writing(found, "it has the name of one that is being written");
    return true;
}

bool judge_folder(const Candidate& it, Found& found) {
    return judge_nemo(it, found) || judge_huggingface(it, found) || judge_dcp(it, found) ||
           judge_marked(it, found) || judge_plain(it, found);
}

bool judge_file(const Entry& entry, const Folder& around, Found& found) {
    const auto to_come = name_to_come(entry.name);
    if (!is_weights_file(to_come.value_or(entry.name)) || is_nemo_marker(entry.name)) {
        return false;
    }
    found.layout = has_step_name(entry.name) || entry.name.ends_with(".ckpt") ? Layout::lightning
                                                                              : Layout::plain;
    if (judge_temporary(entry.name, found)) {
        return true;
    }
    if (const auto marker = nemo_marker(entry.name); around.find(marker)) {
        found.layout = Layout::nemo;
        say_writing(found, fmt::format("NeMo's marker {} is there", marker));
    } else if (entry.bytes == 0) {
        say_writing(found, "it is empty");
    } else {
        const auto ends = around.ends(entry.name, ending_size);
        const auto ending = ends ? ending_of(ends->first, ends->last) : Ending::unknown;
        found.verdict = ending == Ending::whole ? Verdict::complete : Verdict::quieting;
        if (ending == Ending::cut) {
            say_writing(found, "the end of its zip archive is missing");
        }
    }
    return true;
}

}  // namespace railhead::checkpoint
