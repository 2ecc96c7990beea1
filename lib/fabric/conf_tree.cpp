#include "fabric/conf_tree.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/lower.hpp"
#include "base/text.hpp"

namespace railhead::fabric {

namespace {

constexpr unsigned max_depth = 16;
constexpr unsigned max_files = 1000;

bool is_include(const std::vector<ConfItem>& items) {
    return items.front().key.empty() && equals_ignoring_case(items.front().value, "include");
}

}  // namespace

std::string folder_of(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? "" : std::string{path.substr(0, slash + 1)};
}

std::string ConfTree::path_of(std::string_view written) const {
    std::string path{written};
    for (auto at = path.find("%c"); at != std::string::npos; at = path.find("%c", at)) {
        const auto name = lower(cluster_name_);
        path.replace(at, 2, name);
        at += name.size();
    }
    return path.starts_with('/') ? path : folder_ + path;
}

Result<> ConfTree::read(const std::string& path, const OnLine& on_line) {
    auto text = read_(path);
    if (!text) {
        return propagate(text);
    }
    return read_text(*text, path, on_line);
}

Result<> ConfTree::read_text(std::string_view text, const std::string& path,
                             const OnLine& on_line) {
    ++files_;
    ConfReader reader{text, path};
    std::vector<ConfItem> items;
    while (reader.next(items)) {
        auto done = is_include(items) ? include(reader, items, on_line) : on_line(reader, items);
        if (!done) {
            return done;
        }
    }
    return {};
}

/// Follows an Include line.  Slurm knows no wildcards there.
Result<> ConfTree::include(const ConfReader& reader, const std::vector<ConfItem>& items,
                           const OnLine& on_line) {
    const auto where = reader.where(items.front());
    const auto written = items.size() > 1 && items[1].key.empty() ? items[1].value : "";
    const auto warn = [&](std::string why) {
        warnings_.push_back({Errc::bad_input,
                             fmt::format("Include {}: {}", printable(written), std::move(why)),
                             where});
        return Result<>{};
    };
    if (written.empty()) {
        return warn("no file is named");
    }
    if (written.find('*') != std::string_view::npos) {
        return warn("Slurm does not expand \"*\" here, the line is left out");
    }
    if (depth_ >= max_depth || files_ >= max_files) {
        return warn("too many files include one another");
    }
    const auto path = path_of(written);
    const auto text = read_(path);
    if (!text) {
        return warn(text.error().message);
    }
    ++depth_;
    auto done = read_text(*text, path, on_line);
    --depth_;
    return done;
}

void Settings::add(const ConfReader& reader, const std::vector<ConfItem>& items,
                   std::vector<Error>& warnings) {
    where_ = reader.where(items.front());
    for (const auto& item : items) {
        if (item.key.empty()) {
            warnings.push_back({Errc::bad_input,
                                fmt::format("\"{}\" is not Key=Value and is left out",
                                            printable(item.value.substr(0, 60))),
                                reader.where(item)});
            return;  // one message a line is enough
        }
        if (item.ambiguous) {
            warnings.push_back({Errc::bad_input,
                                fmt::format("\"{}\" has no value: Slurm takes the next key for it",
                                            printable(item.key)),
                                reader.where(item)});
        }
        const auto key = lower(item.key);
        const auto known =
            std::ranges::find(values_, key, &std::pair<std::string, std::string>::first);
        if (known != values_.end()) {
            known->second = item.value;
        } else {
            values_.emplace_back(key, item.value);
        }
    }
}

std::string_view Settings::find(std::string_view key) const {
    for (const auto& [name, value] : values_) {
        if (equals_ignoring_case(name, key)) {
            return value;
        }
    }
    return {};
}

}  // namespace railhead::fabric
