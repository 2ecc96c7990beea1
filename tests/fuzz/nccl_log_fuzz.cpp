// An NCCL log: in one piece or in two it says the same, and every index in it leads somewhere.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "diagnose/kind.hpp"
#include "diagnose/nccl_log.hpp"

namespace {

namespace diagnose = railhead::diagnose;

void check(bool right) {
    if (!right) {
        std::abort();
    }
}

void check_indices(const diagnose::NcclLog& log) {
    for (const auto& rank : log.ranks) {
        check(rank.host < log.hosts.size());
        check(rank.first_warning == diagnose::nothing || rank.first_warning < log.warnings.size());
        check(rank.of == 0 || static_cast<std::uint32_t>(rank.rank) < rank.of);
        for (const auto index : rank.said) {
            check(index == diagnose::nothing || index < log.sayings.size());
        }
    }
    for (const auto& saying : log.sayings) {
        check(saying.first.line >= 1 && saying.first.line <= log.lines);
        check(log.ranks_that_said(saying) <= log.ranks.size());
    }
    static_cast<void>(log.first_cause());
    static_cast<void>(log.absent_ranks());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto whole = diagnose::read_nccl_log(text);
    diagnose::NcclLogReader reader;
    reader.begin_file(0);
    reader.feed(text.substr(0, size / 2));
    reader.feed(text.substr(size / 2));
    reader.end_file();
    const auto pieces = reader.take();
    check(whole.lines == pieces.lines && whole.records == pieces.records);
    check(whole.sayings.size() == pieces.sayings.size());
    check(whole.warnings.size() == pieces.warnings.size());
    check(whole.paths.size() == pieces.paths.size());
    check_indices(whole);
    static_cast<void>(diagnose::guess_kind(text));
    return 0;
}
