#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/builder.hpp"
#include "fabric/conf_file.hpp"
#include "fabric/fabric.hpp"

namespace railhead::fabric {

namespace {

class Reader {
 public:
    Reader(std::string_view text, const std::string& file, std::vector<Error>& warnings)
        : reader_{text, file}, builder_{{file, 1, 1}, warnings} {}

    Result<Fabric> run();

 private:
    Result<> read_line(const std::vector<ConfItem>& items);
    Result<Entry> sort_items(const std::vector<ConfItem>& items);
    Result<> check(const ConfItem& item);
    Result<> add_switch(const Entry& entry);
    Result<> add_block(const Entry& entry);
    Result<> set_sizes(const ConfItem& item);
    void warn_about_unknown(const ConfItem& item);

    [[nodiscard]] Field field_of(const ConfItem& item) const {
        return {item.key, item.value, reader_.where(item)};
    }
    [[nodiscard]] std::optional<Field> filled(const ConfItem& item) const {
        return item.value.empty() ? std::nullopt : std::optional{field_of(item)};
    }

    ConfReader reader_;
    FabricBuilder builder_;
};

void Reader::warn_about_unknown(const ConfItem& item) {
    constexpr std::string_view known[] = {"SwitchName", "BlockName", "BlockSizes",
                                          "Nodes",      "Switches",  "LinkSpeed"};
    const auto nearest = nearest_name(item.key, known);
    builder_.warn(fmt::format("unknown key {}{}", shown(item.key),
                              nearest ? fmt::format(": did you mean \"{}\"?", *nearest) : ""),
                  reader_.where(item));
}

/// What must hold for every item of a line.
Result<> Reader::check(const ConfItem& item) {
    if (item.key.empty()) {
        return fail(Errc::bad_input, fmt::format("{} is not Key=Value", shown(item.value)),
                    reader_.where(item));
    }
    if (item.ambiguous) {
        builder_.warn(
            fmt::format("{} has no value: Slurm takes the next key for it", shown(item.key)),
            reader_.where(item));
    }
    return {};
}

Result<Entry> Reader::sort_items(const std::vector<ConfItem>& items) {
    Entry entry{field_of(items.front()), {}, {}};
    for (const auto& item : std::span{items}.subspan(1)) {
        if (auto fine = check(item); !fine) {
            return propagate(fine);
        }
        if (equals_ignoring_case(item.key, "Nodes")) {
            entry.nodes = filled(item);
        } else if (equals_ignoring_case(item.key, "Switches")) {
            entry.children = filled(item);
        } else if (!equals_ignoring_case(item.key, "LinkSpeed")) {
            warn_about_unknown(item);
        }
    }
    return entry;
}

Result<> Reader::add_switch(const Entry& entry) {
    if (entry.nodes && entry.children) {
        return fail(
            Errc::bad_input,
            fmt::format("switch {} has both nodes and child switches", shown(entry.name.value)),
            entry.children->where);
    }
    if (!entry.nodes && !entry.children) {
        builder_.warn(fmt::format("switch {} has neither nodes nor switches: slurmctld before "
                                  "25.05 does not start with it",
                                  shown(entry.name.value)),
                      entry.name.where);
    }
    return builder_.add_switch(entry);
}

Result<> Reader::add_block(const Entry& entry) {
    if (!entry.nodes) {
        builder_.warn(
            fmt::format("block {} has no nodes: slurmctld before 25.05 does not start with it",
                        shown(entry.name.value)),
            entry.name.where);
    }
    return builder_.add_block(entry);
}

Result<> Reader::set_sizes(const ConfItem& item) {
    std::vector<Field> sizes;
    for (const auto part : split(item.value, ',')) {
        sizes.push_back({item.key, part, reader_.where(item)});
    }
    return builder_.set_block_sizes(sizes);
}

Result<> Reader::read_line(const std::vector<ConfItem>& items) {
    const auto& first = items.front();
    if (first.key.empty() && equals_ignoring_case(first.value, "Include")) {
        builder_.warn("an Include line in a topology file is not followed", reader_.where(first));
        return {};
    }
    if (auto fine = check(first); !fine) {
        return fine;
    }
    if (equals_ignoring_case(first.key, "BlockSizes")) {
        return set_sizes(first);
    }
    const bool is_switch = equals_ignoring_case(first.key, "SwitchName");
    if (!is_switch && !equals_ignoring_case(first.key, "BlockName")) {
        warn_about_unknown(first);
        return {};
    }
    auto entry = sort_items(items);
    if (!entry) {
        return propagate(entry);
    }
    return is_switch ? add_switch(*entry) : add_block(*entry);
}

Result<Fabric> Reader::run() {
    std::vector<ConfItem> items;
    while (reader_.next(items)) {
        if (auto done = read_line(items); !done) {
            return propagate(done);
        }
    }
    return builder_.finish();
}

}  // namespace

Result<Fabric> parse_topology_conf(std::string_view text, const std::string& file,
                                   std::vector<Error>* warnings) {
    std::vector<Error> unheard;
    const auto nul = text.find('\0');
    if (nul != std::string_view::npos) {
        const auto line =
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
        return fail(Errc::bad_input, "a NUL byte: this is no text file",
                    {file, static_cast<unsigned>(line) + 1, 1});
    }
    return Reader{text, file, warnings != nullptr ? *warnings : unheard}.run();
}

}  // namespace railhead::fabric
