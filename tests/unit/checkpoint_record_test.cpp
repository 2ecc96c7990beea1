// The record of a job and the history of costs: what is kept, and what becomes of damaged files.
#include "checkpoint/record.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include <fmt/format.h>

#include "checkpoint/schedule.hpp"
#include "checkpoint/state_folder.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace railhead;
using namespace railhead::checkpoint;
using Catch::Matchers::WithinRel;
namespace fs = std::filesystem;

namespace {

Record example() {
    Record record;
    record.job = 77;
    record.name = "llama \"70b\"\n\xff";
    record.folder = "/scratch/ckpt";
    record.interval_s = 1800;
    record.nodes = 4;
    record.attempts = {{0, 100, 900, Cause::node, 1, 800}, {1, 1000, std::nullopt, {}, 0, {}}};
    record.add({"step-1", "PyTorch DCP", 1500, 20.5, 1000, std::nullopt});
    record.add({"step-2", "PyTorch DCP", 2500, std::nullopt, 1000, 1000.0});
    record.broken = {{"step-3", "it has no .metadata"}};
    record.trouble = "cannot open the folder";
    record.hold = Hold{2000, "it failed", "mine"};
    return record;
}

/// A home with the state folder in it.
struct Home {
    test::TempDir dir;
    std::map<std::string, std::string, std::less<>> variables{{"HOME", dir.path()}};
    [[nodiscard]] LookUp environment() const {
        return [this](std::string_view name) -> std::optional<std::string> {
            const auto at = variables.find(name);
            return at == variables.end() ? std::nullopt : std::optional{at->second};
        };
    }
    [[nodiscard]] std::string path(const std::string& name = "") const {
        return dir.path(".local/state/railhead" + (name.empty() ? "" : "/" + name));
    }
    [[nodiscard]] StateFolder make() const {
        auto made = StateFolder::make(path(), ::geteuid());
        REQUIRE(made);
        return std::move(*made);
    }
    [[nodiscard]] Result<std::optional<double>> cost(const std::string& name) const {
        return cost_of(name, environment());
    }
    /// The cost that the history has, where it can be read.
    [[nodiscard]] std::optional<double> known(const std::string& name) const {
        const auto found = cost(name);
        REQUIRE(found);
        return *found;
    }
};

}  // namespace

TEST_CASE("a record survives the way through its file", "[checkpoint][record]") {
    const auto record = parse_record(to_json(example()));

    REQUIRE(record);
    CHECK(to_json(*record) == to_json(example()));
    CHECK(record->attempts.size() == 2);
    CHECK(record->attempts[1].checkpoints == 2);
    CHECK(record->mean_cost_s() == 20.5);
    CHECK(record->mean_interval_s() == 1000);
    CHECK(record->hold->comment == "mine");
    CHECK(record->trouble == "cannot open the folder");
}

TEST_CASE("what is no record is refused, whatever it is", "[checkpoint][record][hostile]") {
    const auto text =
        GENERATE(std::string{}, "{", "null", "[]", "{\"schema\": \"railhead.ckpt-history/1\"}",
                 "{\"schema\": 5}", std::string(100'000, '['), std::string{"\0\0", 2});
    CHECK_FALSE(parse_record(text));
    CHECK_FALSE(History::parse(text == "{\"schema\": \"railhead.ckpt-history/1\"}" ? "" : text));
}

TEST_CASE("values of another kind or out of range count as missing",
          "[checkpoint][record][hostile]") {
    const auto record = parse_record(
        R"({"schema": "railhead.ckpt-record/1", "job": -4, "name": 7, "interval_s": 1e999,
            "nodes": "many", "attempts": [3, {"restarts": 99999999999, "started": -1}],
            "latest": {}, "costs": 1.5, "hold": "yes"})");
    // 1e999 is no JSON number that fits: the whole document may be refused, or the value.
    if (record) {
        CHECK(record->job == 0);
        CHECK(record->attempts.size() == 1);
        CHECK(record->attempts[0].restarts == 0);
        CHECK_FALSE(record->hold);
    }
    const auto other = parse_record(
        R"({"schema": "railhead.ckpt-record/1", "job": -4, "name": 7, "interval_s": -1,
            "nodes": "many", "attempts": [3, {"restarts": 99999999999, "started": -1}],
            "latest": {}, "costs": 1.5, "hold": "yes"})");
    REQUIRE(other);
    CHECK(other->job == 0);
    CHECK(other->attempts.size() == 1);
    CHECK(other->interval_s == 0);
    CHECK_FALSE(other->mean_cost_s());
}

TEST_CASE("a record of many checkpoints keeps the last hundred, and counts all",
          "[checkpoint][record]") {
    Record record;
    record.attempts.emplace_back();
    for (int i = 0; i < 250; ++i) {
        record.add({"step-" + std::to_string(i), "plain", 1000.0 + i, 1.0, 1, 1.0});
    }
    CHECK(record.checkpoints == 250);
    CHECK(record.latest.size() == Record::most_latest);
    CHECK(record.latest.back().name == "step-249");
    CHECK(record.mean_cost_s() == 1.0);
}

TEST_CASE("a cost is the median of the last few attempts of that name", "[checkpoint][history]") {
    History history;
    for (std::uint32_t job = 1; job <= 12; ++job) {
        history.put("train", {job, 0, job == 10 ? 5000.0 : 10.0 + job, 0});
    }
    history.put("other", {99, 0, 3, 0});

    CHECK(history.cost_s("train") == 21);  // of 18, 19, 5000, 21, 22
    CHECK(history.cost_s("other") == 3);
    CHECK_FALSE(history.cost_s("nothing"));
    const auto again = History::parse(history.json());
    REQUIRE(again);
    CHECK(again->cost_s("train") == 21);
}

TEST_CASE("jobs without a name have no history in common", "[checkpoint][history]") {
    const auto* const name = GENERATE("wrap", "interactive", "sbatch", "");
    History history;
    history.put(name, {1, 0, 30, 100});
    CHECK_FALSE(history.cost_s(name));
    const auto old = History::parse(fmt::format(
        R"({{"schema": "railhead.ckpt-history/1", "jobs": [{{"name": "{}", "costs": [{{"job": 1, "cost_s": 30}}]}}]}})",
        name));
    REQUIRE(old);
    CHECK_FALSE(old->cost_s(name));
}

TEST_CASE("a record is of the job with its number, name, cluster and time of submission",
          "[checkpoint][record]") {
    Record record;
    record.name = "train";
    record.cluster = "alpha";
    record.submitted_s = 900;
    record.attempts = {{1, 1000, 2000, Cause::node, 0, {}}};
    struct Case {
        JobNow now;
        bool is_of;
        const char* why;
    };
    const auto [now, is_of, why] = GENERATE(values<Case>({
        {{"train", "alpha", 1, 900}, true, "another step of the attempt"},
        {{"train", "alpha", 2, 2000}, true, "the next attempt"},
        {{"train", "", 1, {}}, true, "nothing speaks against it"},
        {{"train", "alpha", 0, 900}, false, "attempts go up"},
        {{"other", "alpha", 1, 900}, false, "a job keeps its name"},
        {{"train", "beta", 1, 900}, false, "the same number in another cluster"},
        {{"train", "alpha", 1, 901}, false, "submitted at another time"},
        {{"train", "alpha", 2, 500}, false, "requeued before this attempt began"},
    }));
    CAPTURE(why);
    CHECK(record.is_of(now) == is_of);
}

TEST_CASE("an attempt has one cost, its newest", "[checkpoint][history]") {
    History history;
    history.put("train", {7, 0, 10, 0});
    history.put("train", {7, 0, 30, 0});
    history.put("train", {7, 1, 40, 0});
    CHECK(history.cost_s("train") == 35);
}

TEST_CASE("a history does not grow without end", "[checkpoint][history]") {
    History history;
    for (std::size_t i = 0; i < History::most_names + 10; ++i) {
        history.put("job" + std::to_string(i), {1, 0, 5, 0});
    }
    CHECK_FALSE(history.cost_s("job0"));
    CHECK(history.cost_s("job1009") == 5);
    CHECK(history.json().size() < StateFolder::most_bytes);
}

TEST_CASE("auto converges to the optimum of the cost that is measured", "[checkpoint][history]") {
    // What job after job does: reckon with the history, write at that interval, measure.
    const auto schedule = [](double cost_s) {
        return make_schedule({.per_1000_node_days = 6.5,
                              .nodes = 512,
                              .cost_s = cost_s,
                              .step_s = 1,
                              .restart_s = 300,
                              .own_interval_s = std::nullopt});
    };
    constexpr double true_cost_s = 140;
    const auto optimum = schedule(true_cost_s);
    REQUIRE(optimum);
    const Home home;
    const auto folder = home.make();
    std::string told;
    double interval_s = 0;
    for (std::uint32_t job = 1; job <= 8; ++job) {
        const auto next = schedule(home.known("train").value_or(usual().cost_s));
        REQUIRE(next);
        interval_s = next->interval_s;
        // Storage is not always equally fast; once it was very slow.
        const double measured_s = job == 4 ? 3000 : true_cost_s + (job % 3 == 0 ? 2 : -1);
        REQUIRE(folder.add_cost("train", {job, 0, measured_s, 0}, told));
    }
    CHECK(told.empty());
    CHECK_THAT(interval_s, WithinRel(optimum->interval_s, 0.01));
    CHECK(schedule(usual().cost_s)->interval_s < 0.6 * optimum->interval_s);  // where it began
}

TEST_CASE("records are kept for the user alone", "[checkpoint][record]") {
    const Home home;
    const auto umask = ::umask(0);
    const auto folder = home.make();
    ::umask(umask);
    REQUIRE(folder.write_record(example()));

    CHECK(folder.read_record(77)->checkpoints == 2);
    CHECK(folder.read_record(78).error().code == Errc::not_found);
    struct stat status {};
    REQUIRE(::stat(home.path().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0700);
}

TEST_CASE("the state folder is where XDG_STATE_HOME says", "[checkpoint][record]") {
    Home home;
    CHECK(state_path(home.environment()) == home.path());
    home.variables["XDG_STATE_HOME"] = "/elsewhere";
    CHECK(state_path(home.environment()) == "/elsewhere/railhead");
    home.variables["XDG_STATE_HOME"] = "relative";  // the XDG specification has it ignored
    CHECK(state_path(home.environment()) == home.path());
    home.variables.clear();
    CHECK(state_path(home.environment()).error().code == Errc::not_found);
}

TEST_CASE("without a history there is no cost, and no error", "[checkpoint][history]") {
    const Home home;
    CHECK_FALSE(home.known("train"));
    static_cast<void>(home.make());
    CHECK_FALSE(home.known("train"));
}

TEST_CASE("a damaged history is an error to who reads, and put aside by who writes",
          "[checkpoint][history][hostile]") {
    const Home home;
    const auto folder = home.make();
    const auto text = GENERATE(std::string{"{\"schema\": \"railhead.ckpt-hist"}, "", "\0\0\0\0");
    const auto file = home.dir.write(".local/state/railhead/history.json", text);
    CHECK(home.cost("train").error().code == Errc::bad_input);

    std::string told;
    REQUIRE(folder.add_cost("train", {1, 0, 12, 0}, told));

    CHECK_THAT(told, ContainsSubstring("history.json.broken-"));
    CHECK(home.known("train") == 12);
    std::size_t kept = 0;
    for (const auto& entry : fs::directory_iterator{home.path()}) {
        kept += entry.path().filename().string().starts_with("history.json.broken-") ? 1 : 0;
    }
    CHECK(kept == 1);
}

TEST_CASE("hostile state folders are refused", "[checkpoint][record][hostile]") {
    struct Case {
        std::string why;
        void (*spoil)(const Home& home);
    };
    const auto c = GENERATE(values<Case>({
        {"a link to somewhere else",
         [](const Home& home) {
             fs::rename(home.path(), home.dir.path("moved"));
             fs::create_directory_symlink(home.dir.path("moved"), home.path());
         }},
        {"others can write it",
         [](const Home& home) { fs::permissions(home.path(), fs::perms::all); }},
        {"the history is a link",
         [](const Home& home) {
             fs::rename(home.path("history.json"), home.dir.path("moved"));
             fs::create_symlink(home.dir.path("moved"), home.path("history.json"));
         }},
        {"the history is a pipe",
         [](const Home& home) {
             fs::remove(home.path("history.json"));
             REQUIRE(::mkfifo(home.path("history.json").c_str(), 0600) == 0);
         }},
        {"the history is larger than any",
         [](const Home& home) {
             fs::resize_file(home.path("history.json"), std::uintmax_t{1} << 40U);
         }},
    }));
    CAPTURE(c.why);
    const Home home;
    std::string told;
    REQUIRE(home.make().add_cost("train", {1, 0, 12, 0}, told));
    REQUIRE(home.known("train") == 12);
    c.spoil(home);

    CHECK(home.cost("train").error().code == Errc::bad_input);
}

TEST_CASE("who finds the lock taken gives up in time", "[checkpoint][history]") {
    const Home home;
    const auto folder = home.make();
    std::string told;
    REQUIRE(folder.add_cost("train", {1, 0, 12, 0}, told));
    const UniqueFd other{::open(home.path("lock").c_str(), O_RDWR)};
    REQUIRE(::flock(other.get(), LOCK_EX) == 0);

    const auto added = folder.add_cost("train", {2, 0, 99, 0}, told);

    REQUIRE_FALSE(added);
    CHECK(added.error().code == Errc::unavailable);
    CHECK(home.known("train") == 12);  // reading needs no lock
}
