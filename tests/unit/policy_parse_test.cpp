// railhead.toml: what is read, and what is said of each mistake.
#include "policy/parse.hpp"
#include "policy/policy.hpp"
#include "support/catch.hpp"

namespace {

using namespace railhead;
using namespace railhead::policy;

std::string errors_of(const std::string& toml) {
    const auto policy = parse_policy(toml, "railhead.toml");
    if (policy) {
        return "";
    }
    std::string text;
    for (const auto& error : policy.error()) {
        text += (text.empty() ? "" : "\n") + to_string(error);
    }
    return text;
}

}  // namespace

TEST_CASE("an empty policy observes", "[policy]") {
    const auto policy = parse_policy("", "railhead.toml");
    REQUIRE(policy);
    Settings settings;
    apply(policy->global, settings);
    CHECK(settings.enabled);
    CHECK(settings.gang.mode == Mode::observe);
    CHECK(settings.placement.mode == Mode::observe);
    CHECK(settings.placement.wait_s == 300);
    CHECK(policy->notes == Notes::changes);
    CHECK(policy->user_off);
}

TEST_CASE("every key of the policy is read", "[policy]") {
    const auto policy = parse_policy(R"(
enabled = true
mode = "advise"
notes = "all"
user_off = false
slurm_conf = "/etc/slurm/slurm.conf"
topology = "/etc/slurm/topology.conf"
[gang]
mode = "enforce"
exclusive = false
partial = "refuse"
isolation_note = false
gpus_per_node = 4
[placement]
mode = "observe"
override = true
wait = "2h"
model_parallel_group = 4
[partition.debug]
enabled = false
[[rule]]
name = "big"
match = { partition = "h*", account = ["a", "b*"], qos = "high", min_gpus = 64, max_gpus = 512 }
placement.wait = 60
)", "railhead.toml");
    if (!policy) {
        FAIL(to_string(policy.error().front()));
    }
    Settings settings;
    apply(policy->global, settings);
    CHECK(settings.gang.mode == Mode::enforce);
    CHECK(settings.placement.mode == Mode::observe);
    CHECK(settings.gang.exclusive == Exclusive::never);
    CHECK(settings.gang.partial == Partial::refuse);
    CHECK_FALSE(settings.gang.isolation_note);
    CHECK(settings.gang.gpus_per_node == 4);
    CHECK(settings.placement.override_user);
    CHECK(settings.placement.wait_s == 7200);
    CHECK(settings.placement.model_parallel_group == 4);
    CHECK(policy->notes == Notes::all);
    CHECK_FALSE(policy->user_off);
    CHECK(policy->slurm_conf == "/etc/slurm/slurm.conf");
    CHECK(policy->topology == "/etc/slurm/topology.conf");
    REQUIRE(policy->partitions.size() == 1);
    CHECK(policy->partitions[0].overlay.enabled == false);
    REQUIRE(policy->rules.size() == 1);
    CHECK(policy->rules[0].accounts == std::vector<std::string>{"a", "b*"});
    CHECK(policy->rules[0].min_gpus == 64);
    CHECK(policy->rules[0].overlay.wait_s == 60U);
}

TEST_CASE("each mistake is named with its line and column", "[policy][errors]") {
    struct Case {
        std::string why, toml, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"misspelt key", "[placement]\nwiat = 3\n",
         "railhead.toml:2:1: unknown key \"wiat\", did you mean \"wait\"?"},
        {"unknown key far from any", "zebra = 1\n", "railhead.toml:1:1: unknown key \"zebra\""},
        {"wrong word", "mode = \"enforced\"\n",
         "railhead.toml:1:8: expected one of \"observe\", \"advise\", \"enforce\", not \"enforced\""},
        {"wrong type", "[gang]\nisolation_note = 1\n",
         "railhead.toml:2:18: expected true or false, not a whole number"},
        {"out of range", "[gang]\ngpus_per_node = 0\n",
         "railhead.toml:2:17: 0 is not within 1 to 1024"},
        {"no time", "[placement]\nwait = \"soon\"\n",
         "railhead.toml:2:8: expected a time such as 300, \"90s\", \"10m\", \"2h\" or \"1d\""},
        {"negative time", "[placement]\nwait = -1\n",
         "railhead.toml:2:8: expected a time such as 300, \"90s\", \"10m\", \"2h\" or \"1d\""},
        {"table expected", "gang = 3\n", "railhead.toml:1:8: expected a table, not a whole number"},
        {"rule without a name", "[[rule]]\nenabled = false\n",
         "railhead.toml:1:1: a [[rule]] needs a name, for the log and for notes"},
        {"rules in single brackets", "[rule]\nname = \"x\"\n",
         "railhead.toml:1:1: rules are written [[rule]], with two brackets"},
        {"a range that is empty",
         "[[rule]]\nname = \"x\"\nmatch = { min_gpus = 9, max_gpus = 8 }\n",
         "railhead.toml:1:1: min_gpus 9 is above max_gpus 8: the rule never matches"},
        {"all mistakes at once", "mode = 1\nuser_off = \"no\"\n",
         "railhead.toml:1:8: expected one of \"observe\", \"advise\", \"enforce\", not a whole "
         "number\nrailhead.toml:2:12: expected true or false, not text"},
    }));
    CAPTURE(c.why);
    CHECK(errors_of(c.toml) == c.expected);
}

TEST_CASE("broken TOML is an error, never an abort", "[policy][errors]") {
    for (const std::string toml : {"[\no", "[[[1]]]", "a = ", "= 1", "a = \"", "\xff\xfe", "a.b.c",
                                   "[x]\n[x]", "a = [1,", "a = 1e999999", "\"\xc2\xa0\" = 1\n\xc2\xa0"}) {
        CAPTURE(toml);
        CHECK_FALSE(parse_policy(toml, "railhead.toml").has_value());
    }
    const auto deep = std::string(5000, '[');
    CHECK_FALSE(parse_policy("a = " + deep, "railhead.toml").has_value());
    CHECK_FALSE(parse_policy(std::string("a = 1\0b", 7), "railhead.toml").has_value());
}

TEST_CASE("spans of time in all their spellings", "[policy]") {
    CHECK(parse_seconds("300") == 300U);
    CHECK(parse_seconds("90s") == 90U);
    CHECK(parse_seconds("10m") == 600U);
    CHECK(parse_seconds("2h") == 7200U);
    CHECK(parse_seconds("1d") == 86400U);
    CHECK(parse_seconds("5:00") == 300U);
    CHECK(parse_seconds("1:00:00") == 3600U);
    CHECK_FALSE(parse_seconds(""));
    CHECK_FALSE(parse_seconds("h"));
    CHECK_FALSE(parse_seconds("-5"));
    CHECK_FALSE(parse_seconds("99999999999"));
    CHECK_FALSE(parse_seconds("99999999d"));
    CHECK_FALSE(parse_seconds("1::2"));
}

TEST_CASE("globs match as a shell's do", "[policy]") {
    CHECK(glob_matches("", ""));
    CHECK_FALSE(glob_matches("", "a"));
    CHECK(glob_matches("*", ""));
    CHECK(glob_matches("a*c", "abbbc"));
    CHECK_FALSE(glob_matches("a*c", "abbbd"));
    CHECK(glob_matches("a?c", "abc"));
    CHECK_FALSE(glob_matches("a?c", "ac"));
    CHECK(glob_matches("*a*b*", "xxaxxbxx"));
    CHECK(glob_matches("*", "*"));
    // Quadratic at worst, never exponential.
    CHECK_FALSE(glob_matches("*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}
