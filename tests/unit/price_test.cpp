// What waiting for the least leaves is worth.
#include <cmath>

#include "policy/check.hpp"
#include "policy/parse.hpp"
#include "policy/price.hpp"
#include "policy/review.hpp"
#include "report/explain.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"

namespace {

using namespace railhead;
using namespace railhead::policy;
using namespace railhead::test;

constexpr std::uint32_t no_cap = UINT32_MAX;
constexpr RunTime twelve_hours{12 * 3600, RunTimeFrom::time_limit};

PlacementSettings placement(const std::string& keys) {
    const auto policy = parse_policy("[placement]\n" + keys, "railhead.toml");
    if (!policy) {
        FAIL(to_string(policy.error().front()));
    }
    Settings settings;
    apply(policy->global, settings);
    return settings.placement;
}

/// 4 nodes on one of two leaves, for `minutes`.
job::JobRequest gang_for(std::optional<std::uint32_t> minutes) {
    auto request = request_of({"gpu:32", "", "", 32, {}, {}, {}});
    request.time_limit_min = minutes;
    return request;
}

}  // namespace

TEST_CASE("a wait is the slowdown of the wider span times the run time, within the clamps", "[price]") {
    struct Case {
        std::string why, keys;
        std::uint32_t wait_s;
        bool small = false;
    };
    const auto c = GENERATE(values<Case>({
        {"the worked example: 6 % of 12 h", "slowdown = 0.06", 2592},
        {"a whole number is a share too", "slowdown = 1\nwait_most = \"1d\"", 43'200},
        {"the leaf level alone is priced", "slowdown = [0.06, 0.5]", 2592},
        {"bandwidths: a quarter of a step x (370 / 340 - 1)",
         "bus_bandwidth = [370, 340, 250]\ncommunication = 0.25", 953},
        {"equal bandwidths cost nothing", "bus_bandwidth = [370, 370]\ncommunication = 0.25", 0},
        {"2:1 uplinks: 0.1 x (2 - 1)", "oversubscription = [2, 4]\ncommunication = 0.1\nwait_most = \"2h\"",
         4320},
        {"uplinks that are not oversubscribed cost nothing",
         "oversubscription = 1\ncommunication = 0.25", 0},
        {"nothing said: the guess of 5 %", "", 2160},
        {"the most", "slowdown = 0.5", 3600},
        {"the least", "slowdown = 0.001\nwait_least = \"2m\"", 120},
        {"no slowdown, no wait, whatever the least", "slowdown = 0\nwait_least = \"2m\"", 0},
        {"less than half a second is none", "slowdown = 0.00001", 0},
        {"a fixed wait is not clamped", "wait = \"2h\"", 7200},
        {"smaller than a leaf: four times", "slowdown = 0.01", 1728, true},
        {"smaller than a leaf, as the policy says", "slowdown = 0.01\nbelow_leaf = 1.5", 648, true},
        {"smaller than a leaf, within the most", "slowdown = 0.06", 3600, true},
        {"a fixed wait is that of all", "wait = \"2h\"", 7200, true},
    }));
    CAPTURE(c.why);

    const auto wait = price_wait(placement(c.keys), twelve_hours, c.small, no_cap);

    CHECK(wait.wanted_s == c.wait_s);
    CHECK(wait.in_force_s == c.wait_s);
}

TEST_CASE("a job smaller than a leaf waits longer than one that needs a whole leaf", "[price][review]") {
    const auto site = make_site("mode = \"enforce\"\nplacement.slowdown = 0.001\n");
    auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    request.time_limit_min = 720;
    const auto result = review(request, site);
    CHECK(result.changes.switch_wait_s == 173U);
    CHECK(review(gang_for(720), site).changes.switch_wait_s == 43U);
    const report::Explained explained{request, result};
    CHECK_THAT(unwrapped(report::explain_text("x.sbatch", {&explained, 1}, site)),
               ContainsSubstring("up to 2 min 53 s of a 12 h run (time limit), 4 times the price below a leaf"));
}

TEST_CASE("each level of switches has its slowdown, the last one those above it as well", "[price]") {
    struct Case {
        std::string why, keys;
        double leaf, pod, above;
    };
    const auto c = GENERATE(values<Case>({
        {"one number for all", "slowdown = 0.06", 0.06, 0.06, 0.06},
        {"a list", "slowdown = [0.06, 0.1]", 0.06, 0.1, 0.1},
        {"bandwidths", "bus_bandwidth = [400, 320, 200]\ncommunication = 0.2", 0.05, 0.2, 0.2},
        {"oversubscription", "oversubscription = [1, 3]\ncommunication = 0.2", 0, 0.4, 0.4},
        {"the guess grows", "", 0.05, 0.10, 0.15},
    }));
    CAPTURE(c.why);
    const auto settings = placement(c.keys);
    const auto is_at = [&](std::size_t level, double expected) {
        return std::abs(slowdown_at(settings.price, settings.communication, level) - expected) < 1e-9;
    };
    CHECK(is_at(0, c.leaf));
    CHECK(is_at(1, c.pod));
    CHECK(is_at(2, c.above));
}

TEST_CASE("the run time is the job's limit, else DefaultTime, else MaxTime, else the policy's", "[price]") {
    struct Case {
        std::string why;
        std::optional<std::uint32_t> limit, default_time, max_time;
        std::uint64_t minutes;
        RunTimeFrom from;
    };
    const auto c = GENERATE(values<Case>({
        {"the user said", 60, 30, 120, 60, RunTimeFrom::time_limit},
        {"DefaultTime", {}, 30, 120, 30, RunTimeFrom::default_time},
        {"MaxTime is what Slurm takes then", {}, {}, 120, 120, RunTimeFrom::max_time},
        {"nothing", {}, {}, {}, 90, RunTimeFrom::policy},
        {"UNLIMITED tells nothing", job::unlimited, 30, 120, 90, RunTimeFrom::policy},
        {"nor does a DefaultTime of UNLIMITED", {}, job::unlimited, 120, 90, RunTimeFrom::policy},
        {"nor a MaxTime of UNLIMITED", {}, {}, job::unlimited, 90, RunTimeFrom::policy},
    }));
    CAPTURE(c.why);
    job::JobRequest request;
    request.time_limit_min = c.limit;
    fabric::Partition partition;
    partition.default_time_min = c.default_time;
    partition.max_time_min = c.max_time;

    const auto run_time = run_time_of(request, &partition, placement("run_time = \"90m\""));

    CHECK(run_time.seconds == c.minutes * 60);
    CHECK(run_time.from == c.from);
}

TEST_CASE("a layer's price replaces the one below it, and keeps what else the layers say", "[price]") {
    const auto site = make_site(
        "mode = \"enforce\"\n[placement]\nslowdown = 0.06\ncommunication = 0.2\nwait_most = \"10h\"\n"
        "[partition.main.placement]\nbus_bandwidth = [400, 320]\n"
        "[[rule]]\nname = \"big\"\nmatch = { account = \"big\" }\nplacement.wait = 77\n");
    auto request = gang_for(600);
    CHECK(review(request, site).changes.switch_wait_s == 1800U);  // 0.2 x (400 / 320 - 1) of 10 h
    request.account = "big";
    CHECK(review(request, site).changes.switch_wait_s == 77U);
}

TEST_CASE("where a wider span costs nothing, the job is left to stock Slurm", "[price][review]") {
    const auto free = GENERATE(as<std::string>{}, "slowdown = 0", "wait = 0", "slowdown = [0, 0.3]",
                               "bus_bandwidth = [370, 370]\ncommunication = 1");
    CAPTURE(free);
    const auto result = review(gang_for(600), make_site("mode = \"enforce\"\nnotes = \"all\"\n[placement]\n" + free));
    CHECK(report::changes_text(result.changes) == "-N4 --exclusive");
    CHECK(has_note(result, NoteKind::info, "4 nodes fit 1 leaf switch: not waited for"));
}

TEST_CASE("the user is told the wait in force, and what cut it", "[price][review]") {
    const auto site = make_site("mode = \"enforce\"\n[placement]\nslowdown = 0.06\n");  // max_switch_wait 300
    const auto result = review(gang_for(720), site);
    CHECK(result.changes.switch_wait_s == 2592U);
    CHECK(has_note(result, NoteKind::change,
                   "4 nodes fit 1 leaf switch: waits up to 5 min for it "
                   "(SchedulerParameters=max_switch_wait cuts it from 43 min)"));
}

TEST_CASE("a user's own time is kept where there is something to wait for", "[price][review]") {
    auto request = gang_for(720);
    request.switch_wait_s = 60;  // SBATCH_WAIT4SWITCH without --switches
    const auto result = review(request, make_site("mode = \"enforce\"\nplacement.slowdown = 0.06\n"));
    CHECK(result.changes.switches == 1U);
    CHECK_FALSE(result.changes.switch_wait_s);
    CHECK(has_note(result, NoteKind::change, "waits up to 1 min for it"));
}

TEST_CASE("explain tells the price, where it comes from and what is made of it", "[price][report]") {
    struct Case {
        std::string why, keys, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"slowdown", "slowdown = 0.06",
         "2 leaf switches would cost 6 % (slowdown of the policy): up to 43 min of a 12 h run (time limit), "
         "cut to 5 min by SchedulerParameters=max_switch_wait"},
        {"measured", "bus_bandwidth = [370, 340]\ncommunication = 0.05",
         "2 leaf switches would cost 0.4 % (bus_bandwidth of 370 and 340 GB/s, 5 % communication): "
         "up to 3 min 11 s of a 12 h run (time limit)"},
        {"oversubscribed", "oversubscription = 2\ncommunication = 0.005",
         "2 leaf switches would cost 0.5 % (oversubscription of 2, 0.5 % communication): "
         "up to 3 min 36 s of a 12 h run (time limit)"},
        {"a guess says so", "wait_most = 60",
         "2 leaf switches would cost 5 % (a guess: the policy gives no slowdown): up to 1 min of a 12 h run"},
        {"free", "slowdown = 0", "would cost 0 % (slowdown of the policy): no wait of a 12 h run"},
        {"fixed", "wait = 60", "not priced: waits up to 1 min (wait of the policy)"},
    }));
    CAPTURE(c.why);
    const auto site = make_site("mode = \"enforce\"\n[placement]\n" + c.keys);
    const auto request = gang_for(720);
    const auto result = review(request, site);
    const report::Explained explained{request, result};

    CHECK_THAT(unwrapped(report::explain_text("x.sbatch", {&explained, 1}, site)), ContainsSubstring(c.expected));
    CHECK_THAT(report::explain_json("x.sbatch", {&explained, 1}), ContainsSubstring("\"run_time_from\": \"time limit\""));
}

TEST_CASE("an update of the node count is priced by what it says, else by the policy's run time",
          "[price][review]") {
    const auto site = make_site("mode = \"enforce\"\n[placement]\nslowdown = 0.06\nrun_time = \"1h\"\n");
    job::JobRequest update;
    update.min_nodes = 6;
    CHECK(review_update(update, site).changes.switch_wait_s == 216U);
    update.time_limit_min = 100;
    CHECK(review_update(update, site).changes.switch_wait_s == 360U);
    CHECK_FALSE(review_update(update, make_site("mode = \"enforce\"\nplacement.slowdown = 0\n")).changes.any());
}

TEST_CASE("the longest wait of a partition is that of its longest job", "[price][check]") {
    fabric::Partition partition;
    partition.max_time_min = 600;
    CHECK(longest_wait_s(placement("slowdown = 0.01"), partition) == 1440);
    CHECK(longest_wait_s(placement("slowdown = 0.5"), partition) == 3600);
    CHECK(longest_wait_s(placement("wait = \"2h\""), partition) == 7200);
    CHECK(longest_wait_s(placement("slowdown = 0"), partition) == 0);
    partition.max_time_min = job::unlimited;
    CHECK(longest_wait_s(placement("slowdown = 0.01\nwait_most = \"30m\""), partition) == 1800);
}

TEST_CASE("check says when slurmctld cuts the longest wait that the policy can price", "[price][check]") {
    struct Case {
        std::string why, toml, parameters, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"the default of 300 s", "placement.slowdown = 0.06\n", "",
         "the policy waits up to 1 h, SchedulerParameters=max_switch_wait cuts it to 5 min (its default): set it"},
        {"one that is set", "placement.slowdown = 0.06\n", "max_switch_wait=600", "cuts it to 10 min"},
        {"a rule that fits the partition",
         "placement.slowdown = 0\n[[rule]]\nname = \"x\"\nmatch = { partition = \"m*\" }\nplacement.wait = \"2h\"\n",
         "", "the policy waits up to 2 h"},
        {"a rule for another partition",
         "placement.slowdown = 0\n[[rule]]\nname = \"x\"\nmatch = { partition = \"z\" }\nplacement.wait = \"2h\"\n", "", ""},
        {"long enough", "placement.slowdown = 0.06\n", "max_switch_wait=3600", ""},
        {"nothing to wait for", "placement.slowdown = 0\n", "", ""},
    }));
    CAPTURE(c.why);
    auto cluster = make_cluster({});
    cluster.scheduler_parameters = c.parameters;
    cluster.partitions[0].max_time_min = 600;
    Loaded loaded;
    loaded.site = std::make_shared<const Site>(
        compile(*parse_policy(c.toml, "p"), std::move(cluster), {make_fabric({})}));
    std::string text;
    for (const auto& finding : check_site(loaded)) {
        text += finding.subject == "wait" ? finding.text : "";
    }
    if (c.expected.empty()) {
        CHECK(text.empty());
    } else {
        CHECK_THAT(text, ContainsSubstring(c.expected));
    }
}

TEST_CASE("of a deeper tree explain tells what the levels above the leaves would cost", "[price][report]") {
    const auto fabric = fabric::parse_topology_conf(
        "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=s3 Nodes=n[5-6]\n"
        "SwitchName=s4 Nodes=n[7-8]\nSwitchName=p1 Switches=s[1-2]\nSwitchName=p2 Switches=s[3-4]\n"
        "SwitchName=top Switches=p[1-2]\n", "topology.conf");
    REQUIRE(fabric);
    const auto site = compile(
        *parse_policy("mode = \"enforce\"\nplacement.slowdown = [0.02, 0.1]\nplacement.wait_most = 60\n", "p"),
        make_cluster({}), {*fabric});
    auto request = request_of({"gpu:32", "", "", 32, {}, {}, {}});
    request.time_limit_min = 60;
    const auto result = review(request, site);
    const report::Explained explained{request, result};
    CHECK_THAT(unwrapped(report::explain_text("x.sbatch", {&explained, 1}, site)),
               ContainsSubstring("3 leaf switches would cost 2 %, 2 level-1 switches 10 % (slowdown of the policy): up to "
                                 "1 min of a 1 h run"));
}
