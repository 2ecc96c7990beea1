// The placement rule: switches and segments, as tables.  8 nodes of 8 H100 behind two leaves, unless a
// case says otherwise.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "policy/parse.hpp"
#include "policy/review.hpp"
#include "policy/rules.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"

namespace {

using namespace railhead;
using job::JobRequest;
using policy::NoteKind;
using policy::review;
using test::enforce;
using test::has_note;
using test::request_of;

}  // namespace

TEST_CASE("the user's own --switches is kept unless the policy overrides", "[review]") {
    auto request = request_of({"", "gpu:8", "", 16, 8, {}, 2});
    request.switches = 2;
    request.switch_wait_s = 60;
    SECTION("kept") {
        const auto result = review(request, test::make_site(enforce));
        CHECK_FALSE(result.changes.switches);
        CHECK(has_note(result, NoteKind::info, "--switches=2 is kept"));
    }
    SECTION("override") {
        const auto result =
            review(request, test::make_site(enforce + "placement.override = true\n"));
        CHECK(result.changes.switches == 1U);
        CHECK(result.changes.switch_wait_s == 300U);
    }
}

TEST_CASE("the note tells the wait in force, which Slurm caps", "[review]") {
    auto cluster = test::make_cluster({});
    cluster.scheduler_parameters = "bf_interval=5,max_switch_wait=120";
    const auto site =
        policy::compile(*policy::parse_policy(enforce, "p"), cluster, {test::make_fabric({})});
    const auto result = review(request_of({"gpu:16", "", "", 16, {}, {}, {}}), site);
    CHECK(has_note(result, NoteKind::change, "waits up to 2 min"));
    CHECK(result.changes.switch_wait_s == 300U);
}

TEST_CASE("the least leaves are those that the job may use", "[review]") {
    test::ClusterShape shape;
    shape.nodes = 16;
    shape.leaves = 4;
    auto cluster = test::make_cluster(shape);
    for (std::size_t i = 0; i < 16; i += 2) {
        cluster.nodes[i].features = {"fast"};
    }
    const auto site =
        policy::compile(*policy::parse_policy(enforce, "p"), cluster, {test::make_fabric(shape)});
    struct Want {
        std::string why;
        const char* constraint;
        const char* exclude;
        std::uint32_t leaves;
    };
    const auto want = GENERATE(values<Want>({
        {"all nodes", "", "", 1},
        {"half of each leaf has the feature", "fast", "", 2},
        {"-x takes two nodes of each leaf", "", "n[1-2,5-6,9-10,13-14]", 2},
        {"a constraint that is more than an AND cannot be told", "fast|slow", "", 0},
    }));
    CAPTURE(want.why);
    auto request = request_of({"", "gpu:8", "", 32, 8, {}, 4});
    request.constraint = want.constraint;
    request.exclude = want.exclude;

    const auto result = review(request, site);

    CHECK(result.changes.switches.value_or(0) == want.leaves);
}

TEST_CASE("only nodes with the GPUs asked for count", "[review]") {
    SECTION("two types of equal count in one partition") {
        auto cluster = test::make_cluster({});
        for (const auto i : {2, 3, 6, 7}) {
            cluster.nodes[static_cast<std::size_t>(i)].gpus = {{"a100", 8}};
        }
        const auto site =
            policy::compile(*policy::parse_policy(enforce, "p"), cluster, {test::make_fabric({})});
        const auto four = review(request_of({"gpu:h100:32", "", "", 32, {}, {}, {}}), site);
        CHECK(four.changes.min_nodes == 4U);
        CHECK_FALSE(four.changes.switches);  // two of each leaf: no placement is narrower
        const auto two = review(request_of({"gpu:h100:16", "", "", 16, {}, {}, {}}), site);
        CHECK(two.changes.switches == 1U);
        const auto five = review(request_of({"gpu:h100:40", "", "", 40, {}, {}, {}}), site);
        CHECK_FALSE(five.changes.any());
    }
    SECTION("nodes of unequal count") {
        auto cluster = test::make_cluster({});
        for (const auto i : {2, 3, 6, 7}) {
            cluster.nodes[static_cast<std::size_t>(i)].gpus = {{"h100", 4}};
        }
        const auto site =
            policy::compile(*policy::parse_policy(enforce, "p"), cluster, {test::make_fabric({})});
        CHECK_FALSE(review(request_of({"", "gpu:8", "", {}, {}, {}, 4}), site).changes.switches);
        CHECK(review(request_of({"", "gpu:4", "", {}, {}, {}, 4}), site).changes.switches == 1U);
    }
    SECTION("a type that is not there is told") {
        const auto result = review(request_of({"gpu:a100:16", "", "", 16, {}, {}, {}}), test::make_site(enforce));
        CHECK_FALSE(result.changes.any());
        CHECK(has_note(result, NoteKind::advice, "no node of partition \"main\" has a100 GPUs"));
    }
    SECTION("several types are left to Slurm") {
        const auto result = review(request_of({"gpu:h100:8,gpu:a100:8", "", "", 16, {}, {}, {}}), test::make_site(enforce));
        CHECK_FALSE(result.changes.min_nodes);
    }
}

TEST_CASE("partitions named together must agree", "[review]") {
    auto cluster = test::make_cluster({});
    auto second = cluster.partitions[0];
    second.name = "second";
    second.is_default = false;
    SECTION("they do: the larger minimum is written") {
        second.nodes = {0, 1, 4, 5};
        cluster.partitions.push_back(second);
        const auto site =
            policy::compile(*policy::parse_policy(enforce, "p"), cluster, {test::make_fabric({})});
        auto request = request_of({"gpu:24", "", "", 24, {}, {}, {}});
        request.partition = "main,second";
        const auto result = review(request, site);
        CHECK(result.changes.min_nodes == 3U);
        CHECK(result.seen.least_leaves == 2);
    }
    SECTION("they do not: the gang rule is off") {
        for (std::uint32_t i = 8; i < 10; ++i) {
            auto node = cluster.nodes[0];
            node.name = fmt::format("n{}", i + 1);
            node.gpus["h100"] = 4;
            cluster.nodes.push_back(node);
        }
        second.nodes = {8, 9};
        cluster.partitions.push_back(second);
        test::index_nodes(cluster);
        const auto site =
            policy::compile(*policy::parse_policy(enforce, "p"), cluster, {test::make_fabric({})});
        auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
        request.partition = "main,second";
        CHECK_FALSE(review(request, site).changes.any());
    }
}

TEST_CASE("a segment can never take more blocks, or a higher level, than stock", "[review]") {
    for (const auto& sizes : std::vector<std::vector<std::uint32_t>>{{4}, {8}, {18}, {4, 8}, {4, 16}, {8, 16, 32}}) {
        for (std::uint32_t nodes = 1; nodes <= 64; ++nodes) {
            for (std::uint32_t group = 1; group <= 18; ++group) {
                const auto segment = policy::safe_segment(nodes, group, sizes);
                if (segment == 0) {
                    continue;
                }
                CAPTURE(sizes, nodes, group, segment);
                CHECK(segment % group == 0);
                CHECK(nodes % segment == 0);
                CHECK(segment <= sizes.front());
                CHECK(segment * 2 >= sizes.front());
                for (const auto size : sizes) {
                    CHECK(nodes / segment <= (nodes + size - 1) / size);
                }
            }
        }
    }
    CHECK(policy::safe_segment(5, 1, {4, 8}) == 0);    // would start over three blocks
    CHECK(policy::safe_segment(8, 4, {4, 8}) == 0);    // would land in two 8-blocks
    CHECK(policy::safe_segment(12, 6, {8}) == 6);      // 6 + 6 in the two blocks of stock
    CHECK(policy::safe_segment(36, 6, {18}) == 18);
    CHECK(policy::safe_segment(34, 17, {18}) == 17);   // twice a prime
    CHECK(policy::safe_segment(37, 37, {18}) == 0);    // a prime above the base block
}

TEST_CASE("a segment is written only for a declared group, and never with -w", "[review]") {
    test::ClusterShape shape;
    shape.nodes = 36;
    shape.leaves = 2;
    shape.gpus = 4;
    shape.kind = fabric::Kind::block;
    shape.block_sizes = {18};
    const auto site = test::make_site(enforce, shape);
    auto request = request_of({"", "gpu:4", "", 144, 4, {}, 36});
    CHECK_FALSE(review(request, site).changes.segment);
    request.model_parallel_group = 9;
    CHECK(review(request, site).changes.segment == std::uint16_t{18});
    CHECK_FALSE(review(request, site).changes.switches);
    request.node_list = "n[1-36]";
    CHECK_FALSE(review(request, site).changes.segment);
}

TEST_CASE("a segment that the usable nodes of no block could hold is not written", "[review]") {
    test::ClusterShape shape;
    shape.nodes = 36;
    shape.leaves = 2;
    shape.kind = fabric::Kind::block;
    shape.block_sizes = {18};
    const auto site = test::make_site(enforce, shape);
    struct Want {
        std::string why;
        std::uint32_t nodes, group;
        const char* exclude;
        std::optional<std::uint16_t> segment;
    };
    const auto want = GENERATE(values<Want>({
        {"all nodes are there", 18, 9, "", std::uint16_t{18}},
        {"a node of each block is excluded: 18 fit nowhere, 2 x 9 would take two blocks", 18, 9, "n[1,19]", {}},
        {"a node of one block is excluded: the other holds it", 18, 9, "n1", std::uint16_t{18}},
        {"both blocks whole are needed", 36, 18, "", std::uint16_t{18}},
    }));
    CAPTURE(want.why);
    auto request = request_of({"", "gpu:8", "", {}, {}, {}, want.nodes});
    request.model_parallel_group = want.group;
    request.exclude = want.exclude;
    CHECK(review(request, site).changes.segment == want.segment);

    const std::vector<std::uint32_t> usable{17, 18, 9};
    CHECK(policy::segments_fit(usable, 9, 4));
    CHECK_FALSE(policy::segments_fit(usable, 9, 5));
    CHECK_FALSE(policy::segments_fit(usable, 18, 2));
}

TEST_CASE("an update of the node count renews the switch count", "[review]") {
    const auto site = test::make_site(enforce);
    JobRequest update;
    update.min_nodes = 6;
    CHECK(policy::review_update(update, site).changes.switches == 2U);
    update.switches = 1;
    CHECK_FALSE(policy::review_update(update, site).changes.any());
    JobRequest other;
    other.time_limit_min = 60;
    CHECK_FALSE(policy::review_update(other, site).changes.any());
}

TEST_CASE("a partition that is too small has no say in an update", "[review]") {
    auto cluster = test::make_cluster({});
    cluster.partitions.push_back(cluster.partitions[0]);
    cluster.partitions[1].name = "small";
    cluster.partitions[1].is_default = false;
    cluster.partitions[1].nodes = {0, 1, 2, 3};
    std::vector<fabric::Fabric> fabrics{test::make_fabric({})};
    const auto site = policy::compile(policy::parse_policy(enforce, "railhead.toml").value(),
                                      std::move(cluster), std::move(fabrics));
    JobRequest update;
    update.min_nodes = 6;

    CHECK(policy::review_update(update, site).changes.switches == 2U);
}
