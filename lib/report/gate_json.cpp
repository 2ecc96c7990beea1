#include <array>
#include <cstddef>
#include <string_view>

#include "report/gate.hpp"
#include "report/json_parts.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;

json text_or_null(std::string_view text) {
    return text.empty() ? json(nullptr) : json(text);
}

json time_or_null(const std::optional<std::int64_t>& at_s) {
    return at_s ? json(*at_s) : json(nullptr);
}

json unit_of(diagnose::GateUnit unit) {
    constexpr std::array<std::string_view, 4> names{"", "share", "s", "times"};
    return text_or_null(names.at(static_cast<std::size_t>(unit)));
}

json check_json(const diagnose::GateCheck& check) {
    const auto& aim = check.aim;
    return {{"id", check.id},
            {"group", name_of(check.group)},
            {"what", check.what},
            {"verdict", name_of(check.verdict)},
            {"measured",
             {{"value", or_null(check.value)},
              {"unit", unit_of(check.unit)},
              {"text", text_or_null(check.measured)},
              {"source", text_or_null(check.from)}}},
            {"target",
             {{"value", or_null(aim.value)},
              {"bound", !aim.value     ? json(nullptr)
                        : aim.is_least ? json("least")
                                       : json("most")},
              {"text", text_or_null(aim.text)},
              {"source", text_or_null(aim.from)}}},
            {"details", check.details},
            {"missing", check.missing},
            {"to_know", check.run},
            {"advice", check.advice}};
}

}  // namespace

std::string gate_json(const GateSubject& subject, const diagnose::Gate& gate) {
    using diagnose::GateVerdict;
    auto checks = json::array();
    for (const auto& check : gate.checks) {
        checks.push_back(check_json(check));
    }
    return document_text({{"schema", "railhead.gate/1"},
                          {"jobs", subject.jobs},
                          {"since", time_or_null(subject.since_s)},
                          {"until", time_or_null(subject.until_s)},
                          {"passed", gate.count(GateVerdict::pass)},
                          {"failed", gate.count(GateVerdict::fail)},
                          {"unknown", gate.count(GateVerdict::unknown)},
                          {"checks", checks}});
}

}  // namespace railhead::report
