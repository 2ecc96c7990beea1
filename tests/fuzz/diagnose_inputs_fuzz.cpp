// Every reader of diagnosis inputs but NCCL's: the first byte names the kind.  In one piece or in
// two the rest says the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../support/machine_digest.hpp"
#include "diagnose/kind.hpp"
#include "diagnose/machine_facts.hpp"

namespace {

namespace diagnose = railhead::diagnose;

std::string digest(diagnose::FileKind kind, std::string_view first, std::string_view second) {
    diagnose::MachineFacts facts;
    const auto reader = diagnose::make_machine_reader(kind, 0, "file", facts);
    if (reader == nullptr) {
        return {};
    }
    reader->feed(first);
    reader->feed(second);
    reader->finish();
    return railhead::test::MachineDigest{facts}.text();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
    const auto kind = static_cast<diagnose::FileKind>(
        data[0] % static_cast<unsigned>(diagnose::FileKind::count_));
    static_cast<void>(diagnose::guess_kind(text));
    if (digest(kind, text, {}) !=
        digest(kind, text.substr(0, text.size() / 2), text.substr(text.size() / 2))) {
        std::abort();
    }
    return 0;
}
