// The record of a job and the history of a user: what is read is written, and read again, as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "checkpoint/record.hpp"

namespace {

using railhead::checkpoint::History;
using railhead::checkpoint::parse_record;

void read_record(std::string_view text) {
    const auto record = parse_record(text);
    if (!record) {
        return;
    }
    const auto json = to_json(*record);
    const auto again = parse_record(json);
    if (!again || to_json(*again) != json) {
        std::abort();
    }
    const auto cost_s = record->mean_cost_s().value_or(0);
    if (!(cost_s >= 0) || !(record->mean_interval_s().value_or(0) >= 0)) {
        std::abort();
    }
}

void read_history(std::string_view text) {
    auto history = History::parse(text);
    if (!history) {
        return;
    }
    const auto json = history->json();
    const auto again = History::parse(json);
    if (!again || again->json() != json) {
        std::abort();
    }
    if (!(history->cost_s("train").value_or(1) > 0)) {
        std::abort();
    }
    history->put("train", {.job = 1, .restarts = 0, .cost_s = 2, .at_s = 3});
    if (!history->cost_s("train")) {
        std::abort();
    }
}

}  // namespace

// The input is a file, and also the rest of one whose schema is right.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text{reinterpret_cast<const char*>(data), size};
    read_record(text);
    read_history(text);
    read_record(R"({"schema":"railhead.ckpt-record/1",)" + text + "}");
    read_history(R"({"schema":"railhead.ckpt-history/1",)" + text + "}");
    return 0;
}
