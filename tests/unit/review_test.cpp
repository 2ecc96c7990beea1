// The review: what becomes of a request, as tables.  8 nodes of 8 H100 and 64 CPUs behind two
// leaves, unless a case says otherwise.
#include <chrono>

#include <fmt/format.h>

#include "policy/parse.hpp"
#include "policy/review.hpp"
#include "policy/rules.hpp"
#include "report/explain.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"

namespace {

using namespace railhead;
using job::JobRequest;
using policy::NoteKind;
using test::all_notes;
using test::Ask;
using test::enforce;
using test::has_note;
using test::request_of;

policy::Review reviewed(const JobRequest& request, const policy::Site& site) {
    return policy::review(request, site);
}

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

    const auto review = reviewed(request_of(c.ask), site);

    CAPTURE(all_notes(review));
    CHECK(report::changes_text(review.changes) == c.expected);
    CHECK_FALSE(review.refusal);
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

    const auto review = reviewed(request_of(c.ask), site);

    CAPTURE(all_notes(review));
    CHECK(report::changes_text(review.changes) == c.expected);
    CHECK_FALSE(review.refusal);
}

TEST_CASE("a node count that the user gave is never changed", "[review]") {
    const auto site = test::make_site(enforce);
    SECTION("GPUs that fill the nodes make them the job's alone") {
        const auto review = reviewed(request_of({"", "gpu:8", "", 16, 8, {}, 2}), site);
        CHECK(report::changes_text(review.changes) == "--exclusive --switches=1@5:00");
    }
    SECTION("GPUs that do not leave the nodes shared") {
        const auto review = reviewed(request_of({"", "gpu:4", "", {}, {}, {}, 4}), site);
        CHECK(report::changes_text(review.changes) == "--switches=1@5:00");
    }
    SECTION("a range is kept and planned for its largest") {
        JobRequest request;
        request.gpus_per_node = "gpu:8";
        request.min_nodes = 2;
        request.max_nodes = 6;
        const auto review = reviewed(request, site);
        CHECK(report::changes_text(review.changes).empty());
        CHECK(has_note(review, NoteKind::info, "2-6 is kept"));
        CHECK(review.seen.least_leaves == 2);
        request.tasks_per_node = 8;
        CHECK(report::changes_text(reviewed(request, site).changes) == "--exclusive");
    }
    SECTION("named nodes are neither counted nor placed") {
        JobRequest request;
        request.gpus_per_job = "gpu:16";
        request.node_list = "n[1,5]";
        CHECK_FALSE(reviewed(request, site).changes.any());
        request.min_nodes = 2;  // as sbatch fills it in
        CHECK(report::changes_text(reviewed(request, site).changes) == "--exclusive -c64");
    }
}

TEST_CASE("sharing is written only where it is safe", "[review]") {
    const JobRequest gang = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    SECTION("accounting limits would count every CPU") {
        auto cluster = test::make_cluster({});
        cluster.accounting_enforce = "associations,limits";
        const auto site = policy::compile(*policy::parse_policy(enforce, "p"), cluster,
                                          test::make_fabric({}));
        const auto review = reviewed(gang, site);
        CHECK(report::changes_text(review.changes) == "-N2 --switches=1@5:00");
        CHECK(has_note(review, NoteKind::change, "not exclusive: accounting limits"));
    }
    SECTION("unless the policy insists") {
        auto cluster = test::make_cluster({});
        cluster.accounting_enforce = "limits";
        const auto site =
            policy::compile(*policy::parse_policy(enforce + "gang.exclusive = true\n", "p"), cluster,
                            test::make_fabric({}));
        CHECK(reviewed(gang, site).changes.exclusive);
    }
    SECTION("a policy may turn it off") {
        const auto site = test::make_site(enforce + "gang.exclusive = false\n");
        CHECK(report::changes_text(reviewed(gang, site).changes) == "-N2 --switches=1@5:00");
    }
    SECTION("memory by CPU would outgrow the node") {
        const auto site = test::make_site(enforce);
        const auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}, {}, {}, 20'000});
        CHECK(report::changes_text(reviewed(request, site).changes) == "-N2 --switches=1@5:00");
    }
    SECTION("the user said how to share") {
        const auto site = test::make_site(enforce);
        auto request = gang;
        request.sharing = job::Sharing::shared;
        CHECK(report::changes_text(reviewed(request, site).changes) == "-N2 --switches=1@5:00");
    }
    SECTION("the partition forces sharing") {
        auto cluster = test::make_cluster({});
        cluster.partitions[0].over_subscribe = "FORCE:1";
        const auto site = policy::compile(*policy::parse_policy(enforce, "p"), cluster,
                                          test::make_fabric({}));
        CHECK_FALSE(reviewed(gang, site).changes.exclusive);
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
        policy::compile(*policy::parse_policy(enforce, "p"), cluster, test::make_fabric({}));

    const auto review = reviewed(request_of({"gpu:16", "", "", 16, {}, {}, {}}), site);

    CAPTURE(all_notes(review));
    CHECK_FALSE(review.changes.min_nodes);
    CHECK_FALSE(review.changes.exclusive);
    CHECK_FALSE(review.refusal);
    CHECK_FALSE(review.notes.empty());
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

    const auto review = reviewed(request, site);

    CHECK_FALSE(review.changes.min_nodes);
    CHECK_FALSE(review.changes.exclusive);
    CHECK_FALSE(review.refusal);
}

TEST_CASE("odd sums of tasks and CPUs are left to Slurm", "[review]") {
    const auto site = test::make_site(enforce);
    SECTION("-n and --ntasks-per-gpu at odds: more CPUs than its tasks need") {
        auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
        request.tasks_per_gpu = 1;
        request.min_cpus = 32;
        CHECK_FALSE(reviewed(request, site).changes.min_nodes);
        request.min_cpus = 16;
        CHECK(reviewed(request, site).changes.min_nodes == 2U);
    }
    SECTION("fewer CPUs by GPU than tasks") {
        CHECK_FALSE(reviewed(request_of({"gpu:16", "", "", 32, {}, {}, {}, 1}), site).changes.min_nodes);
        CHECK(reviewed(request_of({"gpu:16", "", "", 32, {}, {}, {}, 2}), site).changes.min_nodes == 2U);
    }
}

TEST_CASE("GPUs that do not fill whole nodes are advised, refused or ignored", "[review]") {
    const auto request = request_of({"gpu:12", "", "", 12, {}, {}, {}});
    SECTION("advise") {
        const auto review = reviewed(request, test::make_site(enforce));
        CHECK(has_note(review, NoteKind::advice, "12 GPUs do not fill whole nodes of 8: ask for 16"));
        CHECK_FALSE(review.refusal);
    }
    SECTION("refuse, by name") {
        const auto review =
            reviewed(request, test::make_site(enforce + "gang.partial = \"refuse\"\n"));
        REQUIRE(review.refusal);
        CHECK(review.refusal->rule == "gang");
        CHECK(policy::user_text(review, request, policy::Notes::never).starts_with("railhead: refused:"));
    }
    SECTION("a rule that only observes refuses nobody") {
        const auto review =
            reviewed(request, test::make_site("gang.partial = \"refuse\"\n"));
        CHECK_FALSE(review.refusal);
    }
    SECTION("ignore") {
        const auto review =
            reviewed(request, test::make_site(enforce + "gang.partial = \"ignore\"\n"));
        CHECK(review.notes.empty());
    }
}

TEST_CASE("observe and advise change nothing and say what would change", "[review]") {
    const auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    const auto mode = GENERATE(as<std::string>{}, "observe", "advise");
    CAPTURE(mode);
    const auto review = reviewed(request, test::make_site("mode = \"" + mode + "\"\n"));

    CHECK_FALSE(review.changes.any());
    CHECK(has_note(review, NoteKind::change, "16 GPUs would become 2 whole nodes"));
    const auto text = policy::user_text(review, request, policy::Notes::changes);
    CHECK(text.empty() == (mode == "observe"));
    CHECK_THAT(policy::log_line(review, 1000), ContainsSubstring("gang " + mode));
}

TEST_CASE("what would change is planned to its end, and advice of a rule that observes is not told",
          "[review]") {
    auto request = request_of({"", "", "gpu:1", 16, {}, {}, {}});
    SECTION("a count that is only planned is placed on paper") {
        const auto review = reviewed(
            request, test::make_site("gang.mode = \"advise\"\nplacement.mode = \"enforce\"\n"));
        CHECK_FALSE(review.changes.any());
        CHECK(has_note(review, NoteKind::change, "2 nodes fit 1 leaf switch: would wait"));
    }
    SECTION("observe says nothing to the user, not even advice") {
        const auto review = reviewed(request, test::make_site("notes = \"all\"\n"));
        CHECK(has_note(review, NoteKind::advice, "hides the other GPUs"));
        CHECK(policy::user_text(review, request, policy::Notes::all).empty());
    }
}

TEST_CASE("the user's own --switches is kept unless the policy overrides", "[review]") {
    auto request = request_of({"", "gpu:8", "", 16, 8, {}, 2});
    request.switches = 2;
    request.switch_wait_s = 60;
    SECTION("kept") {
        const auto review = reviewed(request, test::make_site(enforce));
        CHECK_FALSE(review.changes.switches);
        CHECK(has_note(review, NoteKind::info, "--switches=2 is kept"));
    }
    SECTION("override") {
        const auto review =
            reviewed(request, test::make_site(enforce + "placement.override = true\n"));
        CHECK(review.changes.switches == 1U);
        CHECK(review.changes.switch_wait_s == 300U);
    }
}

TEST_CASE("the note tells the wait in force, which Slurm caps", "[review]") {
    auto cluster = test::make_cluster({});
    cluster.scheduler_parameters = "bf_interval=5,max_switch_wait=120";
    const auto site =
        policy::compile(*policy::parse_policy(enforce, "p"), cluster, test::make_fabric({}));
    const auto review = reviewed(request_of({"gpu:16", "", "", 16, {}, {}, {}}), site);
    CHECK(has_note(review, NoteKind::change, "waits up to 2 min"));
    CHECK(review.changes.switch_wait_s == 300U);
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
        policy::compile(*policy::parse_policy(enforce, "p"), cluster, test::make_fabric(shape));
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

    const auto review = reviewed(request, site);

    CHECK(review.changes.switches.value_or(0) == want.leaves);
}

TEST_CASE("only nodes with the GPUs asked for count", "[review]") {
    SECTION("two types of equal count in one partition") {
        auto cluster = test::make_cluster({});
        for (const auto i : {2, 3, 6, 7}) {
            cluster.nodes[static_cast<std::size_t>(i)].gpus = {{"a100", 8}};
        }
        const auto site =
            policy::compile(*policy::parse_policy(enforce, "p"), cluster, test::make_fabric({}));
        const auto four = reviewed(request_of({"gpu:h100:32", "", "", 32, {}, {}, {}}), site);
        CHECK(four.changes.min_nodes == 4U);
        CHECK_FALSE(four.changes.switches);  // two of each leaf: no placement is narrower
        const auto two = reviewed(request_of({"gpu:h100:16", "", "", 16, {}, {}, {}}), site);
        CHECK(two.changes.switches == 1U);
        const auto five = reviewed(request_of({"gpu:h100:40", "", "", 40, {}, {}, {}}), site);
        CHECK_FALSE(five.changes.any());
    }
    SECTION("nodes of unequal count") {
        auto cluster = test::make_cluster({});
        for (const auto i : {2, 3, 6, 7}) {
            cluster.nodes[static_cast<std::size_t>(i)].gpus = {{"h100", 4}};
        }
        const auto site =
            policy::compile(*policy::parse_policy(enforce, "p"), cluster, test::make_fabric({}));
        CHECK_FALSE(reviewed(request_of({"", "gpu:8", "", {}, {}, {}, 4}), site).changes.switches);
        CHECK(reviewed(request_of({"", "gpu:4", "", {}, {}, {}, 4}), site).changes.switches == 1U);
    }
    SECTION("a type that is not there is told") {
        const auto review = reviewed(request_of({"gpu:a100:16", "", "", 16, {}, {}, {}}), test::make_site(enforce));
        CHECK_FALSE(review.changes.any());
        CHECK(has_note(review, NoteKind::advice, "no node of partition \"main\" has a100 GPUs"));
    }
    SECTION("several types are left to Slurm") {
        const auto review = reviewed(request_of({"gpu:h100:8,gpu:a100:8", "", "", 16, {}, {}, {}}), test::make_site(enforce));
        CHECK_FALSE(review.changes.min_nodes);
    }
}

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
    static_cast<void>(reviewed(request, site));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds{500});
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
            policy::compile(*policy::parse_policy(enforce, "p"), cluster, test::make_fabric({}));
        auto request = request_of({"gpu:24", "", "", 24, {}, {}, {}});
        request.partition = "main,second";
        const auto review = reviewed(request, site);
        CHECK(review.changes.min_nodes == 3U);
        CHECK(review.seen.least_leaves == 2);
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
            policy::compile(*policy::parse_policy(enforce, "p"), cluster, test::make_fabric({}));
        auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
        request.partition = "main,second";
        CHECK_FALSE(reviewed(request, site).changes.any());
    }
}

TEST_CASE("a partition that nobody knows passes", "[review]") {
    auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    request.partition = "nowhere";
    CHECK_FALSE(reviewed(request, test::make_site(enforce)).changes.any());
}

TEST_CASE("the off switch turns every rule off, unless the site forbids it", "[review]") {
    auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    request.off = true;
    SECTION("allowed") {
        const auto review = reviewed(request, test::make_site(enforce));
        CHECK(review.off);
        CHECK_FALSE(review.changes.any());
        CHECK(review.notes.empty());
    }
    SECTION("forbidden") {
        const auto review = reviewed(request, test::make_site(enforce + "user_off = false\n"));
        CHECK_FALSE(review.off);
        CHECK(review.changes.min_nodes == 2U);
        CHECK(has_note(review, NoteKind::advice, "does not let jobs turn Railhead off"));
    }
    SECTION("the site itself is off") {
        request.off = false;
        CHECK_FALSE(reviewed(request, test::make_site(enforce + "enabled = false\n")).changes.any());
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
        CHECK(reviewed(request, site).changes.switch_wait_s == 60U);
    }
    SECTION("a rule that fits wins") {
        request = request_of({"gpu:32", "", "", 32, {}, {}, {}});
        request.account = "llm-70b";
        CHECK(reviewed(request, site).changes.switch_wait_s == 7200U);
    }
    SECTION("a rule that fits only in part does not") {
        request.account = "llm-70b";
        CHECK(reviewed(request, site).changes.switch_wait_s == 60U);
    }
    SECTION("a rule may turn Railhead off") {
        request.account = "guest";
        CHECK_FALSE(reviewed(request, site).changes.any());
    }
}

TEST_CASE("isolated GPUs are noted, since NCCL loses its peer-to-peer paths", "[review]") {
    const auto site = test::make_site(enforce);
    auto request = request_of({"", "", "gpu:1", 16, {}, {}, {}});
    CHECK(has_note(reviewed(request, site), NoteKind::advice, "--gpus-per-task hides"));
    request = request_of({"", "gpu:8", "", 16, 8, {}, 2});
    CHECK_FALSE(has_note(reviewed(request, site), NoteKind::advice, "hides"));
    request.gpus_per_task = "cpu=8";  // as -c reaches slurmctld from 24.11 on
    CHECK_FALSE(has_note(reviewed(request, site), NoteKind::advice, "hides"));
    request.gpus_per_task = "";
    request.gpu_bind = "gres/gpu:single:1";
    CHECK(has_note(reviewed(request, site), NoteKind::advice, "--gpu-bind hides"));
    request.gpu_bind = "gres/gpu:none";
    CHECK_FALSE(has_note(reviewed(request, site), NoteKind::advice, "hides"));
}

TEST_CASE("tasks a node without a node count is a trap of sbatch's, and is told", "[review]") {
    const auto review = reviewed(request_of({"gpu:16", "", "", 8, 8, {}, {}}), test::make_site(enforce));
    CHECK(review.changes.min_nodes == 2U);
    CHECK(has_note(review, NoteKind::advice, "say -N2"));
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
    CHECK_FALSE(reviewed(request, site).changes.segment);
    request.model_parallel_group = 9;
    CHECK(reviewed(request, site).changes.segment == std::uint16_t{18});
    CHECK_FALSE(reviewed(request, site).changes.switches);
    request.node_list = "n[1-36]";
    CHECK_FALSE(reviewed(request, site).changes.segment);
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

TEST_CASE("notes reach the user as the policy says", "[review]") {
    const auto request = request_of({"", "", "gpu:1", 16, {}, {}, {}});
    const auto site = test::make_site(enforce);
    const auto review = reviewed(request, site);
    const auto changes = policy::user_text(review, request, policy::Notes::changes);
    CHECK_THAT(changes, ContainsSubstring("railhead: 16 GPUs become 2 whole nodes of 8 GPUs, "
                                          "exclusive (all 128 CPUs are billed)"));
    CHECK_THAT(changes, ContainsSubstring("railhead: 2 nodes fit 1 leaf switch: waits up to 5 min for it"));
    CHECK(policy::user_text(review, request, policy::Notes::never).empty());
    auto component = request;
    component.component = true;
    CHECK_THAT(policy::user_text(review, component, policy::Notes::changes),
               ContainsSubstring("railhead: het component: "));
}
