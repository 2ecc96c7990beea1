// What a script and its environment say of signals, requeue and checkpoints.
#include <string>

#include "job/script.hpp"
#include "support/catch.hpp"
#include "support/scripts.hpp"

using namespace railhead;

namespace {

job::JobRequest first(const job::Script& script) {
    return script.components.at(0).request;
}

std::string variable(const job::Script& script, const char* name) {
    return std::string{job::find_variable(first(script).environment, name).value_or("-")};
}

}  // namespace

TEST_CASE("the options of a job's end are read", "[script][checkpoint]") {
    const auto script = test::parse_directives(
        "#SBATCH --signal=B:USR1@300 --requeue --open-mode=append --time-min=30\n"
        "#SBATCH --ckpt-interval=30m --ckpt-signal=USR1@batch --ckpt-dir=/data/run1\n");

    REQUIRE(script);
    const auto request = first(*script);
    CHECK(request.signal);
    CHECK(request.requeue == true);
    CHECK(request.open_mode);
    CHECK(request.least_time_limit_min == 30U);
    CHECK(request.checkpoint.interval == "30m");
    CHECK(request.checkpoint.signal == "USR1@batch");
    CHECK(request.script.ends_with("--ckpt-dir=/data/run1\n"));
    CHECK(test::warnings_of(*script).empty());
}

TEST_CASE("of --requeue and --no-requeue the last one counts", "[script][checkpoint]") {
    const auto requeue = [](const std::string& directives, const test::Arguments& arguments,
                            const test::Environment& environment) {
        return first(test::parse_directives(directives, arguments, environment).value()).requeue;
    };
    CHECK(requeue("", {}, {}) == std::nullopt);
    CHECK(requeue("#SBATCH --requeue\n", {}, {}) == true);
    CHECK(requeue("#SBATCH --requeue\n", {"--no-requeue"}, {}) == false);
    CHECK(requeue("#SBATCH --no-requeue\n", {}, {{"SBATCH_REQUEUE", ""}}) == true);
    CHECK(requeue("#SBATCH --requeue\n", {}, {{"SBATCH_NO_REQUEUE", ""}}) == false);
}

TEST_CASE("the variables of --signal and --open-mode count", "[script][checkpoint]") {
    const auto script =
        test::parse_directives("", {}, {{"SBATCH_SIGNAL", "USR2"}, {"SBATCH_OPEN_MODE", "truncate"}})
            .value();
    CHECK(first(script).signal);
    CHECK(first(script).open_mode);
}

TEST_CASE("a --signal that sbatch does not take is an error", "[script][checkpoint]") {
    for (const std::string bad : {"", "B:", "X:USR1", "USR1@soon", "USR1@70000", "@60", "-1"}) {
        CAPTURE(bad);
        CHECK_FALSE(test::parse_directives("#SBATCH --signal=" + bad + "\n"));
    }
    for (const std::string good : {"10", "USR1", "SIGUSR1@60", "R:USR1", "B:10@0", "RB:USR1@60", "b:usr1"}) {
        CAPTURE(good);
        CHECK(test::parse_directives("#SBATCH --signal=" + good + "\n"));
    }
}

TEST_CASE("what is said of checkpoints by variables counts as by options", "[script][checkpoint]") {
    const test::Environment environment{{"RAILHEAD_CKPT_INTERVAL", "1h"},
                                        {"RAILHEAD_CKPT_SIGNAL", "USR2"},
                                        {"RAILHEAD_CKPT_COST", "90"},
                                        {"RAILHEAD_CKPT_STEP", "4"},
                                        {"RAILHEAD_CKPT_FROM", "user"}};
    const auto script = test::parse_directives("", {}, environment).value();
    const auto words = first(script).checkpoint;
    CHECK(words.interval == "1h");
    CHECK(words.signal == "USR2");
    CHECK(words.cost == "90");
    CHECK(words.step == "4");
    CHECK_FALSE(words.history);

    const auto option =
        test::parse_directives("#SBATCH --ckpt-interval=2h\n", {}, environment).value();
    CHECK(first(option).checkpoint.interval == "2h");
}

TEST_CASE("an interval that the job around was told is no wish", "[script][checkpoint]") {
    const std::string source = GENERATE(as<std::string>{}, "default", "policy", "history");
    const auto script =
        test::parse_directives("", {},
                               {{"RAILHEAD_CKPT_INTERVAL", "60"}, {"RAILHEAD_CKPT_FROM", source}})
            .value();
    const auto words = first(script).checkpoint;
    CHECK(words.interval.empty());
    CHECK(words.history == (source == "history"));
}

TEST_CASE("the option --export says which variables a job declares by", "[script][checkpoint]") {
    struct Case {
        std::string why, option, resume, other, slurm;
    };
    const auto c = GENERATE(values<Case>({
        {"all by default", "", "1", "2", "3"},
        {"all by name", "--export=ALL", "1", "2", "3"},
        {"none but Slurm's", "--export=NONE", "-", "-", "3"},
        {"one by name", "--export=RESUME", "1", "-", "3"},
        {"one with a value", "--export=RESUME=5", "5", "-", "3"},
        {"all, and one more", "--export=ALL,RESUME=5", "5", "2", "3"},
    }));
    CAPTURE(c.why);
    const auto script = test::parse_directives(
        c.option.empty() ? "" : "#SBATCH " + c.option + "\n", {},
        {{"RESUME", "1"}, {"OTHER", "2"}, {"SLURM_CONF", "3"}});

    REQUIRE(script);
    CHECK(variable(*script, "RESUME") == c.resume);
    CHECK(variable(*script, "OTHER") == c.other);
    CHECK(variable(*script, "SLURM_CONF") == c.slurm);
}
