#include "checkpoint/layouts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/layout_judges.hpp"
#include "checkpoint/layout_names.hpp"
#include "checkpoint/layout_trackers.hpp"

namespace railhead::checkpoint {

namespace {

/// One look at a folder.
class Look {
 public:
    Look(const Folder& folder, const Limits& limits, const IsKnown& is_known)
        : folder_{folder}, limits_{limits}, is_known_{is_known}, trackers_{read_trackers(folder)} {}

    [[nodiscard]] Scan run();

 private:
    void take(const Entry& entry);
    void take_folder(const Entry& entry, Found found);
    void take_file(const Entry& entry, Found found);
    void take_itself();
    [[nodiscard]] bool is_known(const Found& found) const {
        return is_known_ && is_known_(found.name, found.seal_ns);
    }
    /// Sums up the files of a folder; the name of an empty one that should hold weights.
    void measure(const Folder& folder, int depth, Found& found, std::string& empty);
    void add(const Folder& below, Found found);
    /// What the trackers name counts wherever it stands among too many entries.
    void add_tracked(std::vector<Entry>& entries) const;

    const Folder& folder_;
    const Limits& limits_;
    const IsKnown& is_known_;
    std::vector<Tracker> trackers_;
    std::size_t looked_at_ = 0;
    Scan scan_;
};

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
    const auto say = [&found](std::string why) {
        found.verdict = Verdict::writing;
        found.why = std::move(why);
    };
    if (found.seal_ns == 0 || !is_known(found)) {
        std::string empty;
        measure(below, 1, found, empty);
        if (found.files == 0) {
            say("it has no files");
        } else if (!empty.empty() && found.verdict != Verdict::writing) {
            say(fmt::format("{} is empty", empty));
        }
    }
    scan_.found.push_back(std::move(found));
}

void Look::take_folder(const Entry& entry, Found found) {
    const auto below = folder_.below(entry.name);
    if (!below) {
        return;  // gone since
    }
    const auto by_tracker = [&](const Tracker& tracker) {
        return judge_by_tracker(tracker, entry.name, found);
    };
    if (judge_temporary(entry.name, found) || std::ranges::any_of(trackers_, by_tracker) ||
        judge_folder({entry.name, *below, folder_}, found)) {
        add(*below, std::move(found));
    }
}

void Look::take_file(const Entry& entry, Found found) {
    found.newest_ns = entry.changed_ns;
    found.seal_ns = entry.changed_ns;
    found.bytes = entry.bytes;
    found.files = 1;
    if (judge_file(entry, folder_, found)) {
        scan_.found.push_back(std::move(found));
    }
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

void Look::add_tracked(std::vector<Entry>& entries) const {
    for (const auto& tracker : trackers_) {
        const auto is_named = [&](const Entry& entry) { return entry.name == tracker.names; };
        if (std::ranges::none_of(entries, is_named)) {
            if (auto entry = folder_.find(tracker.names)) {
                entries.push_back(std::move(*entry));
            }
        }
    }
}

Scan Look::run() {
    auto listing = folder_.list(limits_.entries);
    scan_.is_cut = listing.is_cut;
    looked_at_ = listing.entries.size();
    if (listing.is_cut) {
        add_tracked(listing.entries);
    }
    for (const auto& tracker : trackers_) {
        if (auto dangling = find_dangling(tracker, folder_)) {
            scan_.found.push_back(std::move(*dangling));
        }
    }
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
