// What the watcher makes of looks at a folder, one after the other.
#include "checkpoint/watch.hpp"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace railhead::checkpoint;
using Catch::Matchers::WithinAbs;

namespace {

constexpr double start_s = 1'000'000;

std::int64_t ns(double seconds) {
    return static_cast<std::int64_t>((start_s + seconds) * 1e9);
}

Found found(const std::string& name, Verdict verdict, double seal_s, std::uint64_t bytes = 100) {
    Found one;
    one.name = name;
    one.verdict = verdict;
    one.seal_ns = ns(seal_s);
    one.newest_ns = ns(seal_s);
    one.bytes = bytes;
    one.files = 1;
    return one;
}

Found written(const std::string& name, double newest_s, std::uint64_t bytes = 50) {
    auto one = found(name, Verdict::writing, newest_s, bytes);
    one.seal_ns = 0;
    one.why = "it has no .metadata";
    return one;
}

/// A watcher, by seconds since the start.
struct Looks {
    explicit Looks(double interval_s = 0)
        : watch{{.started_s = start_s, .interval_s = interval_s}} {}
    News at(double now_s, std::vector<Found> all) {
        return watch.look(start_s + now_s, Scan{std::move(all), false});
    }
    Watch watch;
};

}  // namespace

TEST_CASE("what was there at the start is no news, but the newest counts", "[checkpoint][watch]") {
    Looks looks;

    const auto news = looks.at(1, {found("step-1", Verdict::complete, -100)});

    CHECK(news.complete.empty());
    CHECK(looks.watch.newest_s() == start_s - 100);
    CHECK(looks.at(2, {found("step-1", Verdict::complete, -100)}).complete.empty());
}

TEST_CASE("a checkpoint takes from its first file to its seal", "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    CHECK(looks.at(10, {written("step-1", 10)}).complete.empty());
    CHECK(looks.at(20, {written("step-1", 20, 80)}).complete.empty());

    const auto news = looks.at(31, {found("step-1", Verdict::complete, 30)});

    REQUIRE(news.complete.size() == 1);
    CHECK_THAT(news.complete[0].at_s, WithinAbs(start_s + 30, 1e-3));
    REQUIRE(news.complete[0].write_s);
    CHECK_THAT(*news.complete[0].write_s, WithinAbs(20, 1e-3));
    CHECK_FALSE(news.complete[0].interval_s);
    CHECK(looks.at(40, {found("step-1", Verdict::complete, 30)}).complete.empty());
}

TEST_CASE("where the file system knows its birth, that is its beginning", "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    auto one = found("step-1", Verdict::complete, 30);
    one.born_ns = ns(12.5);

    const auto news = looks.at(31, {one});

    REQUIRE(news.complete.size() == 1);
    CHECK_THAT(*news.complete[0].write_s, WithinAbs(17.5, 1e-3));
}

TEST_CASE("where only its completion is seen, its cost is not known", "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));

    const auto news = looks.at(31, {found("step-1", Verdict::complete, 30)});

    REQUIRE(news.complete.size() == 1);
    CHECK_FALSE(news.complete[0].write_s);
}

TEST_CASE("intervals are told from one to the next", "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    static_cast<void>(looks.at(31, {found("step-1", Verdict::complete, 30)}));

    const auto news = looks.at(
        95, {found("step-1", Verdict::complete, 30), found("step-2", Verdict::complete, 94)});

    REQUIRE(news.complete.size() == 1);
    CHECK_THAT(*news.complete[0].interval_s, WithinAbs(64, 1e-3));
}

TEST_CASE("one that is written over counts again, and its birth is not this one's",
          "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    auto first = found("latest.pt", Verdict::complete, 30);
    first.born_ns = ns(20);
    REQUIRE(looks.at(31, {first}).complete.size() == 1);
    auto second = found("latest.pt", Verdict::complete, 130);
    second.born_ns = ns(20);
    auto open = written("latest.pt", 121);

    CHECK(looks.at(121, {open}).complete.empty());
    const auto news = looks.at(131, {second});

    REQUIRE(news.complete.size() == 1);
    CHECK_THAT(*news.complete[0].write_s, WithinAbs(9, 1e-3));
}

TEST_CASE("a clock of the file server that is wrong is not believed", "[checkpoint][watch]") {
    const auto seal_s = GENERATE(-3600.0, 5.0, 100.0, 1e9);
    CAPTURE(seal_s);
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    static_cast<void>(looks.at(25, {}));

    const auto news = looks.at(31, {found("step-1", Verdict::complete, seal_s)});

    REQUIRE(news.complete.size() == 1);
    CHECK(news.complete[0].at_s == start_s + 31);
}

TEST_CASE("what settles is complete after a while without change", "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    CHECK(looks.at(10, {found("checkpoint-5", Verdict::settling, 10)}).complete.empty());
    // A state of random numbers comes behind trainer_state.json.
    auto more = found("checkpoint-5", Verdict::settling, 10, 120);
    more.newest_ns = ns(13);
    CHECK(looks.at(13, {more}).complete.empty());
    REQUIRE(looks.watch.next_look_s() == start_s + 18);
    CHECK(looks.at(17, {more}).complete.empty());

    const auto news = looks.at(18, {more});

    REQUIRE(news.complete.size() == 1);
    CHECK_THAT(news.complete[0].at_s, WithinAbs(start_s + 13, 1e-3));
}

TEST_CASE("what nobody speaks for is complete when it was left alone for long",
          "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    CHECK(looks.at(10, {found("step_5", Verdict::quieting, 10)}).complete.empty());
    CHECK(looks.at(60, {found("step_5", Verdict::quieting, 60, 200)}).complete.empty());
    CHECK(looks.at(119, {found("step_5", Verdict::quieting, 60, 200)}).complete.empty());

    const auto news = looks.at(120, {found("step_5", Verdict::quieting, 60, 200)});

    REQUIRE(news.complete.size() == 1);
    CHECK_THAT(news.complete[0].at_s, WithinAbs(start_s + 60, 1e-3));
    CHECK_THAT(*news.complete[0].write_s, WithinAbs(50, 1e-3));
}

TEST_CASE("a file that loses its temporary name is complete at once", "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    auto temporary = written("model.pt.tmp", 10);
    temporary.name_to_come = "model.pt";
    static_cast<void>(looks.at(10, {temporary}));

    const auto news = looks.at(15, {found("model.pt", Verdict::quieting, 14)});

    REQUIRE(news.complete.size() == 1);
    CHECK_THAT(*news.complete[0].write_s, WithinAbs(5, 1.01));
}

TEST_CASE("what stays unfinished is named once, and never counts", "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    CHECK(looks.at(10, {written("step-1", 10)}).broken.empty());

    const auto news = looks.at(71, {written("step-1", 10)});

    CHECK(news.complete.empty());
    CHECK(news.broken == std::vector<Broken>{{"step-1", "it has no .metadata"}});
    CHECK(looks.at(200, {written("step-1", 10)}).broken.empty());
    // Somebody goes on with it.
    CHECK(looks.at(210, {found("step-1", Verdict::complete, 209)}).complete.size() == 1);
}

TEST_CASE("copies beside a checkpoint are no checkpoints of their own", "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));

    const auto both = looks.at(31, {found("last.ckpt", Verdict::complete, 30.5),
                                    found("step=10.ckpt", Verdict::complete, 30)});
    const auto late = looks.at(200, {found("last.ckpt", Verdict::complete, 199),
                                     found("step=10.ckpt", Verdict::complete, 30)});

    REQUIRE(both.complete.size() == 1);
    CHECK(both.complete[0].name == "step=10.ckpt");
    CHECK(late.complete.size() == 1);  // alone it is one
}

TEST_CASE("a checkpoint that does not come is told once, until one comes", "[checkpoint][watch]") {
    Looks looks{100};
    static_cast<void>(looks.at(0, {}));
    CHECK_FALSE(looks.at(199, {}).late_s);
    CHECK(looks.at(201, {}).late_s == 201);
    CHECK_FALSE(looks.at(500, {}).late_s);

    const auto one = found("step-1", Verdict::complete, 600);
    CHECK(looks.at(601, {one}).complete.size() == 1);
    CHECK_FALSE(looks.at(799, {one}).late_s);
    const auto late_s = looks.at(810, {one}).late_s;
    REQUIRE(late_s);
    CHECK_THAT(*late_s, WithinAbs(210, 1e-3));
}

TEST_CASE("without an interval nothing is late", "[checkpoint][watch]") {
    Looks looks{0};
    CHECK_FALSE(looks.at(1e6, {}).late_s);
    CHECK_FALSE(looks.watch.next_look_s());
}

TEST_CASE("checkpoints that are deleted are forgotten", "[checkpoint][watch]") {
    Looks looks;
    static_cast<void>(looks.at(0, {}));
    const auto one = found("step-1", Verdict::complete, 30);
    static_cast<void>(looks.at(31, {one}));
    CHECK(looks.watch.is_known("step-1", one.seal_ns));

    static_cast<void>(looks.at(40, {}));

    CHECK_FALSE(looks.watch.is_known("step-1", one.seal_ns));
}
