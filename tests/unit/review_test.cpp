// The review as a whole: partitions, layers, the off switch, and how long it may take.
#include <chrono>
#include <string>

#include "policy/review.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"

namespace {

using namespace railhead;
using policy::NoteKind;
using policy::review;
using test::enforce;
using test::has_note;
using test::request_of;

}  // namespace

TEST_CASE("no request keeps slurmctld for long, whatever it says", "[review]") {
    test::ClusterShape shape;
    shape.nodes = 2048;
    shape.leaves = 64;
    const auto site = test::make_site(enforce, shape);
    std::string partitions = "main";
    std::string features = "a";
    for (int i = 0; i < 100'000; ++i) {
        partitions += ",main";
        features += "&a";
    }
    const auto repeated = GENERATE(15U, 200U, 100'000U);
    CAPTURE(repeated);
    auto request = request_of({"", "gpu:8", "", 16, 8, {}, 2});
    request.partition = std::string_view{partitions}.substr(0, 4 + 5 * repeated);
    request.constraint = std::string_view{features}.substr(0, 1 + 2 * repeated);
    request.exclude = "n[1-2000]";
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(review(request, site));
    // Milliseconds; the bound leaves room for a sanitizer on a busy machine.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds{4});
}

TEST_CASE("a partition that nobody knows passes", "[review]") {
    auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    request.partition = "nowhere";
    CHECK_FALSE(review(request, test::make_site(enforce)).changes.any());
}

TEST_CASE("the off switch turns every rule off, unless the site forbids it", "[review]") {
    auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    request.off = true;
    SECTION("allowed") {
        const auto result = review(request, test::make_site(enforce));
        CHECK(result.off);
        CHECK_FALSE(result.changes.any());
        CHECK(result.notes.empty());
    }
    SECTION("forbidden") {
        const auto result = review(request, test::make_site(enforce + "user_off = false\n"));
        CHECK_FALSE(result.off);
        CHECK(result.changes.min_nodes == 2U);
        CHECK(has_note(result, NoteKind::advice, "does not let jobs turn Railhead off"));
    }
    SECTION("the site itself is off") {
        request.off = false;
        CHECK_FALSE(review(request, test::make_site(enforce + "enabled = false\n")).changes.any());
    }
}

TEST_CASE("layers: global, then partition, then each rule that matches", "[review]") {
    const std::string toml =
        "mode = \"observe\"\n"
        "[partition.main]\nmode = \"enforce\"\nplacement.wait = \"1m\"\n"
        "[[rule]]\nname = \"big\"\nmatch = { min_gpus = 32, account = \"llm-*\" }\n"
        "placement = { wait = \"2h\" }\n"
        "[[rule]]\nname = \"never for guests\"\nmatch = { account = \"guest\" }\nenabled = false\n";
    const auto site = test::make_site(toml);
    auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    SECTION("the partition's mode and wait") {
        CHECK(review(request, site).changes.switch_wait_s == 60U);
    }
    SECTION("a rule that fits wins") {
        request = request_of({"gpu:32", "", "", 32, {}, {}, {}});
        request.account = "llm-70b";
        CHECK(review(request, site).changes.switch_wait_s == 7200U);
    }
    SECTION("a rule that fits only in part does not") {
        request.account = "llm-70b";
        CHECK(review(request, site).changes.switch_wait_s == 60U);
    }
    SECTION("a rule may turn Railhead off") {
        request.account = "guest";
        CHECK_FALSE(review(request, site).changes.any());
    }
}
