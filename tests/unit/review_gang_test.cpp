// The gang rule: whole nodes, as tables.  8 nodes of 8 H100 and 64 CPUs behind two leaves, unless a
// case says otherwise.
#include <string>

#include "policy/parse.hpp"
#include "policy/review.hpp"
#include "report/explain.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"

namespace {

using namespace railhead;
using job::JobRequest;
using policy::NoteKind;
using policy::review;
using test::all_notes;
using test::Ask;
using test::enforce;
using test::has_note;
using test::request_of;

struct Case {
    std::string why;
    Ask ask;
    std::string expected;  ///< changes, in sbatch's words
};

}  // namespace

TEST_CASE("a gang whose node count is open becomes whole nodes on the least leaves", "[review]") {
    const auto site = test::make_site(enforce);
    const auto c = GENERATE(values<Case>({
        {"--gpus alone: CPUs a task keep stock's one task a node",
         {"gpu:16", "", "", {}, {}, {}, {}},
         "-N2 --exclusive -c64 --switches=1@5:00"},
        {"--gpus with tasks", {"gpu:16", "", "", 16, {}, {}, {}}, "-N2 --exclusive --switches=1@5:00"},
        {"typed GPUs", {"gres/gpu:h100:16", "", "", 16, {}, {}, {}},
         "-N2 --exclusive --switches=1@5:00"},
        {"old client's words", {"gres:gpu:16", "", "", 16, {}, {}, {}},
         "-N2 --exclusive --switches=1@5:00"},
        {"--gpus-per-task", {"", "", "gpu:1", 16, {}, {}, {}}, "-N2 --exclusive --switches=1@5:00"},
        {"eight a task", {"", "", "gpu:8", 2, {}, {}, {}}, "-N2 --exclusive --switches=1@5:00"},
        {"--gpus and --gpus-per-task", {"gpu:16", "", "gpu:1", {}, {}, {}, {}},
         "-N2 --exclusive --switches=1@5:00"},
        {"--gres and tasks a node fix the count",
         {"", "gpu:8", "", 16, 8, {}, {}},
         "-N2 --exclusive --switches=1@5:00"},
        {"-c without -n: the tasks are written, else -c would multiply them",
         {"gpu:16", "", "", {}, {}, 4, {}},
         "-N2 --exclusive -n2 --switches=1@5:00"},
        {"CPUs by GPU fill the node", {"gpu:16", "", "", {}, {}, {}, {}, 8},
         "-N2 --exclusive --switches=1@5:00"},
        {"CPUs by GPU do not: exclusive would make more tasks",
         {"gpu:16", "", "", {}, {}, {}, {}, 4},
         "-N2 --switches=1@5:00"},
        {"the whole partition: no placement is wider", {"gpu:64", "", "", 64, {}, {}, {}},
         "-N8 --exclusive"},
        {"more than a leaf", {"gpu:48", "", "", 48, {}, {}, {}}, "-N6 --exclusive"},
        {"one leaf, full", {"gpu:32", "", "", 32, {}, {}, {}}, "-N4 --exclusive --switches=1@5:00"},
    }));
    CAPTURE(c.why);

    const auto result = review(request_of(c.ask), site);

    CAPTURE(all_notes(result));
    CHECK(report::changes_text(result.changes) == c.expected);
    CHECK_FALSE(result.refusal);
}

TEST_CASE("what stock Slurm would run, or knows better, keeps its node count", "[review]") {
    const auto site = test::make_site(enforce);
    const auto c = GENERATE(values<Case>({
        {"a CPU job", {"", "", "", 128, {}, {}, {}}, ""},
        {"one node", {"gpu:8", "", "", 8, {}, {}, {}}, ""},
        {"part of a node", {"gpu:1", "", "", {}, {}, {}, {}}, ""},
        {"--gres without a count is one node", {"", "gpu:8", "", {}, {}, {}, {}}, ""},
        {"GPUs that do not fill nodes", {"gpu:12", "", "", 12, {}, {}, {}}, ""},
        {"CPUs bind first: 16 tasks of 16 CPUs run on 4 nodes",
         {"", "", "gpu:1", 16, {}, 16, {}},
         ""},
        {"memory binds first", {"gpu:16", "", "", 16, {}, {}, {}, {}, 2'000'000}, ""},
        {"tasks a node bind first", {"gpu:16", "", "", 16, 4, {}, {}}, ""},
        {"more nodes than there are", {"gpu:128", "", "", 128, {}, {}, {}}, ""},
        {"a task cannot use two nodes", {"gpu:16", "", "", 1, {}, {}, {}}, ""},
    }));
    CAPTURE(c.why);

    const auto result = review(request_of(c.ask), site);

    CAPTURE(all_notes(result));
    CHECK(report::changes_text(result.changes) == c.expected);
    CHECK_FALSE(result.refusal);
}

TEST_CASE("a node count that the user gave is never changed", "[review]") {
    const auto site = test::make_site(enforce);
    SECTION("GPUs that fill the nodes make them the job's alone") {
        const auto result = review(request_of({"", "gpu:8", "", 16, 8, {}, 2}), site);
        CHECK(report::changes_text(result.changes) == "--exclusive --switches=1@5:00");
    }
    SECTION("GPUs that do not leave the nodes shared") {
        const auto result = review(request_of({"", "gpu:4", "", {}, {}, {}, 4}), site);
        CHECK(report::changes_text(result.changes) == "--switches=1@5:00");
    }
    SECTION("a range is kept and planned for its largest") {
        JobRequest request;
        request.gpus_per_node = "gpu:8";
        request.min_nodes = 2;
        request.max_nodes = 6;
        const auto result = review(request, site);
        CHECK(report::changes_text(result.changes).empty());
        CHECK(has_note(result, NoteKind::info, "2-6 is kept"));
        CHECK(result.seen.least_leaves == 2);
        request.tasks_per_node = 8;
        CHECK(report::changes_text(review(request, site).changes) == "--exclusive");
    }
    SECTION("named nodes are neither counted nor placed") {
        JobRequest request;
        request.gpus_per_job = "gpu:16";
        request.node_list = "n[1,5]";
        CHECK_FALSE(review(request, site).changes.any());
        request.min_nodes = 2;  // as sbatch fills it in
        CHECK(report::changes_text(review(request, site).changes) == "--exclusive -c64");
    }
}

TEST_CASE("sharing is written only where it is safe", "[review]") {
    const JobRequest gang = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    SECTION("accounting limits would count every CPU") {
        auto cluster = test::make_cluster({});
        cluster.accounting_enforce = "associations,limits";
        const auto site = policy::compile(*policy::parse_policy(enforce, "p"), cluster,
                                          {test::make_fabric({})});
        const auto result = review(gang, site);
        CHECK(report::changes_text(result.changes) == "-N2 --switches=1@5:00");
        CHECK(has_note(result, NoteKind::change, "not exclusive: accounting limits"));
    }
    SECTION("unless the policy insists") {
        auto cluster = test::make_cluster({});
        cluster.accounting_enforce = "limits";
        const auto site =
            policy::compile(*policy::parse_policy(enforce + "gang.exclusive = true\n", "p"), cluster,
                            {test::make_fabric({})});
        CHECK(review(gang, site).changes.exclusive);
    }
    SECTION("a policy may turn it off") {
        const auto site = test::make_site(enforce + "gang.exclusive = false\n");
        CHECK(report::changes_text(review(gang, site).changes) == "-N2 --switches=1@5:00");
    }
    SECTION("memory by CPU would outgrow the node") {
        const auto site = test::make_site(enforce);
        const auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}, {}, {}, 20'000});
        CHECK(report::changes_text(review(request, site).changes) == "-N2 --switches=1@5:00");
    }
    SECTION("the user said how to share") {
        const auto site = test::make_site(enforce);
        auto request = gang;
        request.sharing = job::Sharing::shared;
        CHECK(report::changes_text(review(request, site).changes) == "-N2 --switches=1@5:00");
    }
    SECTION("the partition forces sharing") {
        auto cluster = test::make_cluster({});
        cluster.partitions[0].over_subscribe = "FORCE:1";
        const auto site = policy::compile(*policy::parse_policy(enforce, "p"), cluster,
                                          {test::make_fabric({})});
        CHECK_FALSE(review(gang, site).changes.exclusive);
    }
}

TEST_CASE("a partition's limits keep a gang as it is", "[review]") {
    struct Limit {
        std::string why;
        void (*set)(fabric::Cluster&);
    };
    const auto limit = GENERATE(values<Limit>({
        {"MaxNodes", [](fabric::Cluster& c) { c.partitions[0].max_nodes = 1; }},
        {"MinNodes", [](fabric::Cluster& c) { c.partitions[0].min_nodes = 4; }},
        {"MaxCPUsPerNode", [](fabric::Cluster& c) { c.partitions[0].max_cpus_per_node = 4; }},
        {"DefMemPerGPU", [](fabric::Cluster& c) { c.partitions[0].def_mem_per_gpu_mb = 200'000; }},
        {"nodes of unequal GPUs", [](fabric::Cluster& c) { c.nodes[3].gpus["h100"] = 4; }},
        {"two types in a node", [](fabric::Cluster& c) { c.nodes[3].gpus["a100"] = 1; }},
        {"one small node", [](fabric::Cluster& c) { c.nodes[3].cpus = 4; }},
        {"cores kept for the system", [](fabric::Cluster& c) { c.nodes[3].core_spec = 60; }},
    }));
    CAPTURE(limit.why);
    auto cluster = test::make_cluster({});
    limit.set(cluster);
    const auto site =
        policy::compile(*policy::parse_policy(enforce, "p"), cluster, {test::make_fabric({})});

    const auto result = review(request_of({"gpu:16", "", "", 16, {}, {}, {}}), site);

    CAPTURE(all_notes(result));
    CHECK_FALSE(result.changes.min_nodes);
    CHECK_FALSE(result.changes.exclusive);
    CHECK_FALSE(result.refusal);
    CHECK_FALSE(result.notes.empty());
}

TEST_CASE("words that only Slurm can weigh leave the count to it", "[review]") {
    struct Word {
        std::string why;
        void (*set)(JobRequest&);
    };
    const auto word = GENERATE(values<Word>({
        {"reservation", [](JobRequest& r) { r.reservation = "maint"; }},
        {"spread", [](JobRequest& r) { r.spread = true; }},
        {"counted features", [](JobRequest& r) { r.constraint = "[rack1*2&rack2*1]"; }},
        {"sockets", [](JobRequest& r) { r.sockets_per_node = 1; }},
        {"core specialization", [](JobRequest& r) { r.core_spec = 4; }},
        {"temporary disk", [](JobRequest& r) { r.tmp_disk_mb = 100; }},
        {"GPUs by socket", [](JobRequest& r) { r.gpus_per_socket = "gpu:4"; }},
    }));
    CAPTURE(word.why);
    const auto site = test::make_site(enforce);
    auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    word.set(request);

    const auto result = review(request, site);

    CHECK_FALSE(result.changes.min_nodes);
    CHECK_FALSE(result.changes.exclusive);
    CHECK_FALSE(result.refusal);
}

TEST_CASE("odd sums of tasks and CPUs are left to Slurm", "[review]") {
    const auto site = test::make_site(enforce);
    SECTION("-n and --ntasks-per-gpu at odds: more CPUs than its tasks need") {
        auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
        request.tasks_per_gpu = 1;
        request.min_cpus = 32;
        CHECK_FALSE(review(request, site).changes.min_nodes);
        request.min_cpus = 16;
        CHECK(review(request, site).changes.min_nodes == 2U);
    }
    SECTION("fewer CPUs by GPU than tasks") {
        CHECK_FALSE(review(request_of({"gpu:16", "", "", 32, {}, {}, {}, 1}), site).changes.min_nodes);
        CHECK(review(request_of({"gpu:16", "", "", 32, {}, {}, {}, 2}), site).changes.min_nodes == 2U);
    }
}

TEST_CASE("GPUs that do not fill whole nodes are advised, refused or ignored", "[review]") {
    const auto request = request_of({"gpu:12", "", "", 12, {}, {}, {}});
    SECTION("advise") {
        const auto result = review(request, test::make_site(enforce));
        CHECK(has_note(result, NoteKind::advice, "12 GPUs do not fill whole nodes of 8: ask for 16"));
        CHECK_FALSE(result.refusal);
    }
    SECTION("refuse, by name") {
        const auto result =
            review(request, test::make_site(enforce + "gang.partial = \"refuse\"\n"));
        REQUIRE(result.refusal);
        CHECK(result.refusal->rule == "gang");
        CHECK(policy::user_text(result, request, policy::Notes::never).starts_with("railhead: refused:"));
    }
    SECTION("a rule that only observes refuses nobody") {
        const auto result =
            review(request, test::make_site("gang.partial = \"refuse\"\n"));
        CHECK_FALSE(result.refusal);
    }
    SECTION("ignore") {
        const auto result =
            review(request, test::make_site(enforce + "gang.partial = \"ignore\"\n"));
        CHECK(result.notes.empty());
    }
}
