// The corpus' outputs of nccl-tests: what is read of each.
#include <string>

#include <fmt/format.h>

#include "base/error.hpp"
#include "fabric/nccl_tests.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/golden.hpp"

using namespace railhead;

namespace {

std::string seen_text(const Result<fabric::NcclTests>& read) {
    if (!read) {
        return to_string(read.error()) + "\n";
    }
    const auto& tests = *read;
    auto text = fmt::format(
        "{} rows{}, {} wrong; {} ranks on {} hosts, device \"{}\", NCCL \"{}\", average {}\n",
        tests.rows.size(), tests.is_shortened ? " (some left out)" : "", tests.wrong(), tests.ranks,
        tests.hosts, tests.device, tests.nccl_version,
        tests.average_busbw_gb_per_s ? fmt::format("{} GB/s", *tests.average_busbw_gb_per_s)
                                     : "not told");
    for (const auto& row : tests.rows) {
        text += fmt::format("{:.0f} B: {} us, {} GB/s; in place {} us, {} GB/s\n", row.bytes,
                            row.time_us, row.busbw_gb_per_s, row.in_place_us.value_or(-1),
                            row.in_place_busbw_gb_per_s.value_or(-1));
    }
    return text;
}

}  // namespace

TEST_CASE("public outputs of nccl-tests are read as we reviewed them", "[golden][nccl-tests]") {
    RAILHEAD_NEED_CORPUS();
    std::size_t files = 0;
    for (const auto* suffix : {".txt", ".log"}) {
        for (const auto& name : test::list_corpus("nccl-tests", suffix)) {
            CAPTURE(name);
            const auto text =
                seen_text(fabric::parse_nccl_tests(test::read_corpus("nccl-tests/" + name), name));
            CHECK(text == test::golden("golden/nccl-tests/" + name, text));
            ++files;
        }
    }
    CHECK(files == 16);
}
