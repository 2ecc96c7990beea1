// `railhead check` on the checkpoint signal: a policy by which nobody would get it.
#include <string>

#include "policy/check.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"

namespace {

using namespace railhead;

std::string findings(const std::string& toml) {
    std::string text;
    for (const auto& finding : policy::check_checkpoints(test::make_site(toml).policy)) {
        text += finding.text.substr(0, finding.text.find(" without")) + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("check tells of a signal that nobody sends, and of a clock that has none to send",
          "[check][checkpoint]") {
    const std::string clock = "checkpoint: clock = true\n";
    const std::string rank0 = "checkpoint: signal_to = \"rank0\"\n";
    const auto& [toml, expected] = GENERATE_COPY(table<std::string, std::string>({
        {"", ""},
        {"checkpoint.clock = true\n", clock},
        {"checkpoint.clock = true\ncheckpoint.signal = \"none\"\n", clock},
        {"checkpoint.clock = true\ncheckpoint.signal = \"USR1\"\n", ""},
        {"checkpoint.signal = \"USR1\"\n", ""},
        {"checkpoint.signal = \"USR1\"\ncheckpoint.signal_to = \"tasks\"\n", ""},
        {"checkpoint.signal = \"USR1\"\ncheckpoint.signal_to = \"rank0\"\n", rank0},
        {"checkpoint.signal_to = \"rank0\"\n", ""},  // for those that say --ckpt-signal
        {"checkpoint.signal = \"USR1\"\ncheckpoint.signal_to = \"rank0\"\ncheckpoint.clock = "
         "true\n",
         ""},
        {"checkpoint.signal = \"USR1\"\n[partition.main]\ncheckpoint.clock = true\n", ""},
        {"[partition.main]\ncheckpoint.clock = true\n",
         "checkpoint of partition \"main\": clock = true\n"},
        {"checkpoint.signal = \"USR1\"\n[[rule]]\nname = \"big\"\ncheckpoint.signal_to = "
         "\"rank0\"\n",
         "checkpoint of rule \"big\": signal_to = \"rank0\"\n"},
        {"checkpoint.clock = true\ncheckpoint.signal = \"USR1\"\n[[rule]]\nname = \"big\"\n"
         "checkpoint.signal = \"none\"\n",
         "checkpoint of rule \"big\": clock = true\n"},
    }));
    CAPTURE(toml);
    CHECK(findings(toml) == expected);
}
