// The lemons file, and the gangs that are kept off its nodes.  16 nodes of 8 H100 behind four
// leaves of 4.
#include "policy/lemons.hpp"
#include "policy/load.hpp"
#include "policy/parse.hpp"
#include "policy/review.hpp"
#include "report/explain.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace railhead;
using namespace railhead::test;
using job::JobRequest;
using policy::Lemon;
using policy::NoteKind;

constexpr std::int64_t noon = 1'796'126'400;  // 2026-12-01T12:00:00Z

ClusterShape four_leaves() {
    ClusterShape shape;
    shape.nodes = 16;
    shape.leaves = 4;
    return shape;
}

policy::Site site_with(const std::string& lemons, const std::string& toml = enforce,
                       const ClusterShape& shape = four_leaves(), bool fabric = true) {
    auto cluster = make_cluster(shape);
    for (std::size_t i = 0; i < cluster.nodes.size(); i += 2) {
        cluster.nodes[i].features = {"even"};
    }
    return policy::compile(*policy::parse_policy(toml, "p"), std::move(cluster),
                           fabric ? std::vector{make_fabric(shape)} : std::vector<fabric::Fabric>{},
                           policy::parse_lemons(lemons, "railhead.lemons").entries);
}

JobRequest gang(std::uint32_t nodes) {
    return request_of({"", "gpu:8", "", {}, {}, {}, nodes});
}

std::string excluded(const JobRequest& request, const policy::Site& site) {
    return policy::review(request, site).changes.exclude.value_or("");
}

std::string lines_of(const policy::Lemons& lemons) {
    std::string text;
    for (const auto& error : lemons.errors) {
        text += to_string(error) + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("a lemons file has nodes, a time and a reason a line", "[lemons]") {
    const auto lemons = policy::parse_lemons(
        "# nodes       until              reason\n"
        "\n"
        "n[017-018]    2026-12-01T12:00Z  NIC 3 flaps\n"
        "\tn200\tnever\tGPU #5 is slow  \r\n"
        "a1,b[2-3] 2026-12-01",
        "railhead.lemons");
    CHECK(lines_of(lemons).empty());
    REQUIRE(lemons.entries.size() == 3);
    CHECK(lemons.entries[0].nodes == std::vector<std::string>{"n017", "n018"});
    CHECK(lemons.entries[0].until_s == noon);
    CHECK(lemons.entries[0].reason == "NIC 3 flaps");
    CHECK(lemons.entries[1].until_s == Lemon::never);
    CHECK(lemons.entries[1].reason == "GPU #5 is slow");
    CHECK(lemons.entries[2].nodes == std::vector<std::string>{"a1", "b2", "b3"});
    CHECK(lemons.entries[2].until_s == noon - 12 * 3600);
    CHECK(lemons.entries[2].reason.empty());
}

TEST_CASE("what is written is read again as it was", "[lemons]") {
    const std::vector<Lemon> entries{{{"n1", "n2", "n3"}, noon + 5, "slow: GPU #5, 10 %"},
                                     {{"login"}, Lemon::never, ""},
                                     {{"x07"}, 0, "at the beginning of time"}};
    const auto text = policy::format_lemons(entries);
    CHECK_THAT(text, ContainsSubstring("n[1-3]  2026-12-01T12:00:05Z  slow: GPU #5, 10 %\nlogin  never\n"));
    const auto again = policy::parse_lemons(text, "f");
    CHECK(lines_of(again).empty());
    CHECK(policy::format_lemons(again.entries) == text);
    CHECK(policy::format_lemons({}).starts_with("# "));
}

TEST_CASE("a bad line is told with its place, and the others hold", "[lemons][errors]") {
    struct Case {
        std::string why, line, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"no time", "n1", "f:2:2: expected a time such as 2026-12-01T12:00, or \"never\", after the nodes, not \"\""},
        {"a word for a time", "n1 tomorrow slow", "f:2:4: expected a time such as"},
        {"a day that is none", "n1 2026-02-30", "f:2:4: expected a time"},
        {"the hour 24", "n1 2026-12-01T24:00", "f:2:4: expected a time"},
        {"another zone", "n1 2026-12-01T12:00+02:00", "f:2:4: expected a time"},
        {"a short year", "n1 26-12-01", "f:2:4: expected a time"},
        {"an open bracket", "  n[1 never", "f:2:3: "},
        {"a million nodes too many", "n[0-99999999] never", "f:2:1: "},
    }));
    CAPTURE(c.why);
    const auto lemons = policy::parse_lemons("n7 never\n" + c.line + "\nn8 never\n", "f");
    CHECK(lemons.entries.size() == 2);
    CHECK_THAT(lines_of(lemons), ContainsSubstring(c.expected));
}

TEST_CASE("garbage for a lemons file is survived", "[lemons][errors]") {
    for (const auto& text : {std::string(100'000, '['), std::string("\0\0 never\n\xff", 10), std::string(100'000, '\n'),
                             std::string(1'000'000, 'n'), std::string("n1 \x1b[31m red\n")}) {
        const auto lemons = policy::parse_lemons(text, "f");
        for (const auto& error : lemons.errors) {
            CHECK(error.message.find('\x1b') == std::string::npos);
        }
    }
}

TEST_CASE("a gang avoids the lemons, and smaller jobs do not", "[lemons][review]") {
    struct Case {
        std::string why, lemons;
        std::uint32_t nodes;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"two lemons", "n[3,7] never slow", 4, "n3,n7"},
        {"named twice", "n3 never\nn3 2001-01-01", 4, "n3"},
        {"a node that slurm.conf does not know", "n3,n99 never", 4, "n3"},
        {"one node is no gang", "n3 never", 1, ""},
        {"exactly enough are left", "n[1-4] never", 12, "n1,n2,n3,n4"},
        {"too few are left: none is avoided", "n[1-4] never", 13, ""},
        {"all nodes", "n[1-16] never", 2, ""},
        {"a healthy wider span goes before a narrow one with a lemon", "n[1,5,9,13] never", 4, "n1,n5,n9,n13"},
    }));
    CAPTURE(c.why);
    const auto site = site_with(c.lemons);
    const auto review = policy::review(gang(c.nodes), site);
    CAPTURE(all_notes(review));
    CHECK(review.changes.exclude.value_or("") == c.expected);
    CHECK(has_note(review, NoteKind::change, "avoids ") == !c.expected.empty());
}

TEST_CASE("the span is that of the nodes that are left", "[lemons][review]") {
    const auto site = site_with("n[1,5,9,13] never");
    CHECK(policy::review(gang(3), site).changes.switches == 1U);
    CHECK(policy::review(gang(4), site).changes.switches == 2U);
    CHECK(policy::review(gang(4), site_with("")).changes.switches == 1U);
}

TEST_CASE("a lemon is one until its time", "[lemons][review]") {
    const auto site = site_with("n3 2026-12-01T12:00\nn4 never\n");
    auto request = gang(2);
    request.submitted_s = noon - 1;
    CHECK(excluded(request, site) == "n3,n4");
    request.submitted_s = noon;
    CHECK(excluded(request, site) == "n4");
}

TEST_CASE("what the user says of nodes comes first", "[lemons][review]") {
    const auto site = site_with("n[3,7] never slow");
    auto request = gang(4);
    SECTION("-x is kept and added to") {
        request.exclude = "n[1-2]";
        CHECK(excluded(request, site) == "n[1-2],n3,n7");
    }
    SECTION("a lemon that -x has already") {
        request.exclude = "n3";
        CHECK(excluded(request, site) == "n3,n7");
        request.exclude = "n[3,7]";
        CHECK(excluded(request, site).empty());
    }
    SECTION("a lemon in -w is used, and the user told") {
        request.node_list = "n3";
        const auto review = policy::review(request, site);
        CHECK(review.changes.exclude == "n7");
        CHECK(has_note(review, NoteKind::advice, "your -w names n3, which this site avoids"));
    }
    SECTION("-w names every node") {
        request.node_list = "n[1-4]";
        CHECK(excluded(request, site).empty());
    }
    SECTION("lemons outside of -C are still kept off, those inside must be spared") {
        request.constraint = "even";  // 8 nodes
        CHECK(excluded(request, site_with("n[1,3] never")) == "n1,n3");
        request.min_nodes = request.max_nodes = 7;
        CHECK(excluded(request, site_with("n[1,3] never")).empty());
    }
}

TEST_CASE("where it cannot be told what would be left, none is avoided, and the log says why",
          "[lemons][review]") {
    struct Word {
        std::string why;
        void (*set)(JobRequest&);
        std::string note;
    };
    const auto word = GENERATE(values<Word>({
        {"a reservation", [](JobRequest& r) { r.reservation = "maint"; }, "a reservation was asked for"},
        {"an OR", [](JobRequest& r) { r.constraint = "even|odd"; }, "cannot be told"},
        {"nodes in a row", [](JobRequest& r) { r.contiguous = true; }, "--contiguous"},
        {"a node's shape", [](JobRequest& r) { r.sockets_per_node = 1; }, "shape of a node"},
        {"memory that few nodes may have", [](JobRequest& r) { r.mem_per_node_mb = 2'000'000; }, "MB a node"},
        {"another resource", [](JobRequest& r) { r.gpus_per_node = "gpu:8,nvme:1"; }, "other resources"},
    }));
    CAPTURE(word.why);
    auto request = gang(4);
    word.set(request);
    const auto review = policy::review(request, site_with("n3 never"));
    CAPTURE(all_notes(review));
    CHECK_FALSE(review.changes.exclude);
    CHECK(has_note(review, NoteKind::info, word.note));
}

TEST_CASE("every network and every partition of a job must do without", "[lemons][review]") {
    SECTION("a job never spans two networks") {
        auto cluster = make_cluster(four_leaves());
        const auto fabric = fabric::parse_topology_conf(
            "SwitchName=a Nodes=n[1-8]\nSwitchName=b Nodes=n[9-16]\n", "topology.conf");
        REQUIRE(fabric);
        const auto site = policy::compile(*policy::parse_policy(enforce, "p"), cluster, {*fabric},
                                          policy::parse_lemons("n[1,9] never", "f").entries);
        CHECK(excluded(gang(8), site).empty());
        CHECK(excluded(gang(7), site) == "n1,n9");
    }
    SECTION("another partition") {
        auto cluster = make_cluster(four_leaves());
        auto other = cluster.partitions[0];
        other.name = "other";
        other.is_default = false;
        other.nodes = {0, 1, 2, 3};
        cluster.partitions.push_back(other);
        const auto site =
            policy::compile(*policy::parse_policy(enforce, "p"), cluster, {make_fabric(four_leaves())},
                            policy::parse_lemons("n[1,9] never", "f").entries);
        auto request = gang(4);
        CHECK(excluded(request, site) == "n1,n9");
        request.partition = "main,other";
        CHECK(excluded(request, site).empty());
        request.partition = "other";
        request.min_nodes = request.max_nodes = 3;
        CHECK(excluded(request, site) == "n1");  // the other lemon is not in the way
    }
    SECTION("without a fabric the nodes are counted") {
        CHECK(excluded(gang(14), site_with("n[3,7] never", enforce, four_leaves(), false)) == "n3,n7");
        CHECK(excluded(gang(15), site_with("n[3,7] never", enforce, four_leaves(), false)).empty());
    }
    SECTION("on blocks, where Slurm waits for the fewest, their number may not grow") {
        auto shape = four_leaves();
        shape.kind = fabric::Kind::block;
        CHECK(excluded(gang(4), site_with("n[1,5,9,13] never", enforce, shape)).empty());
        CHECK(excluded(gang(3), site_with("n[1,5,9,13] never", enforce, shape)) == "n1,n5,n9,n13");
        CHECK(excluded(gang(6), site_with("n[1,5,9,13] never", enforce, shape)) == "n1,n5,n9,n13");
        shape.block_sizes = {4, 8};  // six nodes must be on blocks 1 and 2, or on 3 and 4
        CHECK(excluded(gang(6), site_with("n[1-3,9-11] never", enforce, shape)).empty());
        CHECK(excluded(gang(6), site_with("n[1-3,9] never", enforce, shape)) == "n1,n2,n3,n9");
    }
}

TEST_CASE("lemons have a mode and a least size of their own", "[lemons][policy]") {
    CHECK(excluded(gang(4), site_with("n3 never", enforce + "lemons.min_nodes = 5\n")).empty());
    CHECK(excluded(gang(1), site_with("n3 never", enforce + "lemons.min_nodes = 1\n")) == "n3");
    CHECK(excluded(gang(4), site_with("n3 never", enforce + "lemons.mode = \"observe\"\n")).empty());
    CHECK(excluded(gang(4), site_with("n3 never", enforce + "[partition.main]\nlemons.min_nodes = 5\n")).empty());
    const auto advised = policy::review(gang(4), site_with("n3 never", enforce + "lemons.mode = \"advise\"\n"));
    CHECK(has_note(advised, NoteKind::change, "would avoid n3"));
    CHECK(report::changes_text(policy::review(gang(4), site_with("n3 never")).changes) ==
          "--exclusive -c64 --switches=1@5:00 -x n3");
    CHECK_FALSE(policy::parse_policy("[partition.main.lemons]\nfile = \"x\"\n", "p").has_value());
    CHECK(policy::parse_policy("[lemons]\nfile = \"/x\"\n", "p")->lemons == "/x");
}

TEST_CASE("the lemons file is read with the policy, and what is wrong with it stops nothing", "[lemons][load]") {
    TempDir folder;
    folder.write("slurm.conf", "NodeName=n[1-4] Gres=gpu:8\nPartitionName=main Nodes=ALL Default=YES\n");
    folder.write("gres.conf", "");
    folder.write("railhead.toml", enforce);
    policy::Places places;
    places.policy = folder.path("railhead.toml");
    places.slurm_conf = folder.path("slurm.conf");
    SECTION("there is none") {
        const auto loaded = policy::load(places, std::nullopt);
        REQUIRE(loaded.site);
        CHECK(loaded.warnings.empty());
        folder.write("railhead.lemons", "n1 never\n");
        CHECK(loaded.is_stale());
    }
    SECTION("good") {
        folder.write("railhead.lemons", "n1 never\n");
        const auto loaded = policy::load(places, std::nullopt);
        REQUIRE(loaded.site);
        CHECK(loaded.site->lemons.size() == 1);
        CHECK(loaded.lemons == 1);
    }
    SECTION("two bad lines are one warning") {
        folder.write("railhead.lemons", "n1 never\nn2\nn3 soon\n");
        const auto loaded = policy::load(places, std::nullopt);
        REQUIRE(loaded.site);
        CHECK(loaded.site->lemons.size() == 1);
        REQUIRE(loaded.warnings.size() == 1);
        CHECK_THAT(to_string(loaded.warnings[0]), ContainsSubstring("railhead.lemons:2:2: "));
        CHECK_THAT(to_string(loaded.warnings[0]), ContainsSubstring(", and 1 bad line more"));
    }
    SECTION("named by the policy, and not there") {
        folder.write("railhead.toml", enforce + "lemons.file = \"" + folder.path("nowhere") + "\"\n");
        const auto loaded = policy::load(places, std::nullopt);
        REQUIRE(loaded.site);
        REQUIRE(loaded.warnings.size() == 1);
        CHECK_THAT(to_string(loaded.warnings[0]), ContainsSubstring("nowhere"));
    }
    SECTION("unknown nodes") {
        folder.write("railhead.lemons", "n[7-9] never\n");
        const auto loaded = policy::load(places, std::nullopt);
        REQUIRE(loaded.site);
        REQUIRE(loaded.warnings.size() == 1);
        CHECK_THAT(to_string(loaded.warnings[0]), ContainsSubstring("the lemons file names 3 nodes unknown to slurm.conf"));
    }
}
