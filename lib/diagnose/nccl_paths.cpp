// Lines about connections: nine of ten lines of a large log are these.
#include <cstring>
#include <string_view>

#include "diagnose/nccl_records.hpp"

namespace railhead::diagnose {
namespace {

/// What follows " via "; empty where there is none.
std::string_view behind_via(std::string_view text) {
    constexpr std::string_view via = " via ";
    const char* at = text.data();
    const char* const end = at + text.size();
    while (end - at >= 4) {
        at = static_cast<const char*>(std::memchr(at, 'v', static_cast<std::size_t>(end - at)));
        if (at == nullptr || end - at < 4) {
            return {};
        }
        if (at > text.data() && std::memcmp(at - 1, via.data(), via.size()) == 0) {
            return {at + 4, static_cast<std::size_t>(end - at - 4)};
        }
        ++at;
    }
    return {};
}

/// Whether what follows the number of a device is as NCCL writes it.  Another program's output may
/// have cut it: "NET/IB/3/GDsetting up".
bool is_whole_tail(std::string_view tail) {
    return tail.empty() || tail.front() == ' ' || tail.starts_with("/GDRDMA") ||
           tail.starts_with("/Shared") || tail.starts_with("/Flush");
}

/// "NET/IB/3(11)/GDRDMA": the network's name may have blanks.  False where it is cut off.
bool take_net(NcclBook& book, NcclRank& rank, std::string_view via) {
    constexpr std::size_t prefix = 4;  // "NET/"
    const auto slash = via.find('/', prefix);
    if (slash == std::string_view::npos || slash > 64) {
        return false;
    }
    const auto name = via.substr(0, slash);
    via.remove_prefix(slash + 1);
    const auto device = take_digits(via);
    if (!device) {
        return false;
    }
    const bool is_by_proxy = take(via, "(");
    if (is_by_proxy && (!take_digits(via) || !take(via, ")"))) {
        return false;
    }
    if (!is_whole_tail(via)) {
        return false;
    }
    rank.nics |= *device < 64 ? std::uint64_t{1} << *device : 0;
    rank.pxn += is_by_proxy ? 1 : 0;
    const bool is_gdr = contains(via, "GDRDMA");
    book.add_path(rank, is_gdr ? PathClass::net_gdr : PathClass::net, name, is_gdr);
    return true;
}

PathClass class_of(std::string_view kind) {
    return kind.starts_with("P2P")                                      ? PathClass::p2p
           : kind.starts_with("SHM") || kind.starts_with("direct shar") ? PathClass::shm
           : kind.starts_with("COLLNET")                                ? PathClass::collnet
                                                                        : PathClass::other;
}

/// "P2P/indirect/3[1a000]" without its numbers.
std::string_view kind_of(std::string_view via) {
    if (via.starts_with("direct shared memory")) {
        return via.substr(0, std::string_view{"direct shared memory"}.size());
    }
    via = via.substr(0, via.find(' '));
    for (std::size_t at = 0; at + 1 < via.size(); ++at) {
        if (via[at] == '/' && is_digit(via[at + 1])) {
            return via.substr(0, at);
        }
    }
    return via.substr(0, 64);
}

/// Whether each part of "P2P/CUMEM/read" is of capitals or of small letters alone, as NCCL writes
/// them: "P2P/CUMEMSetting" is glued to another program's output.
bool is_kind(std::string_view kind) {
    bool has_small = false;
    bool has_capital = false;
    for (const char c : kind) {
        has_small = (has_small && c != '/') || (c >= 'a' && c <= 'z');
        has_capital = (has_capital && c != '/') || (c >= 'A' && c <= 'Z');
        if (has_small && has_capital) {
            return false;
        }
    }
    return kind.size() >= 3;
}

/// Whether a text without "via" is whole: the members of a ring, as "00/04 :    0   1   2" or
/// "00 : 7 -> 0 -> 1".
bool is_list(std::string_view text) {
    const auto arrow = text.find("->");
    return (arrow == std::string_view::npos && contains(text, " : ") && !contains(text, "[")) ||
           (arrow != std::string_view::npos && contains(text.substr(arrow + 2), "->"));
}

}  // namespace

bool take_connection(NcclBook& book, NcclRank& rank, std::string_view text) {
    if (book.is_cut) {  // a path without its end is another one
        return true;
    }
    const auto via = behind_via(text);
    if (via.empty()) {
        return is_list(text);
    }
    if (via.starts_with("NET/") || via.starts_with("COLLNET/")) {
        return via.front() == 'N' ? take_net(book, rank, via)
                                  : (book.add_path(rank, PathClass::collnet, kind_of(via),
                                                   contains(via, "GDRDMA")),
                                     true);
    }
    const auto kind = kind_of(via);
    if (!is_kind(kind)) {
        return false;
    }
    book.add_path(rank, class_of(kind), kind, false);
    return true;
}

}  // namespace railhead::diagnose
