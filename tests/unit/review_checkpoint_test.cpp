// The checkpoint rule: who is told what, and that nobody is signalled who did not ask for it.
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "policy/review.hpp"
#include "report/explain.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"

namespace {

using namespace railhead;
using policy::NoteKind;
using test::all_notes;
using test::has_note;

/// The checkpoint rule alone enforces; a gang of 4 nodes fails every 38 d.
const std::string rule = "notes = \"all\"\n[checkpoint]\nmode = \"enforce\"\n";

constexpr const char* by_srun = "#!/bin/bash\nsrun python train.py\n";

/// A batch job of four nodes that declares nothing.
struct Submitted {
    Submitted() {
        request.batch = true;
        request.script = by_srun;
        request.gpus_per_node = "gres/gpu:8";
        request.min_nodes = request.max_nodes = 4;
        request.time_limit_min = 24 * 60;
    }
    policy::Review under(const std::string& toml) const {
        return policy::review(request, test::make_site(toml));
    }
    void set(std::vector<const char*> variables) {
        environment = std::move(variables);
        request.environment = environment;
    }

    job::JobRequest request;
    std::vector<const char*> environment;
};

std::string value_of(const policy::Review& review, const std::string& name) {
    for (const auto& variable : review.changes.environment) {
        if (name == variable.name) {
            return variable.value;
        }
    }
    return "";
}

/// "B:USR1@120 requeue append", as far as the review writes them.
std::string help_of(const policy::Review& review) {
    std::string text;
    if (const auto& warning = review.changes.warning) {
        text += fmt::format("{}{}@{} ", warning->batch ? "B:" : "", warning->signal, warning->seconds);
    }
    text += review.changes.requeue ? "requeue " : "";
    text += review.changes.append ? "append " : "";
    return text.empty() ? text : text.substr(0, text.size() - 1);
}

}  // namespace

TEST_CASE("a gang is told the interval that pays, and of what it is made", "[review][checkpoint]") {
    const Submitted job;

    const auto review = job.under(rule);

    // 1000 node-days / 6.5 / 4 nodes; the optimum of Daly's model for 30 s.
    CHECK(value_of(review, "RAILHEAD_CKPT_MTBF") == "3323077");
    CHECK(value_of(review, "RAILHEAD_CKPT_INTERVAL") == "14100");
    CHECK(value_of(review, "RAILHEAD_CKPT_LEAD") == "120");
    CHECK(value_of(review, "RAILHEAD_CKPT_RATE") == "6.5");
    CHECK(value_of(review, "RAILHEAD_CKPT_COST") == "30");
    CHECK(value_of(review, "RAILHEAD_CKPT_STEP") == "30");
    CHECK(value_of(review, "RAILHEAD_CKPT_FROM") == "default");
    CHECK(help_of(review).empty());
    CHECK(has_note(review, NoteKind::quiet,
                   "is told to checkpoint every 3 h 55 min: 4 nodes fail every 38 d 11 h, and a "
                   "checkpoint takes 30 s"));
    REQUIRE(review.seen.checkpoint);
    CHECK(review.seen.checkpoint->nodes == 4);
    CHECK(review.seen.checkpoint->declared.empty());
}

TEST_CASE("one node fails, and a checkpoint may take less than a second", "[review][checkpoint]") {
    Submitted job;
    job.request.min_nodes = job.request.max_nodes = 1;
    job.request.checkpoint.interval = "5m";
    job.request.checkpoint.cost = "0.25";

    CHECK(has_note(job.under(rule), NoteKind::quiet,
                   "1 node fails every 153 d 20 h, and a checkpoint takes 0.25 s, so "));
}

TEST_CASE("the site's figures make the interval the site's", "[review][checkpoint]") {
    const Submitted job;

    const auto review = job.under(rule + "failures = \"rsc-1-all\"\ncost = \"5m\"\nstep = 10\n");

    CHECK(value_of(review, "RAILHEAD_CKPT_FROM") == "policy");
    CHECK(value_of(review, "RAILHEAD_CKPT_COST") == "300");
    CHECK(value_of(review, "RAILHEAD_CKPT_LEAD") == "370");
    CHECK(value_of(review, "RAILHEAD_CKPT_RATE") == "23.7");
}

TEST_CASE("what the user says of cost and step counts, and stays as it was written",
          "[review][checkpoint]") {
    Submitted job;
    job.request.checkpoint.cost = "2m";
    job.request.checkpoint.step = "12.5";

    SECTION("said") {
        const auto review = job.under(rule + "cost = \"5m\"\n");
        CHECK(value_of(review, "RAILHEAD_CKPT_LEAD") == "193");
        CHECK(value_of(review, "RAILHEAD_CKPT_COST").empty());
        CHECK(value_of(review, "RAILHEAD_CKPT_STEP").empty());
    }
    SECTION("measured by the jobs before") {
        job.request.checkpoint.history = true;
        CHECK(value_of(job.under(rule), "RAILHEAD_CKPT_FROM") == "history");
    }
    SECTION("not to be read") {
        job.request.checkpoint.cost = GENERATE("soon", "-1", "1e-9", "1e99");
        CAPTURE(job.request.checkpoint.cost);
        const auto review = job.under(rule);
        CHECK(has_note(review, NoteKind::advice,
                       fmt::format("RAILHEAD_CKPT_COST={} is no time", job.request.checkpoint.cost)));
        CHECK(value_of(review, "RAILHEAD_CKPT_LEAD") == "103");
    }
}

TEST_CASE("who is told nothing", "[review][checkpoint]") {
    Submitted job;
    std::string toml = rule;
    SECTION("salloc and srun: there is no batch environment") {
        job.request.batch = false;
        job.request.checkpoint.signal = "USR1";
    }
    SECTION("one node") { job.request.min_nodes = job.request.max_nodes = 1; }
    SECTION("fewer nodes than the policy names") { toml += "min_nodes = 5\n"; }
    SECTION("a CPU job") { job.request.gpus_per_node = ""; }
    SECTION("one that turned Railhead off") {
        job.request.off = true;
        job.request.checkpoint.signal = "USR1";
    }
    SECTION("one on a partition where Railhead is off") {
        toml = "[checkpoint]\nmode = \"enforce\"\n[partition.main]\nenabled = false\n";
    }

    const auto review = job.under(toml);

    CHECK_FALSE(review.changes.any());
    CHECK_FALSE(review.seen.checkpoint);
}

TEST_CASE("a job that asks for it by name is told at any size, with GPUs or without",
          "[review][checkpoint]") {
    Submitted job;
    job.request.checkpoint.interval = "auto";
    SECTION("one node") { job.request.min_nodes = job.request.max_nodes = 1; }
    SECTION("CPUs alone") { job.request.gpus_per_node = ""; }

    CHECK_FALSE(value_of(job.under(rule), "RAILHEAD_CKPT_INTERVAL").empty());
}

TEST_CASE("the nodes are those that the job asks for, or that its GPUs need", "[review][checkpoint]") {
    Submitted job;
    job.request.min_nodes = job.request.max_nodes = std::nullopt;
    job.request.gpus_per_node = "";
    struct Case {
        std::string why;
        const char* gpus;
        std::optional<std::uint32_t> least, most;
        std::uint32_t nodes;
    };
    const auto c = GENERATE(values<Case>({
        {"an open count, from the GPUs", "gres/gpu:16", {}, {}, 2},
        {"GPUs that do not fill nodes", "gres/gpu:20", {}, {}, 3},
        {"a range: as many as it may become", "gres/gpu:16", 2, 4, 4},
    }));
    CAPTURE(c.why);
    job.request.gpus_per_job = c.gpus;
    job.request.min_nodes = c.least;
    job.request.max_nodes = c.most;

    const auto review = job.under(rule);

    REQUIRE(review.seen.checkpoint);
    CHECK(review.seen.checkpoint->nodes == c.nodes);
}

TEST_CASE("under the strictest policy a job that declares nothing is told, and not touched",
          "[review][checkpoint]") {
    const auto toml = rule +
                      "signal = \"USR1\"\nsignal_to = \"tasks\"\nclock = true\n"
                      "declares = [\"RESUME\", \"LLM_LOAD\"]\nlong_interval = \"refuse\"\n"
                      "most_interval = 1\nundeclared = \"advise\"\ndeclare_above = 1\n";
    Submitted job;
    SECTION("with nothing set") {}
    SECTION("with variables that nobody lists") { job.set({"RESUMED=1", nullptr, "RESUME_X=1"}); }
    SECTION("with a listed one that is empty, and one that says no") { job.set({"RESUME=", "LLM_LOAD=0"}); }
    SECTION("with --ckpt-dir or a cost alone, which only watch and reckon") {
        job.request.checkpoint.cost = "60";
    }
    SECTION("with words that cannot be read") {
        job.request.checkpoint.signal = "KILL";
        job.request.checkpoint.interval = "often";
    }
    SECTION("with --requeue") { job.request.requeue = true; }
    SECTION("as an array") { job.request.array = true; }

    const auto review = job.under(toml);

    CHECK(help_of(review).empty());
    CHECK_FALSE(review.refusal);
    CHECK_FALSE(review.changes.time_limit_min);
    CHECK_FALSE(value_of(review, "RAILHEAD_CKPT_INTERVAL").empty());
    CHECK(has_note(review, NoteKind::advice, "does not say that it can checkpoint and resume"));
    auto rest = review.changes;
    rest.environment.clear();
    CHECK_FALSE(rest.any());
}

TEST_CASE("a job that declares gets what it needs, and keeps what it said", "[review][checkpoint]") {
    struct Case {
        std::string why, policy;
        job::CheckpointWords words;
        const char* variable;
        bool own_signal;
        std::optional<bool> requeue;
        bool open_mode;
        std::string expected;
    };
    const job::CheckpointWords none;
    job::CheckpointWords usr1;
    usr1.signal = "USR1";
    job::CheckpointWords automatic;
    automatic.interval = "auto";
    job::CheckpointWords silent = automatic;
    silent.signal = "none";
    const std::string usr2 = "signal = \"USR2\"\n";
    const auto c = GENERATE_COPY(values<Case>({
        {"--ckpt-interval names no signal, and USR1 kills who does not catch it", "", automatic, "",
         false, {}, false, "requeue append"},
        {"the site's signal", usr2, automatic, "", false, {}, false, "12@120 requeue append"},
        {"a listed variable", usr2 + "declares = \"RESUME\"\n", none, "RESUME=1", false, {}, false,
         "12@120 requeue append"},
        {"--ckpt-signal: the clock on the nodes sends it, and Slurm does not", "", usr1, "", false, {},
         false, "requeue append"},
        {"--ckpt-signal=none: nobody sends any, also where the site would", usr2, silent, "", false, {},
         false, "requeue append"},
        {"an own --signal beside it is kept", usr2, silent, "", true, {}, false, "requeue append"},
        {"nor the site's beside it", usr2, usr1, "", false, {}, false, "requeue append"},
        {"the site's clock", usr2 + "clock = true\n", automatic, "", false, {}, false,
         "requeue append"},
        {"a clock that has nothing to send", "clock = true\n", automatic, "", false, {}, false,
         "requeue append"},
        {"an own --signal is kept", usr2, none, "", true, {}, false, "requeue append"},
        {"also beside --ckpt-interval", usr2, automatic, "", true, {}, false, "requeue append"},
        {"and beside --ckpt-signal", "", usr1, "", true, {}, false, "requeue append"},
        {"an own --requeue and --open-mode", usr2, automatic, "", false, true, true, "12@120"},
        {"--no-requeue: nothing follows that could truncate", usr2, automatic, "", false, false, false,
         "12@120"},
        {"an own --open-mode alone", usr2, automatic, "", false, {}, true, "12@120 requeue"},
        {"the site wants none of it", usr2 + "requeue = false\nappend = false\n", automatic, "", false,
         {}, false, "12@120"},
        {"the lead is the cost, a step and a minute", usr2 + "cost = \"20m\"\nstep = \"1m\"\n",
         automatic, "", false, {}, false, "12@1320 requeue append"},
        {"and no more than Slurm's field holds", usr2 + "cost = \"20h\"\n", automatic, "", false, {},
         false, "12@65535 requeue append"},
    }));
    CAPTURE(c.why);
    Submitted job;
    job.request.checkpoint = c.words;
    job.set({"HOME=/home/u", c.variable});
    job.request.signal = c.own_signal;
    job.request.requeue = c.requeue;
    job.request.open_mode = c.open_mode;

    const auto review = job.under(rule + c.policy);

    CHECK(help_of(review) == c.expected);
    REQUIRE(review.seen.checkpoint);
    CHECK_FALSE(review.seen.checkpoint->declared.empty());
}

TEST_CASE("whether the clock signals a job is known at submission", "[review][checkpoint]") {
    const std::string clock = "signal = \"USR2\"\nclock = true\n";
    const std::string listed = "declares = \"RESUME\"\n";
    struct Case {
        std::string why, policy, interval, wish;
        const char* variable;
        bool own_signal, clock;
    };
    const auto c = GENERATE_COPY(values<Case>({
        {"--ckpt-signal, whatever the site says", "", "", "USR1", "", false, true},
        {"to whomever", "", "", "USR1@rank0", "", false, true},
        {"beside an own --signal too", "", "", "USR1", "", true, true},
        {"--ckpt-signal that cannot be read", clock, "", "KILL", "", false, false},
        {"--ckpt-interval, and the site has no clock", "signal = \"USR2\"\n", "auto", "", "", false,
         false},
        {"and the site has one", clock, "auto", "", "", false, true},
        {"and the job wants none of it", clock, "auto", "none", "", false, false},
        {"nor does one that is listed", clock + listed, "", "None", "RESUME=1", false, false},
        {"and the site's has nothing to send", "clock = true\n", "auto", "", "", false, false},
        {"a listed variable", clock + listed, "", "", "RESUME=1", false, true},
        {"also beside an own --signal", clock + listed, "", "", "RESUME=1", true, true},
        {"an own --signal alone, which nodes do not see", clock, "", "", "", true, false},
        {"nothing", clock, "", "", "", false, false},
        {"nothing, but that it wants no signal", clock, "", "none", "", false, false},
    }));
    CAPTURE(c.why);
    Submitted job;
    job.request.checkpoint.interval = c.interval;
    job.request.checkpoint.signal = c.wish;
    job.request.signal = c.own_signal;
    job.set({"HOME=/home/u", c.variable});

    const auto review = job.under(rule + c.policy);

    REQUIRE(review.seen.checkpoint);
    CHECK(review.seen.checkpoint->clock == c.clock);
    CHECK((c.clock && review.changes.warning) == false);
    CHECK(has_note(review, NoteKind::info, "no --signal: the clock on the nodes sends USR") ==
          (c.clock && !c.own_signal));
    CHECK(has_note(review, NoteKind::advice, "your --signal is kept beside the clock") ==
          (c.clock && c.own_signal));
}

TEST_CASE("a job too short for a last checkpoint is told that the clock calls for none",
          "[review][checkpoint]") {
    Submitted job;
    job.request.checkpoint.signal = "USR1";
    job.request.time_limit_min = GENERATE(2U, 3U);

    const auto review = job.under(rule);

    CHECK(has_note(review, NoteKind::advice,
                   "no USR1 before the end: the last checkpoint needs 2 min, and the time limit is 2 "
                   "min") == (job.request.time_limit_min == 2U));
}

TEST_CASE("B: or not follows where the program is that saves", "[review][checkpoint]") {
    constexpr const char* trap = "#!/bin/bash\ntrap save USR1\npython t.py &\nwait\n";
    constexpr const char* plain = "#!/bin/bash\npython t.py\n";
    constexpr const char* launcher = "#!/bin/bash\nsrun torchrun t.py\n";
    struct Case {
        std::string why, policy;
        const char* script;
        std::string signal, reason;
    };
    const auto c = GENERATE(values<Case>({
        {"srun starts it", "", by_srun, "10@120", ""},
        {"the script has a trap", "", trap, "B:10@120", ""},
        {"neither", "", plain, "", "neither starts its program by srun or exec"},
        {"a launcher that would die", "", launcher, "", "torchrun in the script does not"},
        {"the site says batch, and it fits", "signal_to = \"batch\"\n", trap, "B:10@120", ""},
        {"the site says batch, where the shell would die", "signal_to = \"batch\"\n", plain, "",
         "neither starts"},
        {"the site says batch, where srun waits", "signal_to = \"batch\"\n", by_srun, "",
         "the script has no use for USR1"},
        {"the site says tasks, where there are none", "signal_to = \"tasks\"\n", trap, "",
         "neither starts"},
        {"the site says tasks, which a launcher would be", "signal_to = \"tasks\"\n", launcher, "",
         "with --ckpt-signal the nodes' clock signals it"},
        {"the site says rank 0", "signal_to = \"rank0\"\n", by_srun, "",
         "Slurm cannot signal one rank alone"},
    }));
    CAPTURE(c.why);
    Submitted job;
    job.request.script = c.script;
    job.request.checkpoint.interval = "auto";

    const auto review = job.under(rule + "signal = \"USR1\"\n" + c.policy);

    CHECK(help_of(review) == c.signal + (c.signal.empty() ? "" : " ") + "requeue append");
    CHECK(has_note(review, NoteKind::advice, "no --signal=USR1") == !c.reason.empty());
    CHECK_THAT(all_notes(review), ContainsSubstring(c.reason));
}

TEST_CASE("the components of a heterogeneous job are requeued together, and Slurm signals none",
          "[review][checkpoint]") {
    Submitted job;
    job.request.heterogeneous = true;
    bool clock = false;
    SECTION("by the site's signal") {
        job.request.checkpoint.interval = "auto";
    }
    SECTION("by --ckpt-signal: each step of each has its clock") {
        job.request.checkpoint.signal = "USR1";
        clock = true;
    }
    const auto toml = rule + "signal = \"USR1\"\n";

    const auto first = job.under(toml);
    CHECK(help_of(first) == "requeue append");
    CHECK(first.seen.checkpoint->clock == clock);
    CHECK(has_note(first, NoteKind::advice, "only its first component has a script") == !clock);
    CHECK_FALSE(value_of(first, "RAILHEAD_CKPT_INTERVAL").empty());

    job.request.component = true;
    job.request.script = "";
    const auto other = job.under(toml);
    CHECK(help_of(other) == "requeue append");
    CHECK(other.changes.environment.empty());
    const auto told = policy::user_text(other, job.request, policy::Notes::all);
    CHECK(told.find("checkpoint and resume") == std::string::npos);
}

TEST_CASE("a heterogeneous job declares to be changed by name alone", "[review][checkpoint]") {
    Submitted job;
    job.request.heterogeneous = true;
    job.request.signal = true;

    const auto review = job.under(rule + "undeclared = \"refuse\"\ndeclare_above = 1\n");

    CHECK_FALSE(review.refusal);
    CHECK(help_of(review).empty());
}

TEST_CASE("tasks are never signalled where their data loaders would be too", "[review][checkpoint]") {
    struct Case {
        std::string why, proctrack;
        bool children;
        std::string tasks, batch;
    };
    const auto c = GENERATE(values<Case>({
        {"the default is cgroup", "", false, "10@120", "B:10@120"},
        {"cgroup", "proctrack/cgroup", false, "10@120", "B:10@120"},
        {"linuxproc signals every descendant", "proctrack/linuxproc", false, "", "B:10@120"},
        {"pgid the whole group", "pgid", false, "", "B:10@120"},
        {"cgroup told to", "proctrack/cgroup", true, "", "B:10@120"},
    }));
    CAPTURE(c.why);
    auto site = test::make_site(rule + "requeue = false\nappend = false\nsignal = \"USR1\"\n");
    site.cluster.proctrack = c.proctrack;
    site.cluster.signals_children = c.children;
    Submitted job;
    job.request.checkpoint.interval = "auto";

    CHECK(help_of(policy::review(job.request, site)) == c.tasks);
    job.request.script = "#!/bin/bash\nexec python t.py\n";
    CHECK(help_of(policy::review(job.request, site)) == c.batch);
}

TEST_CASE("a signal never comes before the job has begun", "[review][checkpoint]") {
    struct Case {
        std::string why;
        std::optional<std::uint32_t> limit_min, least_min;
        std::optional<std::uint32_t> default_min, max_min;
        bool signalled;
    };
    const auto c = GENERATE(values<Case>({
        {"long enough", 60, {}, {}, {}, true},
        {"a minute more than lead and Slurm's minute", 4, {}, {}, {}, true},
        {"just lead and Slurm's minute", 3, {}, {}, {}, false},
        {"without an end", job::unlimited, {}, {}, {}, true},
        {"no limit known at all", {}, {}, {}, {}, true},
        {"a short DefaultTime", {}, {}, 2, 600, false},
        {"MaxTime where there is no DefaultTime", {}, {}, {}, 2, false},
        {"an own limit counts before DefaultTime", 60, {}, 2, 600, true},
        {"--time-min may become the limit", 60, 2, {}, {}, false},
    }));
    CAPTURE(c.why);
    auto site = test::make_site(rule + "signal = \"USR1\"\n");
    site.partitions.front().limits.default_time_min = c.default_min;
    site.partitions.front().limits.max_time_min = c.max_min;
    Submitted job;
    job.request.checkpoint.interval = "auto";
    job.request.time_limit_min = c.limit_min;
    job.request.least_time_limit_min = c.least_min;

    const auto review = policy::review(job.request, site);

    CHECK(review.changes.warning.has_value() == c.signalled);
    CHECK(has_note(review, NoteKind::advice, "no --signal=USR1: the last checkpoint needs 2 min") ==
          !c.signalled);
    CHECK(value_of(review, "RAILHEAD_CKPT_INTERVAL") == "14100");
}

TEST_CASE("an own interval is told in seconds, and is the user's", "[review][checkpoint]") {
    Submitted job;
    struct Case {
        std::string said, seconds, source;
    };
    const auto c = GENERATE(values<Case>({
        {"1800", "1800", "user"},
        {"30m", "1800", "user"},
        {"90.5", "90.5", "user"},
        {"auto", "14100", "default"},
    }));
    CAPTURE(c.said);
    job.request.checkpoint.interval = c.said;

    const auto review = job.under(rule);

    CHECK(value_of(review, "RAILHEAD_CKPT_INTERVAL") == c.seconds);
    CHECK(value_of(review, "RAILHEAD_CKPT_FROM") == c.source);
}

TEST_CASE("an interval that is too long is told or refused, with the arithmetic",
          "[review][checkpoint]") {
    constexpr const char* arithmetic =
        "an interval of 24 h loses 1.3 %, one of 3 h 55 min 0.4 %: 4 nodes fail every 38 d 11 h, and a "
        "checkpoint takes 30 s; say --ckpt-interval=auto, or 11 h 45 min at most";
    Submitted job;
    job.request.checkpoint.interval = "24h";
    SECTION("told") {
        const auto review = job.under(rule);
        INFO(all_notes(review));
        CHECK(has_note(review, NoteKind::advice, arithmetic));
        CHECK_FALSE(review.refusal);
        CHECK(help_of(review) == "requeue append");
    }
    SECTION("refused") {
        const auto review = job.under(rule + "long_interval = \"refuse\"\n");
        REQUIRE(review.refusal);
        CHECK(review.refusal->rule == "checkpoint");
        CHECK(review.refusal->text == arithmetic);
        CHECK_FALSE(review.changes.any());
    }
    SECTION("refused by a rule that only advises: told") {
        const auto review =
            job.under("[checkpoint]\nmode = \"advise\"\nlong_interval = \"refuse\"\n");
        CHECK_FALSE(review.refusal);
        CHECK(has_note(review, NoteKind::advice, arithmetic));
    }
    SECTION("nobody cares") {
        CHECK_FALSE(has_note(job.under(rule + "long_interval = \"ignore\"\n"), NoteKind::advice, ""));
    }
    SECTION("long enough for the site") {
        CHECK_FALSE(has_note(job.under(rule + "most_interval = 10\n"), NoteKind::advice, ""));
    }
}

TEST_CASE("a large job that does not declare is told, refused or cut short, as the policy says",
          "[review][checkpoint]") {
    const std::string above = "declare_above = 3\n";
    constexpr const char* why =
        "4 nodes fail every 38 d 11 h, and this job does not say that it can checkpoint and resume: say "
        "--ckpt-interval=auto or --ckpt-signal=USR1 if it can";
    Submitted job;
    SECTION("told") {
        const auto review = job.under(rule + above + "undeclared = \"advise\"\n");
        CHECK(has_note(review, NoteKind::advice, why));
        CHECK_FALSE(review.refusal);
    }
    SECTION("refused") {
        const auto review = job.under(rule + above + "undeclared = \"refuse\"\n");
        REQUIRE(review.refusal);
        CHECK(review.refusal->text == why);
    }
    SECTION("cut short") {
        const auto review =
            job.under(rule + above + "undeclared = \"cap\"\nundeclared_time = \"4h\"\n");
        CHECK(review.changes.time_limit_min == 240U);
        CHECK(has_note(review, NoteKind::change, "time limit becomes 4 h: 4 nodes fail"));
        CHECK(help_of(review).empty());
    }
    SECTION("as large as may be, and no larger") {
        const auto review = job.under(rule + "declare_above = 4\nundeclared = \"refuse\"\n");
        CHECK_FALSE(review.refusal);
    }
    SECTION("declared: nothing to ask for") {
        job.request.checkpoint.interval = "auto";
        const auto review = job.under(rule + above + "undeclared = \"refuse\"\n");
        CHECK_FALSE(review.refusal);
    }
    SECTION("smaller than jobs that are told their interval") {
        const auto review = job.under(rule + above + "min_nodes = 5\nundeclared = \"advise\"\n");
        CHECK(has_note(review, NoteKind::advice, why));
        CHECK_FALSE(review.seen.checkpoint);
        CHECK_FALSE(review.changes.any());
    }
    SECTION("of CPUs alone: nothing is known of what it loses") {
        job.request.gpus_per_node = "";
        const auto review = job.under(rule + above + "undeclared = \"refuse\"\n");
        CHECK_FALSE(review.refusal);
    }
    SECTION("by a rule that only advises: told") {
        const auto review = job.under("[checkpoint]\nmode = \"advise\"\nundeclared = \"refuse\"\n" +
                                      above);
        CHECK_FALSE(review.refusal);
        CHECK(has_note(review, NoteKind::advice, why));
        CHECK_FALSE(review.changes.any());
    }
    SECTION("by a rule that observes: nothing reaches the user") {
        const auto review = job.under("notes = \"all\"\n[checkpoint]\nundeclared = \"refuse\"\n" +
                                      above);
        CHECK(policy::user_text(review, job.request, policy::Notes::all).find("fail every") ==
              std::string::npos);
        CHECK_FALSE(review.changes.any());
    }
}

TEST_CASE("a cap lowers a time limit, and never raises one", "[review][checkpoint]") {
    struct Case {
        std::string why;
        std::optional<std::uint32_t> limit_min, default_min, max_min, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"above", 600, {}, {}, 240},
        {"unlimited", job::unlimited, {}, {}, 240},
        {"not said, and no default", {}, {}, {}, 240},
        {"not said, with a longer default", {}, 600, {}, 240},
        {"not said, with a longer maximum alone", {}, {}, 600, 240},
        {"just so", 240, {}, {}, std::nullopt},
        {"below", 60, {}, {}, std::nullopt},
        {"not said, with a shorter default", {}, 60, 600, std::nullopt},
    }));
    CAPTURE(c.why);
    auto site = test::make_site(
        rule + "undeclared = \"cap\"\ndeclare_above = 1\nundeclared_time = \"4h\"\n");
    site.partitions.front().limits.default_time_min = c.default_min;
    site.partitions.front().limits.max_time_min = c.max_min;
    Submitted job;
    job.request.time_limit_min = c.limit_min;

    CHECK(policy::review(job.request, site).changes.time_limit_min == c.expected);
}

TEST_CASE("a rule that observes or advises says what would be", "[review][checkpoint]") {
    Submitted job;
    job.request.checkpoint.interval = "auto";
    const auto mode = GENERATE(as<std::string>{}, "observe", "advise");

    const auto review =
        job.under("checkpoint.mode = \"" + mode + "\"\ncheckpoint.signal = \"USR1\"\n");

    CHECK_FALSE(review.changes.any());
    CHECK(has_note(review, NoteKind::change,
                   "can checkpoint and resume (--ckpt-interval): would get --signal=USR1@120 --requeue "
                   "--open-mode=append"));
    const auto told = policy::user_text(review, job.request, policy::Notes::changes);
    CHECK(told.empty() == (mode == "observe"));
}

TEST_CASE("an update of the time limit leaves what was written at submission", "[review][checkpoint]") {
    job::JobRequest update;
    update.time_limit_min = 2;

    CHECK_FALSE(policy::review_update(update, test::make_site(rule)).changes.any());
}

TEST_CASE("explain shows what a job that declares becomes", "[review][checkpoint][report]") {
    Submitted job;
    job.request.checkpoint.interval = "auto";
    job.request.script = "#!/bin/bash\nexec python t.py\n";
    const auto review = job.under(rule + "signal = \"USR1\"\n");

    CHECK(report::changes_text(review.changes) ==
          "--signal=B:USR1@120 --requeue --open-mode=append RAILHEAD_CKPT_INTERVAL=14100");
    CHECK_THAT(report::asked_text(job.request), ContainsSubstring("--ckpt-interval=auto"));
    const report::Explained explained{job.request, review};
    const auto json = report::explain_json("job.sbatch", {&explained, 1});
    for (const auto* part :
         {R"("signal": "B:USR1@120")", R"("requeue": true)", R"("open_mode": "append")",
          R"("RAILHEAD_CKPT_INTERVAL": "14100")", R"("declared": "--ckpt-interval")",
          R"("from": "default")", R"("clock": false)"}) {
        CHECK_THAT(json, ContainsSubstring(part));
    }
}

TEST_CASE("explain shows a time limit that is lowered", "[review][checkpoint][report]") {
    policy::Changes changes;
    changes.time_limit_min = 245;

    CHECK(report::changes_text(changes) == "--time=4:05:00");
}
