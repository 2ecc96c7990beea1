// What is said of a review, to the user and to the log.
#include <cstdint>
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

TEST_CASE("observe and advise change nothing and say what would change", "[review]") {
    const auto request = request_of({"gpu:16", "", "", 16, {}, {}, {}});
    const auto mode = GENERATE(as<std::string>{}, "observe", "advise");
    CAPTURE(mode);
    const auto result = review(request, test::make_site("mode = \"" + mode + "\"\n"));

    CHECK_FALSE(result.changes.any());
    CHECK(has_note(result, NoteKind::change, "16 GPUs would become 2 whole nodes"));
    const auto text = policy::user_text(result, request, policy::Notes::changes);
    CHECK(text.empty() == (mode == "observe"));
    CHECK_THAT(policy::log_line(result, 1000), ContainsSubstring("gang " + mode));
}

TEST_CASE("what would change is planned to its end, and advice of a rule that observes is not told",
          "[review]") {
    auto request = request_of({"", "", "gpu:1", 16, {}, {}, {}});
    SECTION("a count that is only planned is placed on paper") {
        const auto result = review(
            request, test::make_site("gang.mode = \"advise\"\nplacement.mode = \"enforce\"\n"));
        CHECK_FALSE(result.changes.any());
        CHECK(has_note(result, NoteKind::change, "2 nodes fit 1 leaf switch: would wait"));
    }
    SECTION("observe says nothing to the user, not even advice") {
        const auto result = review(request, test::make_site("notes = \"all\"\n"));
        CHECK(has_note(result, NoteKind::advice, "hides the other GPUs"));
        CHECK(policy::user_text(result, request, policy::Notes::all).empty());
    }
}

TEST_CASE("isolated GPUs are noted, since NCCL loses its peer-to-peer paths", "[review]") {
    const auto site = test::make_site(enforce);
    auto request = request_of({"", "", "gpu:1", 16, {}, {}, {}});
    CHECK(has_note(review(request, site), NoteKind::advice, "--gpus-per-task hides"));
    request = request_of({"", "gpu:8", "", 16, 8, {}, 2});
    CHECK_FALSE(has_note(review(request, site), NoteKind::advice, "hides"));
    request.gpus_per_task = "cpu=8";  // as -c reaches slurmctld from 24.11 on
    CHECK_FALSE(has_note(review(request, site), NoteKind::advice, "hides"));
    request.gpus_per_task = "";
    request.gpu_bind = "gres/gpu:single:1";
    CHECK(has_note(review(request, site), NoteKind::advice, "--gpu-bind hides"));
    request.gpu_bind = "gres/gpu:none";
    CHECK_FALSE(has_note(review(request, site), NoteKind::advice, "hides"));
}

TEST_CASE("CPUs that may all lie on one socket are told, where the GPUs lie on two", "[review]") {
    const auto site = test::make_site(enforce);
    struct Case {
        const char* why;
        const char* gpus;
        std::uint32_t tasks, cpus_per_task;
        void (*change)(job::JobRequest&);
        bool told;
    };
    const auto as_is = [](job::JobRequest&) {};
    const Case c = GENERATE_COPY(values<Case>({
        {"6 of 8 GPUs cannot be on one of two sockets", "gpu:6", 6, 4, as_is, true},
        {"5 neither", "gpu:5", 5, 2, as_is, true},
        {"4 can", "gpu:4", 4, 4, as_is, false},
        {"more CPUs than a socket has are on two", "gpu:6", 6, 6, as_is, false},
        {"a single task is spread by Slurm", "gpu:6", 1, 16, as_is, false},
        {"so are tasks of one CPU", "gpu:6", 6, 1, as_is, false},
        {"said: a socket's tasks", "gpu:6", 6, 4, [](auto& r) { r.tasks_per_socket = 3; }, false},
        {"said: a node's tasks", "gpu:6", 6, 4, [](auto& r) { r.tasks_per_node = 6; }, false},
        {"said: a GPU's CPUs", "gpu:6", 6, 4, [](auto& r) { r.cpus_per_gpu = 4; }, false},
        {"whole nodes have all CPUs", "gpu:6", 6, 4,
         [](auto& r) { r.sharing = job::Sharing::exclusive; }, false},
        {"several nodes are the gang rule's", "gpu:6", 12, 2,
         [](auto& r) { r.min_nodes = r.max_nodes = 2; }, false},
    }));
    CAPTURE(c.why);
    job::JobRequest request;
    request.gpus_per_node = c.gpus;
    request.tasks = c.tasks;
    request.cpus_per_task = c.cpus_per_task;
    c.change(request);
    CHECK(has_note(review(request, site), NoteKind::advice, "--ntasks-per-socket=3") == c.told);
    CHECK_FALSE(has_note(review(request, test::make_site("gang.sockets_note = false\n")),
                         NoteKind::advice, "--ntasks-per-socket"));
}

TEST_CASE("tasks a node without a node count is a trap of sbatch's, and is told", "[review]") {
    const auto result = review(request_of({"gpu:16", "", "", 8, 8, {}, {}}), test::make_site(enforce));
    CHECK(result.changes.min_nodes == 2U);
    CHECK(has_note(result, NoteKind::advice, "say -N2"));
}

TEST_CASE("notes reach the user as the policy says", "[review]") {
    const auto request = request_of({"", "", "gpu:1", 16, {}, {}, {}});
    const auto site = test::make_site(enforce);
    const auto result = review(request, site);
    const auto changes = policy::user_text(result, request, policy::Notes::changes);
    CHECK_THAT(changes, ContainsSubstring("railhead: 16 GPUs become 2 whole nodes of 8 GPUs, "
                                          "exclusive (all 128 CPUs are billed)"));
    CHECK_THAT(changes, ContainsSubstring("railhead: 2 nodes fit 1 leaf switch: waits up to 5 min for it"));
    CHECK(policy::user_text(result, request, policy::Notes::never).empty());
    auto component = request;
    component.component = true;
    CHECK_THAT(policy::user_text(result, component, policy::Notes::changes),
               ContainsSubstring("railhead: het component: "));
}
