#include "checkpoint/layouts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/layout_names.hpp"

namespace railhead::checkpoint {

namespace {

constexpr const char* megatron_tracker = "latest_checkpointed_iteration.txt";
constexpr const char* deepspeed_tracker = "latest";
constexpr std::size_t most_tracker = 4096;

/// A file that names the last complete checkpoint.
struct Tracker {
    std::string names;  ///< empty: it says nothing that can be read
    std::int64_t changed_ns = 0;
};

std::optional<Tracker> read_tracker(const Folder& folder, const char* name,
                                    std::optional<std::string> (*parse)(std::string_view)) {
    const auto entry = folder.find(name);
    if (!entry || entry->kind != EntryKind::file) {
        return std::nullopt;
    }
    const auto text = folder.read(name, most_tracker);
    return Tracker{text ? parse(*text).value_or("") : "", entry->changed_ns};
}

/// One look at a folder.
class Look {
 public:
    Look(const Folder& folder, const Limits& limits, const IsKnown& is_known)
        : folder_{folder},
          limits_{limits},
          is_known_{is_known},
          megatron_{read_tracker(folder, megatron_tracker, &megatron_folder)},
          deepspeed_{read_tracker(folder, deepspeed_tracker, &deepspeed_folder)} {}

    [[nodiscard]] Scan run();

 private:
    using Judge = bool (Look::*)(const Entry& entry, const Folder& below, Found& found);

    void take(const Entry& entry);
    void take_folder(const Entry& entry, Found found);
    void take_file(const Entry& entry, Found found);
    void take_tracked(const std::optional<Tracker>& tracker, const char* file, Layout layout);
    void take_itself();
    [[nodiscard]] bool is_known(const Found& found) const {
        return is_known_ && is_known_(found.name, found.seal_ns);
    }
    [[nodiscard]] bool has(const std::string& name) const { return folder_.find(name).has_value(); }
    /// Sums up the files of a folder; the name of an empty one that should hold weights.
    void measure(const Folder& folder, int depth, Found& found, std::string& empty);
    void add(const Folder& below, Found found);

    bool judge_tracked(const Entry& entry, const Folder& below, Found& found);
    bool judge_temporary(const Entry& entry, const Folder& below, Found& found);
    bool judge_huggingface(const Entry& entry, const Folder& below, Found& found);
    bool judge_nemo(const Entry& entry, const Folder& below, Found& found);
    bool judge_dcp(const Entry& entry, const Folder& below, Found& found);
    bool judge_marked(const Entry& entry, const Folder& below, Found& found);
    bool judge_plain(const Entry& entry, const Folder& below, Found& found);

    const Folder& folder_;
    const Limits& limits_;
    const IsKnown& is_known_;
    std::optional<Tracker> megatron_, deepspeed_;
    std::size_t looked_at_ = 0;
    Scan scan_;
};

void say_writing(Found& found, std::string why) {
    found.verdict = Verdict::writing;
    found.why = std::move(why);
}

/// Sealed by the first of `names` that is a file with something in it; the name, or nothing.
template <std::size_t Count>
const char* seal(const Folder& below, const std::array<const char*, Count>& names, Found& found) {
    for (const auto* const name : names) {
        const auto entry = below.find(name);
        if (entry && entry->kind == EntryKind::file && entry->bytes > 0) {
            found.seal_ns = entry->changed_ns;
            return name;
        }
    }
    return nullptr;
}

// ---- the layouts ---------------------------------------------------------------------------

/// `false`: superseded, so of no interest; `found.layout` is then no matter.
enum class Tracked : std::uint8_t { other, named, later, earlier };

Tracked tracked_as(const std::string& name, const std::optional<Tracker>& tracker,
                   std::string_view prefix) {
    const auto number = number_after(name, prefix);
    if (!tracker) {
        return number ? Tracked::later : Tracked::other;
    }
    if (name == tracker->names) {
        return Tracked::named;
    }
    const auto last = number_after(tracker->names, prefix);
    if (!number) {
        return Tracked::other;
    }
    return last && *number < *last ? Tracked::earlier : Tracked::later;
}

bool Look::judge_tracked(const Entry& entry, const Folder& /*below*/, Found& found) {
    const auto judge = [&](const std::optional<Tracker>& tracker, Layout layout, const char* file,
                           std::string_view prefix) {
        const auto as = tracked_as(entry.name, tracker, prefix);
        // Without its tracker a folder may be another's: DCP writes iter_ and global_step too.
        if (as == Tracked::other || (!tracker && layout == Layout::deepspeed)) {
            return false;
        }
        found.layout = layout;
        if (as == Tracked::named) {
            found.verdict = Verdict::complete;
            found.seal_ns = tracker->changed_ns;
        } else if (as == Tracked::earlier) {
            found.name.clear();
        } else {
            say_writing(found, fmt::format("{} does not name it", file));
        }
        return true;
    };
    return (megatron_ && judge(megatron_, Layout::megatron, megatron_tracker, "iter_")) ||
           (deepspeed_ && judge(deepspeed_, Layout::deepspeed, deepspeed_tracker, "global_step"));
}

bool Look::judge_temporary(const Entry& entry, const Folder& /*below*/, Found& found) {
    auto to_come = name_to_come(entry.name);
    if (!to_come) {
        return false;
    }
    found.name_to_come = std::move(*to_come);
    say_writing(found, "it has the name of one that is being written");
    return true;
}

bool Look::judge_huggingface(const Entry& entry, const Folder& below, Found& found) {
    constexpr const char* state = "trainer_state.json";
    constexpr std::array accelerate{"random_states_0.pkl"};
    if (!number_after(entry.name, "checkpoint-") && !number_after(entry.name, "checkpoint_")) {
        return false;
    }
    constexpr std::size_t last_byte = 2;  // with a line end
    if (const auto file = below.find(state)) {
        found.layout = Layout::huggingface;
        found.seal_ns = file->changed_ns;
        const auto ends = below.ends(state, last_byte);
        if (ends && trim(ends->last).ends_with('}')) {
            found.verdict = Verdict::settling;
        } else {
            say_writing(found, "trainer_state.json is cut");
        }
        return true;
    }
    if (seal(below, accelerate, found) != nullptr) {
        found.layout = Layout::huggingface;
        found.verdict = Verdict::settling;
        return true;
    }
    if (below.find("config.json") || below.find("model.safetensors") ||
        below.find("adapter_config.json") || below.find("pytorch_model.bin")) {
        found.layout = Layout::huggingface;
        say_writing(found, "it has no trainer_state.json");
        return true;
    }
    return false;
}

bool Look::judge_nemo(const Entry& entry, const Folder& below, Found& found) {
    constexpr std::array sealed{"metadata.json", "weights/metadata.json"};
    const auto marker = nemo_marker(entry.name);
    if (has(marker)) {
        found.layout = Layout::nemo;
        say_writing(found, fmt::format("NeMo's marker {} is there", marker));
        return true;
    }
    if (!has_step_name(entry.name)) {
        return false;
    }
    // Each part of the path is opened by itself: none may be a link.
    const auto weights = below.below("weights");
    constexpr std::array metadata{"metadata.json"};
    if (seal(below, std::array{sealed[0]}, found) != nullptr ||
        (weights && seal(*weights, metadata, found) != nullptr)) {
        found.layout = Layout::nemo;
        found.verdict = Verdict::settling;
        return true;
    }
    return false;
}

bool Look::judge_dcp(const Entry& entry, const Folder& below, Found& found) {
    constexpr std::array metadata{".metadata"};
    const bool is_lightning = entry.name.ends_with(".ckpt");
    if (seal(below, metadata, found) != nullptr) {
        found.layout = is_lightning ? Layout::lightning : Layout::dcp;
        // Lightning writes meta.pt behind it.
        found.verdict = is_lightning ? Verdict::settling : Verdict::complete;
        return true;
    }
    constexpr std::size_t some = 64;
    const auto inside = below.list(some).entries;
    const bool has_shards = std::ranges::any_of(
        inside, [](const Entry& file) { return file.name.ends_with(".distcp"); });
    if (has_shards) {
        found.layout = Layout::dcp;
        say_writing(found, "it has no .metadata");
    }
    return has_shards;
}

bool Look::judge_marked(const Entry& entry, const Folder& below, Found& found) {
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
    bool marked = seal(below, inside, found) != nullptr;
    for (const auto* const name : inside) {  // most markers have nothing in them
        const auto marker = marked ? std::nullopt : below.find(name);
        if (marker && marker->kind == EntryKind::file) {
            found.seal_ns = marker->changed_ns;
            marked = true;
        }
    }
    for (const auto* const end : {".done", ".complete"}) {
        const auto marker = marked ? std::nullopt : folder_.find(entry.name + end);
        if (marker && marker->kind == EntryKind::file) {
            found.seal_ns = marker->changed_ns;
            marked = true;
        }
    }
    if (marked) {
        found.layout = Layout::marked;
        found.verdict = Verdict::complete;
    }
    return marked;
}

bool Look::judge_plain(const Entry& entry, const Folder& /*below*/, Found& found) {
    if (!is_numbered(entry.name) && !has_step_name(entry.name) && !is_weights_file(entry.name)) {
        return false;
    }
    found.layout = entry.name.ends_with(".ckpt") ? Layout::lightning : Layout::plain;
    found.verdict = Verdict::quieting;
    return true;
}

// ---- folders and files ---------------------------------------------------------------------

void Look::measure(const Folder& folder, int depth, Found& found, std::string& empty) {
    const auto left = limits_.tree - std::min(limits_.tree, looked_at_);
    const auto listing = folder.list(std::min(limits_.entries, left));
    looked_at_ += listing.entries.size();
    scan_.is_cut = scan_.is_cut || listing.is_cut;
    for (const auto& entry : listing.entries) {
        found.newest_ns = std::max(found.newest_ns, entry.changed_ns);
        if (entry.kind == EntryKind::file) {
            found.bytes += entry.bytes;
            ++found.files;
            if (entry.bytes == 0 && is_weights_file(entry.name)) {
                empty = entry.name;
            }
        } else if (entry.kind == EntryKind::folder) {
            const auto below = depth < limits_.depth ? folder.below(entry.name) : std::nullopt;
            scan_.is_cut = scan_.is_cut || depth >= limits_.depth;
            if (below) {
                measure(*below, depth + 1, found, empty);
            }
        }
    }
}

void Look::add(const Folder& below, Found found) {
    if (found.name.empty()) {
        return;
    }
    if (found.seal_ns == 0 || !is_known(found)) {
        std::string empty;
        measure(below, 1, found, empty);
        if (found.files == 0) {
            say_writing(found, "it has no files");
        } else if (!empty.empty() && found.verdict != Verdict::writing) {
            say_writing(found, fmt::format("{} is empty", empty));
        }
    }
    scan_.found.push_back(std::move(found));
}

void Look::take_folder(const Entry& entry, Found found) {
    const auto below = folder_.below(entry.name);
    if (!below) {
        return;  // gone since
    }
    constexpr std::array<Judge, 7> judges{
        &Look::judge_temporary, &Look::judge_tracked, &Look::judge_nemo, &Look::judge_huggingface,
        &Look::judge_dcp,       &Look::judge_marked,  &Look::judge_plain};
    const bool judged = std::ranges::any_of(
        judges, [&](const Judge judge) { return (this->*judge)(entry, *below, found); });
    if (judged) {
        add(*below, std::move(found));
    }
}

void Look::take_file(const Entry& entry, Found found) {
    found.newest_ns = entry.changed_ns;
    found.seal_ns = entry.changed_ns;
    found.bytes = entry.bytes;
    found.files = 1;
    const auto to_come = name_to_come(entry.name);
    if (!is_weights_file(to_come.value_or(entry.name)) || is_nemo_marker(entry.name)) {
        return;
    }
    found.layout = has_step_name(entry.name) || entry.name.ends_with(".ckpt") ? Layout::lightning
                                                                              : Layout::plain;
    if (to_come) {
        found.name_to_come = *to_come;
        say_writing(found, "it has the name of one that is being written");
    } else if (const auto marker = nemo_marker(entry.name); has(marker)) {
        found.layout = Layout::nemo;
        say_writing(found, fmt::format("NeMo's marker {} is there", marker));
    } else if (entry.bytes == 0) {
        say_writing(found, "it is empty");
    } else {
        const auto ends = folder_.ends(entry.name, ending_size);
        const auto ending = ends ? ending_of(ends->first, ends->last) : Ending::unknown;
        found.verdict = ending == Ending::whole ? Verdict::complete : Verdict::quieting;
        if (ending == Ending::cut) {
            say_writing(found, "the end of its zip archive is missing");
        }
    }
    scan_.found.push_back(std::move(found));
}

void Look::take(const Entry& entry) {
    Found found;
    found.name = entry.name;
    found.born_ns = entry.born_ns;
    if (entry.kind == EntryKind::folder) {
        take_folder(entry, std::move(found));
    } else if (entry.kind == EntryKind::file) {
        take_file(entry, std::move(found));
    }
}

/// A tracker whose checkpoint is not there, or that cannot be read.
void Look::take_tracked(const std::optional<Tracker>& tracker, const char* file, Layout layout) {
    if (!tracker) {
        return;
    }
    Found found;
    found.layout = layout;
    found.newest_ns = tracker->changed_ns;
    if (tracker->names.empty()) {
        found.name = file;
        say_writing(found, "it names no checkpoint");
    } else if (const auto named = folder_.find(tracker->names);
               !named || named->kind != EntryKind::folder) {
        found.name = tracker->names;
        say_writing(found, fmt::format("{} names it, but there is no such folder", file));
    } else {
        return;
    }
    scan_.found.push_back(std::move(found));
}

/// A folder that is itself the checkpoint, written over each time.
void Look::take_itself() {
    const auto metadata = folder_.find(".metadata");
    if (!metadata || metadata->kind != EntryKind::file || metadata->bytes == 0) {
        return;
    }
    Found found;
    found.name = ".";
    found.layout = Layout::dcp;
    found.verdict = Verdict::complete;
    found.seal_ns = metadata->changed_ns;
    add(folder_, std::move(found));
}

Scan Look::run() {
    auto listing = folder_.list(limits_.entries);
    scan_.is_cut = listing.is_cut;
    looked_at_ = listing.entries.size();
    if (listing.is_cut) {
        // What the trackers name counts wherever it stands among the entries.
        for (const auto& tracker : {megatron_, deepspeed_}) {
            const auto is_listed = [&](const Entry& entry) { return entry.name == tracker->names; };
            if (tracker && std::ranges::none_of(listing.entries, is_listed)) {
                if (auto entry = folder_.find(tracker->names)) {
                    listing.entries.push_back(std::move(*entry));
                }
            }
        }
    }
    take_tracked(megatron_, megatron_tracker, Layout::megatron);
    take_tracked(deepspeed_, deepspeed_tracker, Layout::deepspeed);
    take_itself();
    for (const auto& entry : listing.entries) {
        take(entry);
    }
    std::ranges::sort(scan_.found, {}, &Found::name);
    return std::move(scan_);
}

}  // namespace

std::string_view to_string(Layout layout) {
    constexpr std::array<std::string_view, 8> names{"Megatron",   "DeepSpeed", "PyTorch DCP",
                                                    "HF Trainer", "NeMo",      "Lightning",
                                                    "marker",     "plain"};
    return names.at(static_cast<std::size_t>(layout));
}

Scan scan_checkpoints(const Folder& folder, const Limits& limits, const IsKnown& is_known) {
    return Look{folder, limits, is_known}.run();
}

}  // namespace railhead::checkpoint
