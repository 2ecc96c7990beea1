// Texts of "NCCL WARN": what kind of trouble each is.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "diagnose/nccl_records.hpp"

namespace railhead::diagnose {
namespace {

struct Sign {
    std::string_view text;
    WarningKind kind;
};

/// The first that stands in a warning tells its kind.
constexpr std::array signs{
    Sign{"Got completion", WarningKind::completion},
    Sign{"async event", WarningKind::port_event},
    Sign{"ibv_modify_qp", WarningKind::modify_qp},
    Sign{"ibv_open_device", WarningKind::open_device},
    Sign{"Unable to open device", WarningKind::open_device},
    Sign{"Failed to open libibverbs", WarningKind::no_verbs},
    Sign{"optimal provider", WarningKind::provider},
    Sign{"fi_getinfo", WarningKind::provider},
    Sign{"NET/OFI", WarningKind::provider},
    Sign{"Error: network ", WarningKind::no_network},
    Sign{"Failed to initialize any NET plugin", WarningKind::no_network},
    Sign{"no socket interface found", WarningKind::no_interface},
    Sign{"No interface found", WarningKind::no_interface},
    Sign{"Connection closed by remote peer", WarningKind::remote_closed},
    Sign{"ocket recv failed", WarningKind::receive_failed},
    Sign{"Call to recv", WarningKind::receive_failed},
    Sign{"Call to read", WarningKind::receive_failed},
    Sign{"Failed to execute operation", WarningKind::proxy_failed},
    Sign{"Error encountered progressing", WarningKind::proxy_failed},
    Sign{"Async operation", WarningKind::proxy_failed},
    Sign{"Accept failed", WarningKind::proxy_failed},
    Sign{"Duplicate GPU", WarningKind::duplicate_gpu},
    Sign{"shared memory", WarningKind::shared_memory},
    Sign{"/dev/shm", WarningKind::shared_memory},
    Sign{"Mismatch", WarningKind::version_clash},
    Sign{"mismatch", WarningKind::version_clash},
    Sign{"iommu=pt", WarningKind::host_setting},
    Sign{"NUMA auto balancing", WarningKind::host_setting},
    Sign{"Cuda failure", WarningKind::cuda},
    Sign{"ibv_", WarningKind::verbs},
    Sign{"Connection refused", WarningKind::connect},
    Sign{"Call to connect", WarningKind::connect},
    Sign{"Connect to", WarningKind::connect},
    Sign{"No route to host", WarningKind::connect},
    Sign{"Test NCCL failure", WarningKind::test_failed},
    Sign{"failure ", WarningKind::test_failed},
};

WarningKind kind_of(std::string_view text) {
    for (const Sign& sign : signs) {
        if (contains(text, sign.text)) {
            return sign.kind;
        }
    }
    return WarningKind::other;
}

std::optional<int> small(std::optional<std::uint64_t> number) {
    return number && *number < 100'000 ? std::optional{static_cast<int>(*number)} : std::nullopt;
}

/// "with status=12 opcode=0 len=0 vendor err 129"; up to 2.10 "with error 12, opcode 0".
void read_completion(std::string_view text, NcclWarning& warning) {
    warning.status = small(number_after(text, "status="));
    if (!warning.status) {
        warning.status = small(number_after(text, "with error "));
    }
    warning.vendor_error = small(number_after(text, "vendor err "));
}

/// The addresses of both ends, of which a GID may be glued to its key.
Link read_link(std::string_view text) {
    Link link;
    const auto word = [&](std::initializer_list<std::string_view> keys) {
        for (const auto key : keys) {
            if (const auto found = word_after(text, key); !found.empty()) {
                return std::string{found};
            }
        }
        return std::string{};
    };
    link.device = word({"on dev ", "hca "});
    link.local = word({"localGid ", "localGids"});
    // "local GID index 3, local GID ::ffff:10.20.5.11": the address is the last.
    if (const auto at = text.rfind("local GID "); at != std::string_view::npos) {
        link.local = word_after(text.substr(at), "local GID ");
    }
    link.remote = word({"remote GID ", "remoteGids ", "remoteGids", "remoteGid "});
    return link;
}

}  // namespace

void take_warning(NcclBook& book, std::uint32_t rank, std::string_view text,
                  std::string_view before) {
    NcclWarning warning;
    warning.kind = kind_of(text);
    warning.at_s = find_time(before);
    Link link;
    if (warning.kind == WarningKind::completion || warning.kind == WarningKind::modify_qp) {
        link = read_link(text);
    }
    std::string_view what = text;
    if (warning.kind == WarningKind::completion) {
        read_completion(text, warning);
        what = {};  // opcode and len are garbage on errors: kind and status tell all
    }
    book.add_warning(rank, std::move(warning), what, std::move(link));
}

}  // namespace railhead::diagnose
