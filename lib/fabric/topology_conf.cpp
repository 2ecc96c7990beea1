#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "fabric/conf_file.hpp"
#include "fabric/fabric.hpp"
#include "fabric/tree.hpp"
#include "job/hostlist.hpp"

namespace railhead::fabric {

namespace {

/// Aggregated blocks go up to 2^15 base blocks.
constexpr std::uint32_t max_doubling = 1U << 15U;

using Names = std::unordered_map<std::string, std::uint32_t>;

std::string shown(std::string_view text) {
    constexpr std::size_t most = 60;
    return fmt::format("\"{}{}\"", printable(text.substr(0, most)), text.size() > most ? "…" : "");
}

/// Up to a few names of a list, for a message.
std::string shown_list(std::span<const std::string> names) {
    const auto text = job::compress_hostlist(names);
    constexpr std::size_t most = 120;
    return printable(text.substr(0, most)) + (text.size() > most ? "…" : "");
}

/// One SwitchName= or BlockName= line.
struct Line {
    ConfItem name;
    std::optional<ConfItem> nodes;
    std::optional<ConfItem> switches;
};

class Builder {
 public:
    Builder(std::string_view text, const std::string& file, std::vector<Error>& warnings)
        : reader_{text, file}, file_{file}, warnings_{warnings} {}

    Result<Fabric> build();

 private:
    Result<> read(const std::vector<ConfItem>& items);
    Result<Line> sort_items(const std::vector<ConfItem>& items);
    Result<> check(const ConfItem& item);
    Result<> add_switch(const Line& line);
    Result<> add_block(const Line& line);
    Result<> add_sizes(const ConfItem& item);
    Result<> claim(Names& names, const ConfItem& item);
    Result<std::vector<std::string>> expand(const ConfItem& item) const;
    Result<std::vector<std::uint32_t>> add_nodes(const ConfItem& item);
    void set_kind(Kind kind, const ConfItem& item);
    void set_default_sizes();
    void warn_about_unknown(const ConfItem& item);
    void warn_about_shared_nodes();
    void warn_about_roots();

    void warn(std::string message, Position where) {
        warnings_.push_back({Errc::bad_input, std::move(message), std::move(where)});
    }
    tl::unexpected<Error> fail_at(const ConfItem& item, std::string message) const {
        return fail(Errc::bad_input, std::move(message), reader_.where(item));
    }

    ConfReader reader_;
    std::string file_;
    std::vector<Error>& warnings_;
    Fabric fabric_;
    Names nodes_, switches_, blocks_;
    std::vector<ChildList> child_lists_;
    std::size_t references_ = 0;
};

void Builder::warn_about_unknown(const ConfItem& item) {
    constexpr std::string_view known[] = {"SwitchName", "BlockName", "BlockSizes",
                                          "Nodes",      "Switches",  "LinkSpeed"};
    const auto nearest = nearest_name(item.key, known);
    warn(fmt::format("unknown key {}{}", shown(item.key),
                     nearest ? fmt::format(": did you mean \"{}\"?", *nearest) : ""),
         reader_.where(item));
}

/// What must hold for every item of a line.
Result<> Builder::check(const ConfItem& item) {
    if (item.key.empty()) {
        return fail_at(item, fmt::format("{} is not Key=Value", shown(item.value)));
    }
    if (item.ambiguous) {
        warn(fmt::format("{} has no value: Slurm takes the next key for it", shown(item.key)),
             reader_.where(item));
    }
    return {};
}

Result<Line> Builder::sort_items(const std::vector<ConfItem>& items) {
    Line line{items.front(), {}, {}};
    for (const auto& item : std::span{items}.subspan(1)) {
        if (auto fine = check(item); !fine) {
            return propagate(fine);
        }
        if (equals_ignoring_case(item.key, "Nodes")) {
            line.nodes = item.value.empty() ? std::nullopt : std::optional{item};
        } else if (equals_ignoring_case(item.key, "Switches")) {
            line.switches = item.value.empty() ? std::nullopt : std::optional{item};
        } else if (!equals_ignoring_case(item.key, "LinkSpeed")) {
            warn_about_unknown(item);
        }
    }
    return line;
}

Result<std::vector<std::string>> Builder::expand(const ConfItem& item) const {
    auto names = job::expand_hostlist(item.value);
    if (!names) {
        return fail_at(item, fmt::format("{}: {}", item.key, names.error().message));
    }
    return names;
}

/// The indices of the nodes named, new ones added to the fabric; ascending, no duplicates.
Result<std::vector<std::uint32_t>> Builder::add_nodes(const ConfItem& item) {
    auto names = expand(item);
    if (!names) {
        return propagate(names);
    }
    references_ += names->size();
    if (references_ > max_references) {
        return fail_at(item, "more nodes in this file than any cluster has");
    }
    std::vector<std::uint32_t> indices;
    indices.reserve(names->size());
    for (auto& name : *names) {
        const auto next = static_cast<std::uint32_t>(fabric_.nodes.size());
        const auto [at, is_new] = nodes_.try_emplace(std::move(name), next);
        if (is_new) {
            fabric_.nodes.push_back(at->first);
        }
        indices.push_back(at->second);
    }
    std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    return indices;
}

Result<> Builder::claim(Names& names, const ConfItem& item) {
    if (item.value.empty()) {
        return fail_at(item, fmt::format("{} without a name", item.key));
    }
    if (!names.try_emplace(std::string{item.value}, 0).second) {
        return fail_at(item, fmt::format("{} is defined twice", shown(item.value)));
    }
    return {};
}

void Builder::set_kind(Kind kind, const ConfItem& item) {
    if (fabric_.kind == Kind::none) {
        fabric_.kind = kind;
    } else if (fabric_.kind != kind && fabric_.switches.empty() != fabric_.blocks.empty()) {
        warn("switches and blocks in one file: slurmctld refuses it", reader_.where(item));
    }
}

Result<> Builder::add_switch(const Line& line) {
    set_kind(Kind::tree, line.name);
    if (auto mine = claim(switches_, line.name); !mine) {
        return mine;
    }
    Switch entry;
    entry.name = line.name.value;
    if (line.nodes && line.switches) {
        return fail_at(*line.switches, fmt::format("switch {} has both nodes and child switches",
                                                   shown(entry.name)));
    }
    if (line.nodes) {
        auto nodes = add_nodes(*line.nodes);
        if (!nodes) {
            return propagate(nodes);
        }
        entry.nodes = std::move(*nodes);
    } else if (line.switches) {
        auto names = expand(*line.switches);
        if (!names) {
            return propagate(names);
        }
        child_lists_.push_back({static_cast<std::uint32_t>(fabric_.switches.size()),
                                std::move(*names), reader_.where(*line.switches)});
    } else {
        warn(fmt::format("switch {} has neither nodes nor switches: slurmctld before 25.05 "
                         "does not start with it",
                         shown(entry.name)),
             reader_.where(line.name));
    }
    fabric_.switches.push_back(std::move(entry));
    return {};
}

Result<> Builder::add_block(const Line& line) {
    set_kind(Kind::block, line.name);
    if (auto mine = claim(blocks_, line.name); !mine) {
        return mine;
    }
    Block entry;
    entry.name = line.name.value;
    if (line.nodes) {
        auto nodes = add_nodes(*line.nodes);
        if (!nodes) {
            return propagate(nodes);
        }
        entry.nodes = std::move(*nodes);
    } else {
        warn(fmt::format("block {} has no nodes: slurmctld before 25.05 does not start with it",
                         shown(entry.name)),
             reader_.where(line.name));
    }
    fabric_.blocks.push_back(std::move(entry));
    return {};
}

/// BlockSizes: the first is the base block, the others are doublings of it.
Result<> Builder::add_sizes(const ConfItem& item) {
    set_kind(Kind::block, item);
    fabric_.block_sizes.clear();
    for (const auto part : split(item.value, ',')) {
        const auto size = parse_number<std::uint32_t>(trim(part));
        const auto base = fabric_.block_sizes.empty() ? size.value_or(0) : fabric_.block_sizes[0];
        if (!size || *size == 0 || *size % base != 0 || !std::has_single_bit(*size / base) ||
            *size / base > max_doubling) {
            return fail_at(
                item,
                fmt::format("BlockSizes: {} is not the first size times 1, 2, 4, …", shown(part)));
        }
        fabric_.block_sizes.push_back(*size);
    }
    std::ranges::sort(fabric_.block_sizes);
    return {};
}

Result<> Builder::read(const std::vector<ConfItem>& items) {
    const auto& first = items.front();
    if (first.key.empty() && equals_ignoring_case(first.value, "Include")) {
        warn("an Include line in a topology file is not followed", reader_.where(first));
        return {};
    }
    if (auto fine = check(first); !fine) {
        return fine;
    }
    if (equals_ignoring_case(first.key, "BlockSizes")) {
        return add_sizes(first);
    }
    const bool is_switch = equals_ignoring_case(first.key, "SwitchName");
    if (!is_switch && !equals_ignoring_case(first.key, "BlockName")) {
        warn_about_unknown(first);
        return {};
    }
    auto line = sort_items(items);
    if (!line) {
        return propagate(line);
    }
    return is_switch ? add_switch(*line) : add_block(*line);
}

/// Without BlockSizes, Slurm takes the first block's size as the base and allows 2 to 16 of them.
void Builder::set_default_sizes() {
    const auto first =
        std::ranges::find_if(fabric_.blocks, [](const Block& b) { return !b.nodes.empty(); });
    if (fabric_.block_sizes.empty() && first != fabric_.blocks.end()) {
        for (std::uint32_t factor = 1; factor <= 16; factor *= 2) {
            fabric_.block_sizes.push_back(factor * static_cast<std::uint32_t>(first->nodes.size()));
        }
    }
}

void Builder::warn_about_shared_nodes() {
    std::vector<std::uint8_t> homes(fabric_.nodes.size());
    std::vector<std::string> shared;
    for (const auto leaf : fabric_.leaves()) {
        for (const auto node : leaf) {
            if (homes[node] < 2 && ++homes[node] == 2) {
                shared.push_back(fabric_.nodes[node]);
            }
        }
    }
    if (!shared.empty()) {
        warn(fmt::format("{} under more than one {}: {}", count_of(shared.size(), "node"),
                         fabric_.kind == Kind::tree ? "leaf switch" : "block", shown_list(shared)),
             {file_, 1, 1});
    }
}

void Builder::warn_about_roots() {
    std::vector<std::string> roots;
    for (const auto index : fabric_.roots()) {
        const auto& root = fabric_.switches[index];
        if (root.nodes.size() == fabric_.nodes.size()) {
            return;
        }
        if (!root.nodes.empty()) {
            roots.push_back(
                fmt::format("{} ({})", printable(root.name), count_of(root.nodes.size(), "node")));
        }
    }
    if (roots.size() > 1) {
        const auto total = roots.size();
        roots.resize(std::min<std::size_t>(total, 6));
        warn(fmt::format("no switch joins all nodes, a job stays within one of these: {}{}",
                         fmt::join(roots, ", "), total > roots.size() ? ", …" : ""),
             {file_, 1, 1});
    }
}

Result<Fabric> Builder::build() {
    std::vector<ConfItem> items;
    while (reader_.next(items)) {
        if (auto done = read(items); !done) {
            return propagate(done);
        }
    }
    if (auto joined = join_switches(fabric_, child_lists_); !joined) {
        return propagate(joined);
    }
    set_default_sizes();
    if (fabric_.leaves().empty()) {
        fabric_.kind = Kind::none;
        warn("no switch or block with nodes: this is no topology", {file_, 1, 1});
    }
    warn_about_shared_nodes();
    if (fabric_.kind == Kind::tree) {
        warn_about_roots();
    }
    return std::move(fabric_);
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
    return Builder{text, file, warnings != nullptr ? *warnings : unheard}.build();
}

}  // namespace railhead::fabric
