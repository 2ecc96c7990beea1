#include "diagnose/nccl_book.hpp"

#include <algorithm>
#include <utility>

namespace railhead::diagnose {
namespace {

// Far above what a sound log has; what is over it is counted.
constexpr std::size_t most_ranks = std::size_t{1} << 17U;
constexpr std::size_t most_communicators = std::size_t{1} << 19U;
constexpr std::size_t most_sayings = 16'384;
constexpr std::size_t most_of_a_table = 1024;
constexpr std::size_t most_links = 64;
constexpr std::size_t most_below_a_switch = 64;

/// A hash of `text` without the words that have a digit: addresses, ports, ranks, ids.
std::uint64_t hash_of_words(std::string_view text, std::uint64_t seed) {
    std::uint64_t hash = seed;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        if (std::none_of(word.begin(), word.end(), is_digit)) {
            hash = hash_of(word, hash);
        }
        text.remove_prefix(std::min(text.size(), word.size() + 1));
    }
    return hash;
}

}  // namespace

NcclBook::NcclBook() {
    log.hosts.emplace_back();
    last_saying_.fill(nothing);
    nobody_.said.fill(nothing);
}

template <class T>
bool NcclBook::has_room(const std::vector<T>& table, std::size_t limit) {
    if (table.size() < limit) {
        return true;
    }
    ++log.left_out;
    return false;
}

std::uint32_t NcclBook::host_of(std::string_view name) {
    if (name.empty()) {
        return 0;
    }
    const std::uint64_t hash = hash_of(name);
    if (const auto* found =
            hosts_.find(hash, [&](std::uint32_t host) { return log.hosts[host] == name; })) {
        return *found;
    }
    if (!has_room(log.hosts, most_ranks)) {
        return 0;
    }
    const auto host = static_cast<std::uint32_t>(log.hosts.size());
    log.hosts.emplace_back(name);
    hosts_.insert(hash, host);
    return host;
}

const std::uint32_t* NcclBook::find_rank(std::uint64_t hash, const Prefix& prefix) const {
    // 64 bits of hash tell hosts apart: their names lie elsewhere, which takes as long as a line.
    return ranks_.find(hash, [&](std::uint32_t index) {
        return log.ranks[index].pid == prefix.pid && log.ranks[index].device == prefix.device;
    });
}

std::uint32_t NcclBook::find_glued(const Prefix& prefix) const {
    for (std::size_t cut = 1; cut < prefix.host.size(); ++cut) {
        const std::uint64_t hash =
            hash_of_speaker(prefix.host.substr(cut), prefix.pid, prefix.device);
        if (const auto* found = find_rank(hash, prefix)) {
            return *found;
        }
    }
    return nothing;
}

std::uint32_t NcclBook::add_rank(const Prefix& prefix) {
    if (!has_room(log.ranks, most_ranks)) {
        return nothing;
    }
    const auto index = static_cast<std::uint32_t>(log.ranks.size());
    NcclRank& added = log.ranks.emplace_back();
    added.host = host_of(prefix.host);
    added.pid = prefix.pid;
    added.device = prefix.device;
    added.file = file;
    added.said.fill(nothing);
    ranks_.insert(prefix.hash, index);
    return index;
}

std::uint32_t NcclBook::rank_of(const Prefix& prefix) {
    if (prefix.hash == last_hash_ && last_rank_ != nothing) {
        return last_rank_;
    }
    const auto* found = find_rank(prefix.hash, prefix);
    std::uint32_t index = found != nullptr ? *found : find_glued(prefix);
    if (index == nothing) {
        index = add_rank(prefix);
    }
    last_hash_ = prefix.hash;
    last_rank_ = index;
    return index;
}

void NcclBook::prefetch_rank(std::uint64_t hash) const {
    if (const auto* found = ranks_.find(hash, [](std::uint32_t) { return true; })) {
        prefetch(&log.ranks[*found]);
    }
}

void NcclBook::say(std::uint32_t rank_index, NcclTopic topic, std::string_view value) {
    const auto slot = static_cast<std::size_t>(topic);
    std::uint32_t& said = rank(rank_index).said[slot];
    value = value.substr(0, 2 * evidence_limit);
    const auto is_it = [&](std::uint32_t index) {
        return log.sayings[index].topic == topic && log.sayings[index].value == value;
    };
    for (const std::uint32_t likely : {said, last_saying_[slot]}) {
        if (likely != nothing && is_it(likely)) {
            ++log.sayings[likely].lines;
            said = likely;
            return;
        }
    }
    const std::uint64_t hash = hash_of(value, slot + 1);
    if (const auto* found = sayings_.find(hash, is_it)) {
        ++log.sayings[*found].lines;
        said = last_saying_[slot] = *found;
        return;
    }
    const bool is_stump =
        is_cut && std::any_of(log.sayings.begin(), log.sayings.end(), [&](const Saying& known) {
            return known.topic == topic && known.value.starts_with(value);
        });
    if (value.empty() || is_stump || !has_room(log.sayings, most_sayings)) {
        return;
    }
    said = last_saying_[slot] = static_cast<std::uint32_t>(log.sayings.size());
    log.sayings.push_back({topic, std::string{value}, 1, evidence()});
    sayings_.insert(hash, said);
}

void NcclBook::add_path(NcclRank& rank, PathClass path, std::string_view name, bool is_gdr) {
    constexpr std::string_view gdr = "/GDRDMA";
    const auto is_it = [&](const NcclPath& known) {
        return known.kind.size() == name.size() + (is_gdr ? gdr.size() : 0) && known.path == path &&
               std::string_view{known.kind}.starts_with(name);
    };
    if (last_path_ >= log.paths.size() || !is_it(log.paths[last_path_])) {
        const auto found = std::find_if(log.paths.begin(), log.paths.end(), is_it);
        last_path_ = static_cast<std::size_t>(found - log.paths.begin());
        if (found == log.paths.end()) {
            const bool is_stump = is_cut && std::any_of(log.paths.begin(), log.paths.end(),
                                                        [&](const NcclPath& known) {
                                                            return known.kind.starts_with(name);
                                                        });
            if (is_stump || !has_room(log.paths, most_of_a_table)) {
                return;
            }
            log.paths.push_back(
                {std::string{name} + std::string{is_gdr ? gdr : ""}, path, 0, evidence()});
        }
    }
    ++log.paths[last_path_].lines;
    ++rank.paths[static_cast<std::size_t>(path)];
}

void NcclBook::add_gdr(GdrChoice choice) {
    const auto found = std::find_if(log.gdr.begin(), log.gdr.end(), [&](const GdrChoice& known) {
        return known.enabled == choice.enabled && known.hca == choice.hca &&
               known.distance == choice.distance && known.limit == choice.limit;
    });
    if (found != log.gdr.end()) {
        ++found->lines;
    } else if (has_room(log.gdr, most_of_a_table)) {
        choice.lines = 1;
        choice.first = evidence();
        log.gdr.push_back(std::move(choice));
    }
}

void NcclBook::add_variable(std::string_view name, std::string_view value, bool from_environment) {
    const std::uint64_t hash = hash_of(value, hash_of(name));
    const auto* found = variables_.find(hash, [&](std::uint32_t index) {
        return log.variables[index].name == name && log.variables[index].value == value;
    });
    if (found != nullptr) {
        ++log.variables[*found].lines;
    } else if (!is_cut && has_room(log.variables, most_of_a_table)) {
        variables_.insert(hash, static_cast<std::uint32_t>(log.variables.size()));
        log.variables.push_back(
            {std::string{name}, std::string{value}, from_environment, 1, evidence()});
    }
}

void NcclBook::add_communicator(std::uint32_t ranks, std::optional<std::uint64_t> id) {
    auto& table = log.communicators;
    if (last_communicators_ >= table.size() || table[last_communicators_].ranks != ranks) {
        const auto found = std::find_if(table.begin(), table.end(),
                                        [&](const auto& known) { return known.ranks == ranks; });
        if (found == table.end() && !has_room(table, most_of_a_table)) {
            return;
        }
        last_communicators_ = static_cast<std::size_t>(found - table.begin());
        if (found == table.end()) {
            table.push_back({ranks, 0, 0});
        }
    }
    ++table[last_communicators_].lines;
    if (!id) {
        return;
    }
    const std::uint64_t hash = (*id ^ ranks) * 0x9E3779B97F4A7C15U;
    if (communicator_ids_.find(hash, [](std::uint32_t) { return true; }) != nullptr) {
        return;
    }
    if (communicator_ids_.size() >= most_communicators) {
        ++log.left_out;
        return;
    }
    communicator_ids_.insert(hash, 0);
    ++table[last_communicators_].count;
}

void NcclBook::add_warning(std::uint32_t rank_index, NcclWarning warning, std::string_view what,
                           Link link) {
    const std::uint64_t seed = static_cast<std::uint64_t>(warning.kind) * 1'000'003 +
                               static_cast<std::uint64_t>(warning.status.value_or(-1)) * 1009 +
                               static_cast<std::uint64_t>(warning.vendor_error.value_or(-1));
    const std::uint64_t hash = hash_of_words(what, seed);
    const auto* found = warnings_.find(hash, [](std::uint32_t) { return true; });
    if (found == nullptr && !has_room(log.warnings, most_of_a_table)) {
        return;
    }
    const std::uint32_t index =
        found != nullptr ? *found : static_cast<std::uint32_t>(log.warnings.size());
    if (found == nullptr) {
        warning.rank = rank_index;
        warning.first = evidence();
        log.warnings.push_back(std::move(warning));
        warnings_.insert(hash, index);
    }
    NcclWarning& kept = log.warnings[index];
    ++kept.lines;
    if (link != Link{} && kept.links.size() < most_links &&
        std::find(kept.links.begin(), kept.links.end(), link) == kept.links.end()) {
        kept.links.push_back(std::move(link));
    }
    if (rank_index == nothing) {
        return;
    }
    NcclRank& said_by = log.ranks[rank_index];
    if (++said_by.warnings == 1) {
        said_by.first_warning = index;
        said_by.first_warning_line = line;
        said_by.file = file;
        ++kept.ranks;
    }
}

void NcclBook::add_graph_link(std::string_view type, double gb_s) {
    const auto found =
        std::find_if(log.graph_links.begin(), log.graph_links.end(), [&](const GraphLink& known) {
            return known.type == type && !(known.gb_s < gb_s) && !(known.gb_s > gb_s);
        });
    if (found != log.graph_links.end()) {
        ++found->lines;
    } else if (has_room(log.graph_links, most_of_a_table)) {
        log.graph_links.push_back({std::string{type}, gb_s, 1, evidence()});
    }
}

void NcclBook::begin_switch(std::uint32_t rank_index, std::string_view id) {
    switch_rank_ = rank_index;
    switch_ = SIZE_MAX;
    if (id.empty() || rank_index == nothing) {
        return;
    }
    auto& table = log.graph_switches;
    const std::uint32_t host = log.ranks[rank_index].host;
    const auto found = std::find_if(table.begin(), table.end(), [&](const GraphSwitch& known) {
        return known.host == host && known.id == id;
    });
    if (found == table.end() && !has_room(table, most_of_a_table)) {
        return;
    }
    switch_ = static_cast<std::size_t>(found - table.begin());
    if (found == table.end()) {
        table.push_back({host, std::string{id}, {}, {}});
    }
}

void NcclBook::add_to_switch(std::uint32_t rank_index, bool is_gpu, std::string_view id) {
    if (switch_ == SIZE_MAX || switch_rank_ != rank_index) {
        return;
    }
    GraphSwitch& below = log.graph_switches[switch_];
    auto& devices = is_gpu ? below.gpus : below.nics;
    if (std::find(devices.begin(), devices.end(), id) == devices.end() &&
        has_room(devices, most_below_a_switch)) {
        devices.emplace_back(id);
    }
}

void NcclBook::add_timeout(CollectiveTimeout timeout, std::uint32_t rank_number) {
    auto& table = log.timeouts;
    auto found = std::find_if(table.begin(), table.end(), [&](const CollectiveTimeout& known) {
        return known.sequence == timeout.sequence && known.operation == timeout.operation &&
               known.group == timeout.group && known.numel_in == timeout.numel_in;
    });
    if (found == table.end()) {
        if (!has_room(table, most_links)) {
            return;
        }
        timeout.first = evidence();
        table.push_back(std::move(timeout));
        found = table.end() - 1;
    } else {
        found->longest_ms = std::max(found->longest_ms, timeout.longest_ms);
    }
    const auto at = std::lower_bound(found->ranks.begin(), found->ranks.end(), rank_number);
    if ((at == found->ranks.end() || *at != rank_number) && has_room(found->ranks, most_ranks)) {
        found->ranks.insert(at, rank_number);
    }
}

void NcclBook::add_init_time(NcclRank& rank, double seconds) {
    rank.init_s = std::max(rank.init_s, static_cast<float>(seconds));
    if (rank.init_s > slowest_init_s_) {
        slowest_init_s_ = rank.init_s;
        log.slowest_init = evidence();
    }
}

void NcclBook::finish() {
    std::sort(log.communicators.begin(), log.communicators.end(),
              [](const auto& a, const auto& b) { return a.ranks > b.ranks; });
}

}  // namespace railhead::diagnose
