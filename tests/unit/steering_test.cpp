// Small jobs prefer the leaves that are set aside for them.  16 nodes of 8 H100 behind four
// leaves of 4; the last leaf is set aside.
#include "policy/node_set.hpp"
#include "policy/parse.hpp"
#include "policy/review.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"

namespace {

using namespace railhead;
using namespace railhead::test;
using job::JobRequest;
using policy::NoteKind;

const std::string steering = enforce + "placement.set_aside = \"small\"\n";

ClusterShape four_leaves() {
    ClusterShape shape;
    shape.nodes = 16;
    shape.leaves = 4;
    return shape;
}

fabric::Cluster cluster_with_small_leaf() {
    auto cluster = make_cluster(four_leaves());
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
        cluster.nodes[i].features = {i % 2 == 0 ? "even" : "odd"};
        if (i >= 12) {
            cluster.nodes[i].features.emplace_back("small");
        }
    }
    return cluster;
}

policy::Site site_of(fabric::Cluster cluster, const std::string& toml = steering) {
    return policy::compile(*policy::parse_policy(toml, "p"), std::move(cluster), make_fabric(four_leaves()));
}

std::string preferred(const JobRequest& request, const policy::Site& site) {
    return policy::review(request, site).changes.prefer.value_or("");
}

}  // namespace

TEST_CASE("a job smaller than a leaf prefers the nodes set aside, where they hold it", "[steering]") {
    const auto site = site_of(cluster_with_small_leaf());
    struct Case {
        std::string why;
        Ask ask;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"one GPU", {"gpu:1", "", "", {}, {}, {}, {}}, "small"},
        {"a whole node", {"gpu:8", "", "", 8, {}, {}, {}}, "small"},
        {"a node by --gres", {"", "gpu:4", "", {}, {}, {}, {}}, "small"},
        {"a node by -N1", {"", "gpu:4", "", {}, {}, {}, 1}, "small"},
        {"a gang of two", {"gpu:16", "", "", 16, {}, {}, {}}, "small"},
        {"the largest that is smaller than a leaf", {"", "gpu:8", "", {}, {}, {}, 3}, "small"},
        {"as large as a leaf", {"", "gpu:8", "", {}, {}, {}, 4}, ""},
        {"larger", {"gpu:64", "", "", 64, {}, {}, {}}, ""},
        {"no GPU", {"", "", "", 4, {}, {}, {}}, ""},
        {"the node count cannot be told: CPUs need more than a node", {"gpu:8", "", "", 8, {}, 16, {}}, ""},
        {"memory of more than a node", {"gpu:1", "", "", {}, {}, {}, {}, {}, 2'000'000}, ""},
        {"GPUs that leave the node count open", {"gpu:12", "", "", 12, {}, {}, {}}, ""},
        {"a type that the nodes have", {"gpu:h100:1", "", "", {}, {}, {}, {}}, "small"},
        {"a type that they do not have", {"gpu:a100:1", "", "", {}, {}, {}, {}}, ""},
        {"more GPUs a node than there are", {"", "gpu:16", "", {}, {}, {}, 1}, ""},
        {"another resource, which those nodes may lack", {"", "gpu:1,nvme:1", "", {}, {}, {}, {}}, ""},
    }));
    CAPTURE(c.why);
    CHECK(preferred(request_of(c.ask), site) == c.expected);
}

TEST_CASE("--prefer replaces the constraint while it is tried, so it repeats a plain one", "[steering]") {
    const auto site = site_of(cluster_with_small_leaf());
    struct Case {
        std::string why;
        const char* constraint;
        std::uint32_t nodes;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"one feature", "even", 1, "even&small"},
        {"blanks are none of it", " even & even ", 1, "even&even&small"},
        {"a feature that no node has", "even&fast", 1, ""},
        {"the set holds two even nodes", "even", 2, "even&small"},
        {"but not three", "even", 3, ""},
        {"no node has both", "even&odd", 1, ""},
        {"already asked for", "small", 1, ""},
        {"an OR is more than an AND", "even|odd", 1, ""},
        {"counted", "even*1", 1, ""},
        {"in brackets", "[even|odd]", 1, ""},
        {"negated", "!odd", 1, ""},
    }));
    CAPTURE(c.why);
    auto request = request_of({"", "gpu:8", "", {}, {}, {}, c.nodes});
    request.constraint = c.constraint;
    CHECK(preferred(request, site) == c.expected);
}

TEST_CASE("no --prefer where Slurm could refuse it, or somebody has said where", "[steering]") {
    struct Word {
        std::string why;
        void (*set)(JobRequest&);
    };
    const auto word = GENERATE(values<Word>({
        {"-w", [](JobRequest& r) { r.node_list = "n1"; }},
        {"-w inside the set", [](JobRequest& r) { r.node_list = "n13"; }},
        {"a reservation", [](JobRequest& r) { r.reservation = "maint"; }},
        {"the user's own --prefer", [](JobRequest& r) { r.prefer = "even"; }},
        {"-x leaves too few", [](JobRequest& r) { r.exclude = "n[13-15]"; }},
        {"-x that cannot be read", [](JobRequest& r) { r.exclude = "n[13-"; }},
        {"an array", [](JobRequest& r) { r.array = true; }},
        {"nodes in a row", [](JobRequest& r) { r.contiguous = true; }},
        {"the shape of a node", [](JobRequest& r) { r.sockets_per_node = 4; }},
        {"--spread-job", [](JobRequest& r) { r.spread = true; }},
        {"GPUs by socket", [](JobRequest& r) { r.gpus_per_socket = "gpu:1"; }},
        {"a partition that nobody knows", [](JobRequest& r) { r.partition = "main,nowhere"; }},
        {"off", [](JobRequest& r) { r.off = true; }},
    }));
    CAPTURE(word.why);
    const auto site = site_of(cluster_with_small_leaf());
    auto request = request_of({"", "gpu:8", "", {}, {}, {}, 2});
    REQUIRE(preferred(request, site) == "small");
    word.set(request);
    CHECK(preferred(request, site).empty());
}

TEST_CASE("every partition named must have the nodes set aside", "[steering]") {
    auto cluster = cluster_with_small_leaf();
    auto other = cluster.partitions[0];
    other.name = "other";
    other.is_default = false;
    SECTION("it has") {
        cluster.partitions.push_back(other);
        auto request = request_of({"gpu:1", "", "", {}, {}, {}, {}});
        request.partition = "main,other";
        CHECK(preferred(request, site_of(cluster)) == "small");
    }
    SECTION("it has not") {
        other.nodes = {0, 1, 2, 3};
        cluster.partitions.push_back(other);
        auto request = request_of({"gpu:1", "", "", {}, {}, {}, {}});
        request.partition = "main,other";
        CHECK(preferred(request, site_of(cluster)).empty());
    }
    SECTION("its limits do not let the job in") {
        other.min_nodes = 2;
        cluster.partitions.push_back(other);
        auto request = request_of({"gpu:1", "", "", {}, {}, {}, {}});
        request.partition = "main,other";
        CHECK(preferred(request, site_of(cluster)).empty());
    }
}

TEST_CASE("a set that is spread over leaves steers no job that they would tear apart", "[steering]") {
    auto cluster = make_cluster(four_leaves());
    for (const std::size_t i : {0U, 4U, 8U, 12U}) {
        cluster.nodes[i].features = {"small"};
    }
    const auto site = site_of(cluster);
    CHECK(preferred(request_of({"gpu:1", "", "", {}, {}, {}, {}}), site) == "small");
    CHECK(preferred(request_of({"gpu:16", "", "", 16, {}, {}, {}}), site).empty());
}

TEST_CASE("without a fabric, a setting or a node with the feature nothing is steered", "[steering]") {
    const auto request = request_of({"gpu:1", "", "", {}, {}, {}, {}});
    CHECK(preferred(request, site_of(cluster_with_small_leaf(), enforce)).empty());
    CHECK(preferred(request, site_of(make_cluster(four_leaves()))).empty());
    CHECK(preferred(request, policy::compile(*policy::parse_policy(steering, "p"), cluster_with_small_leaf(), {}))
              .empty());
    CHECK(preferred(request, site_of(cluster_with_small_leaf(), steering + "[partition.main]\nplacement.set_aside = \"\"\n"))
              .empty());
}

TEST_CASE("steering is told where all is told, and logged", "[steering]") {
    const auto request = request_of({"gpu:1", "", "", {}, {}, {}, {}});
    SECTION("enforce") {
        const auto review = policy::review(request, site_of(cluster_with_small_leaf()));
        CHECK(has_note(review, NoteKind::quiet, "prefers nodes with feature \"small\""));
        CHECK(policy::user_text(review, request, policy::Notes::changes).empty());
        CHECK_THAT(policy::user_text(review, request, policy::Notes::all), ContainsSubstring("prefers nodes"));
        CHECK_THAT(policy::log_line(review, 1), ContainsSubstring("steering enforce: prefers"));
    }
    SECTION("observe") {
        const auto review = policy::review(
            request, site_of(cluster_with_small_leaf(), "placement.set_aside = \"small\"\n"));
        CHECK_FALSE(review.changes.any());
        CHECK_THAT(policy::log_line(review, 1), ContainsSubstring("steering observe: would prefer"));
    }
    SECTION("the user's own is told") {
        auto own = request;
        own.prefer = "even";
        CHECK(has_note(policy::review(own, site_of(cluster_with_small_leaf())), NoteKind::info,
                       "your --prefer is kept"));
    }
}

TEST_CASE("a set of nodes", "[steering]") {
    policy::NodeSet a{130};
    policy::NodeSet b{130};
    for (const auto node : {0U, 63U, 64U, 129U}) {
        a.add(node);
        CHECK(a.contains(node));
    }
    b.add(64);
    b.add(65);
    CHECK(a.count() == 4);
    a &= b;
    CHECK(a.count() == 1);
    CHECK(a.contains(64));
    a.add(129);
    std::vector<std::uint32_t> seen;
    a.each([&](auto node) {
        seen.push_back(node);
        a.remove(node);
    });
    CHECK(seen == std::vector<std::uint32_t>{64, 129});
    CHECK(a.count() == 0);
    CHECK(policy::NodeSet{}.count() == 0);
}
