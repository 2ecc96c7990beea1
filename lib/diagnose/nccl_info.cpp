// Texts of "NCCL INFO", each to the place where it belongs.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "diagnose/nccl_records.hpp"

namespace railhead::diagnose {
namespace {

std::optional<std::uint64_t> hex_after(std::string_view text, std::string_view key) {
    auto word = word_after(text, key);
    take(word, "0x");
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
    return error == std::errc{} && end == word.data() + word.size() ? std::optional{value}
                                                                    : std::nullopt;
}

/// "comm 0x55… rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId ab000 commId 0xd5… - Init START".
bool take_communicator(NcclBook& book, NcclRank& rank, std::string_view text, bool is_last_try) {
    const auto number = number_after(text, " rank ");
    const auto of = number_after(text, " nranks ");
    if (!number || !of || *of == 0 || *of > INT32_MAX || *number >= *of) {
        return is_last_try;
    }
    if (book.is_cut) {
        return true;
    }
    const bool is_started = contains(text, "Init START");
    const bool is_completed = contains(text, "Init COMPLETE");
    if (!is_started && !is_completed && contains(text, " COMPLETE")) {
        return true;  // its end: "Destroy COMPLETE", "Abort COMPLETE"
    }
    if (*of > rank.of) {
        rank.rank = static_cast<std::int32_t>(*number);
        rank.of = static_cast<std::uint32_t>(*of);
    }
    if (const auto nvml = number_after(text, " nvmlDev ")) {
        rank.nvml_device = static_cast<std::int32_t>(std::min<std::uint64_t>(*nvml, INT32_MAX));
    }
    if (const auto bus = hex_after(text, " busId ")) {
        rank.bus_id = bus;
    }
    rank.started += is_started ? 1 : 0;
    rank.completed += is_completed ? 1 : 0;
    book.add_communicator(static_cast<std::uint32_t>(*of), hex_after(text, " commId "));
    return true;
}

/// "Init timings - ncclCommInitRank: rank 0 nranks 8 total 1.97 (kernels 0.18, …)".
void take_init_timings(NcclBook& book, NcclRank& rank, std::string_view text) {
    const auto at = text.find(" total ");
    if (at != std::string_view::npos && !book.is_cut) {
        book.add_init_time(rank, real_at(text.substr(at + 7)).value_or(0));
    }
}

/// "NCCL_IB_HCA set by environment to mlx5", "NCCL_IB_DISABLE set by environment to 0.".
void take_variable(NcclBook& book, std::string_view text) {
    const auto name = text.substr(0, text.find(' '));
    const auto set = text.find(" set ");
    const auto to = text.find(" to ", name.size());
    if (set != name.size() || to == std::string_view::npos) {
        return;
    }
    auto value = text.substr(to + 4);
    if (value.size() > 1 && value.ends_with('.') && is_digit(value[value.size() - 2])) {
        value.remove_suffix(1);
    }
    book.add_variable(name, value, contains(text.substr(set, to - set), "environment"));
}

void take_bootstrap(NcclBook& book, std::uint32_t rank, std::string_view text) {
    if (const auto at = text.find("Using "); at != std::string_view::npos) {
        book.say(rank, NcclTopic::bootstrap, interface_names(text.substr(at + 6)));
    }
}

void say_affinity(NcclBook& book, std::uint32_t rank, std::string_view text) {
    if (const auto at = text.find(" to "); at != std::string_view::npos) {
        book.say(rank, NcclTopic::affinity, text.substr(at + 4));
    }
}

/// "CUDA Dev 0[4], Socket NIC distance :  SYS" of 2.4 tells both numbers of a GPU.
void take_cuda_device(NcclRank& rank, std::string_view text) {
    if (const auto nvml = number_after(text, "[")) {
        rank.nvml_device = static_cast<std::int32_t>(std::min<std::uint64_t>(*nvml, INT32_MAX));
    }
}

/// "Assigned NET plugin IB to comm": the word behind `key`, up to `end`.
std::string_view between(std::string_view text, std::string_view key, std::string_view end) {
    text.remove_prefix(std::min(text.size(), text.find(key) + key.size()));
    return text.substr(0, text.find(end));
}

/// A fact that a text with this beginning says whole.
struct Whole {
    std::string_view begins;
    NcclTopic topic;
    bool keeps_beginning = false;
};
constexpr Whole wholes[] = {
    {"Using network ", NcclTopic::network},
    {"Plugin Path : ", NcclTopic::plugin_path},
    {"P2P plugin ", NcclTopic::plugin},
    {"Successfully loaded external network plugin ", NcclTopic::plugin},
    {"cudaDriverVersion ", NcclTopic::cuda_driver},
    {"Pattern ", NcclTopic::pattern, true},
    {"MNNVL ", NcclTopic::mnnvl},
};

bool take_whole(NcclBook& book, std::uint32_t rank, std::string_view text) {
    for (const Whole& whole : wholes) {
        if (text.starts_with(whole.begins)) {
            book.say(rank, whole.topic,
                     whole.keeps_beginning ? text : text.substr(whole.begins.size()));
            return true;
        }
    }
    return false;
}

/// What is neither a connection nor of a network.
bool take_other(NcclBook& book, std::uint32_t rank, std::string_view text, bool is_last_try) {
    NcclRank& said_by = book.rank(rank);
    if (text.starts_with("comm ") || text.starts_with("ncclComm")) {
        return take_communicator(book, said_by, text, is_last_try);
    }
    if (text.starts_with("NCCL_")) {
        take_variable(book, text);
    } else if (text.starts_with("Bootstrap")) {
        take_bootstrap(book, rank, text);
    } else if (text.starts_with("GPU Direct RDMA ")) {
        take_gdr(book, text);
    } else if (text.starts_with("Setting affinity ")) {
        say_affinity(book, rank, text);
    } else if (text.starts_with("Assigned NET plugin ")) {
        book.say(rank, NcclTopic::network, between(text, "plugin ", " to "));
    } else if (text.starts_with("Init timings ")) {
        take_init_timings(book, said_by, text);
    } else if (text.starts_with("NVLS multicast support is ")) {
        book.say(rank, NcclTopic::nvls, between(text, " is ", " on "));
    } else if (text.starts_with("DMA-BUF is ")) {
        book.say(rank, NcclTopic::dmabuf, between(text, " is ", " on "));
    } else if (text.starts_with("Could not enable P2P") || text.starts_with("P2P is disabled")) {
        book.say(rank, NcclTopic::no_p2p, text.substr(0, text.find(" between")));
    } else if (text.starts_with("CUDA Dev ")) {
        take_cuda_device(said_by, text);
    } else if (text.starts_with("+ ") || text.starts_with("CPU/")) {
        take_graph(book, rank, text);
    } else if (is_digit(text.front()) && contains(text, " coll channels")) {
        constexpr std::string_view last = " per peer";
        const auto at = text.find(last);
        if (at == std::string_view::npos) {
            return false;
        }
        book.say(rank, NcclTopic::channels, text.substr(0, at + last.size()));
    } else {
        take_whole(book, rank, text);
    }
    return true;
}

}  // namespace

bool take_info(NcclBook& book, std::uint32_t rank, std::string_view text, bool is_last_try) {
    if (text.starts_with("Channel ") || text.starts_with("Ring ") || text.starts_with("CollNet ")) {
        return take_connection(book, book.rank(rank), text);
    }
    if (text.empty()) {
        return true;
    }
    // Nothing else is told by these: the commonest after connections.
    if (text.starts_with("Trees ") || text.starts_with("Connected ") ||
        text.starts_with("NVLS H")) {
        return true;
    }
    if (text.starts_with("NET")) {
        return take_network(book, rank, text.substr(3), is_last_try);
    }
    return take_other(book, rank, text, is_last_try);
}

std::size_t take_version(NcclBook& book, std::uint32_t rank, std::string_view text) {
    const auto digits_and_dots = [&](std::size_t at) {
        while (at < text.size() && (is_digit(text[at]) || text[at] == '.')) {
            ++at;
        }
        return at;
    };
    std::size_t end = digits_and_dots(0);
    for (const std::string_view with : {"+cuda", "+hip"}) {
        if (text.substr(end).starts_with(with)) {
            end = digits_and_dots(end + with.size());
        }
    }
    if (end > 0) {
        book.say(rank, NcclTopic::version, text.substr(0, end));
    }
    return end;
}

}  // namespace railhead::diagnose
