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
    CHECK(settings.placement.price.from == PriceFrom::guess);
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
sockets_note = false
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
    CHECK_FALSE(settings.gang.sockets_note);
    CHECK(settings.gang.gpus_per_node == 4);
    CHECK(settings.placement.override_user);
    CHECK(settings.placement.price.from == PriceFrom::wait);
    CHECK(settings.placement.price.wait_s == 7200);
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
    REQUIRE(policy->rules[0].overlay.price);
    CHECK(policy->rules[0].overlay.price->wait_s == 60U);
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
        {"two prices", "[placement]\nwait = \"5m\"\nslowdown = 0.06\n",
         "railhead.toml:3:1: \"slowdown\" beside \"wait\" of line 2: one of them says what waiting is "
         "worth, take out the other"},
        {"bandwidth without the share of communication", "placement.bus_bandwidth = [370, 340]\n",
         "railhead.toml:1:11: \"bus_bandwidth\" needs \"communication\", here or at the top of the file: "
         "the share of a step that is communication"},
        {"oversubscription of a rule without it",
         "[partition.a.placement]\ncommunication = 0.1\n"
         "[[rule]]\nname = \"x\"\nplacement.oversubscription = 2\n",
         "railhead.toml:5:11: \"oversubscription\" needs \"communication\", here or at the top of the "
         "file: the share of a step that is communication"},
        {"one bandwidth", "[placement]\ncommunication = 0.1\nbus_bandwidth = 370\n",
         "railhead.toml:3:17: expected two bandwidths or more: within a leaf, then across leaves"},
        {"bandwidths that rise", "[placement]\ncommunication = 0.1\nbus_bandwidth = [340, 370]\n",
         "railhead.toml:3:17: 370 GB/s follow 340: no level is faster than the one below it"},
        {"no bandwidth at all", "[placement]\ncommunication = 0.1\nbus_bandwidth = [340, 0]\n",
         "railhead.toml:3:23: 0 is not within 0.001 to 1000000"},
        {"a slowdown in per cent", "[placement]\nslowdown = 25\n",
         "railhead.toml:2:12: 25 is not within 0 to 10"},
        {"a negative one in a list", "[placement]\nslowdown = [0.1, -0.5]\n",
         "railhead.toml:2:18: -0.5 is not within 0 to 10"},
        {"text in a list", "[placement]\nslowdown = [\"6 %\"]\n",
         "railhead.toml:2:13: expected a number, not text"},
        {"not a number", "[placement]\nslowdown = nan\n",
         "railhead.toml:2:12: nan is not within 0 to 10"},
        {"no number", "[placement]\nslowdown = []\n",
         "railhead.toml:2:12: expected 1 to 8 numbers, one a level, not 0"},
        {"too many levels", "[placement]\nslowdown = [0,0,0,0,0,0,0,0,0]\n",
         "railhead.toml:2:12: expected 1 to 8 numbers, one a level, not 9"},
        {"an undersubscribed uplink", "[placement]\ncommunication = 0.1\noversubscription = 0.5\n",
         "railhead.toml:3:20: 0.5 is not within 1 to 1000"},
        {"a share above one", "[placement]\ncommunication = 25\n",
         "railhead.toml:2:17: 25 is not within 0 to 1"},
        {"clamps that cross", "[placement]\nwait_least = \"2h\"\nwait_most = \"1h\"\n",
         "railhead.toml:2:14: wait_least 2 h is above wait_most 1 h"},
        {"a constraint for a feature", "[placement]\nset_aside = \"small|tiny\"\n",
         "railhead.toml:2:13: expected one node feature, not \"small|tiny\""},
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

TEST_CASE("texts and comments may hold any character, however they are quoted", "[policy]") {
    const std::vector<std::string> texts{
        "\xEF\xBB\xBFmode = \"enforce\"  # \xC3\xA9\n",               // a byte order mark
        "unknown = \"\\\"\xC3\xA9\"\n",                             // behind an escaped quote
        "unknown = '\\' # \xC3\xA9\n",                              // no escape in a literal text
        "unknown = \"\"\"\xC3\xA9\"\"\"\"\" # ' \xC3\xA9\n",        // of five quotes three end it
        "unknown = '''\n\xC3\xA9 ' \xC3\xA9'''\n",                  // of several lines
        "unknown = \"\"\"one \\\n  two \xC3\xA9\"\"\"\n",           // continued
    };
    for (const auto& text : texts) {
        CAPTURE(text);
        const auto said = errors_of(text);
        CHECK((said.empty() || said.find("unknown key \"unknown\"") != std::string::npos));
        CHECK(said.find("ASCII") == std::string::npos);
    }
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
