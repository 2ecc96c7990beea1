#include "checkpoint/layout_trackers.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/layout_names.hpp"

namespace railhead::checkpoint {

namespace {

constexpr std::size_t most_tracker = 4096;

struct Kind {
    Layout layout;
    const char* file;
    const char* prefix;
    std::optional<std::string> (*parse)(std::string_view);
};

constexpr std::array kinds{
    Kind{Layout::megatron, "latest_checkpointed_iteration.txt", "iter_", &megatron_folder},
    Kind{Layout::deepspeed, "latest", "global_step", &deepspeed_folder}};

}  // namespace

std::vector<Tracker> read_trackers(const Folder& folder) {
    std::vector<Tracker> trackers;
    for (const auto& kind : kinds) {
        const auto entry = folder.find(kind.file);
        if (!entry || entry->kind != EntryKind::file) {
            continue;
        }
        const auto text = folder.read(kind.file, most_tracker);
        trackers.push_back({kind.layout, kind.file, kind.prefix,
                            text ? kind.parse(*text).value_or("") : "", entry->changed_ns});
    }
    return trackers;
}

bool judge_by_tracker(const Tracker& tracker, const std::string& name, Found& found) {
    const auto number = number_after(name, tracker.prefix);
    const bool named = name == tracker.names;
    if (!named && !number) {
        return false;
    }
    found.layout = tracker.layout;
    const auto last = number_after(tracker.names, tracker.prefix);
    if (named) {
        found.verdict = Verdict::complete;
        found.seal_ns = tracker.changed_ns;
    } else if (last && *number < *last) {
        found.name.clear();
    } else {
        found.verdict = Verdict::writing;
        found.why = fmt::format("{} does not name it", tracker.file);
    }
    return true;
}

std::optional<Found> find_dangling(const Tracker& tracker, const Folder& folder) {
    Found found;
    found.layout = tracker.layout;
    found.newest_ns = tracker.changed_ns;
    if (tracker.names.empty()) {
        found.name = tracker.file;
        found.why = "it names no checkpoint";
        return found;
    }
    const auto named = folder.find(tracker.names);
    if (named && named->kind == EntryKind::folder) {
        return std::nullopt;
    }
    found.name = tracker.names;
    found.why = fmt::format("{} names it, but there is no such folder", tracker.file);
    return found;
}

}  // namespace railhead::checkpoint
