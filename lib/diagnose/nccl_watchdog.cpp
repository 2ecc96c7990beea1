// PyTorch's ProcessGroupNCCL on collectives that did not end:
//   [E ProcessGroupNCCL.cpp:457] [Rank 3] Watchdog caught collective operation timeout:
//   WorkNCCL(SeqNum=1132079, OpType=ALLREDUCE, NumelIn=304640, NumelOut=304640,
//   Timeout(ms)=1800000) ran for 1800035 milliseconds before timing out.
// Later releases write "[PG 0 (default_pg) Rank 3]", or "[PG ID 0 PG GUID 0(default_pg) Rank 3]".
#include <string>
#include <string_view>
#include <utility>

#include "diagnose/nccl_records.hpp"

namespace railhead::diagnose {
namespace {

/// What names the process group: between "[PG " and " Rank".
std::string_view group_of(std::string_view line) {
    for (const std::string_view key : {"[PG ID ", "[PG GUID ", "[PG "}) {
        if (const auto at = line.find(key); at != std::string_view::npos) {
            const auto group = line.substr(at + key.size());
            return group.substr(0, group.find(" Rank "));
        }
    }
    return {};
}

/// The last "Rank 3" before the watchdog speaks.
std::optional<std::uint64_t> rank_of(std::string_view line) {
    line = line.substr(0, line.find("Watchdog caught"));
    const auto at = line.rfind("Rank ");
    return at == std::string_view::npos ? std::nullopt : number_after(line.substr(at), "Rank ");
}

}  // namespace

void take_watchdog(NcclBook& book, std::string_view line) {
    const auto work = line.find("WorkNCCL(");
    if (work == std::string_view::npos || !contains(line, "Watchdog caught")) {
        return;
    }
    const auto text = line.substr(work);
    const auto rank = rank_of(line);
    const auto sequence = number_after(text, "SeqNum=");
    const auto ran = number_after(text, "ran for ");
    if (!rank || *rank > INT32_MAX || !sequence || !ran) {
        return;
    }
    CollectiveTimeout timeout;
    timeout.group = group_of(line).substr(0, evidence_limit);
    timeout.sequence = *sequence;
    timeout.operation = word_after(text, "OpType=").substr(0, 64);
    timeout.numel_in = number_after(text, "NumelIn=").value_or(0);
    timeout.numel_out = number_after(text, "NumelOut=").value_or(0);
    timeout.limit_ms = number_after(text, "Timeout(ms)=").value_or(0);
    timeout.longest_ms = *ran;
    book.add_timeout(std::move(timeout), static_cast<std::uint32_t>(*rank));
}

}  // namespace railhead::diagnose
