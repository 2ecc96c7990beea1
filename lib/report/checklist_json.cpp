#include <nlohmann/json.hpp>

#include "report/checklist.hpp"
#include "report/json_parts.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;

json range_json(const diagnose::Range& range) {
    return {{"low", rounded(range.low)}, {"high", rounded(range.high)}};
}

json suspects_json(const diagnose::Checklist& list) {
    auto suspects = json::array();
    for (const auto& suspect : list.suspects) {
        suspects.push_back({{"id", suspect.id},
                            {"title", suspect.title},
                            {"step_share", range_json(suspect.share)},
                            {"expected_share", rounded(suspect.expected)},
                            {"mfu_alone", range_json(suspect.alone)},
                            {"mfu_after", range_json(suspect.after)},
                            {"arithmetic", suspect.arithmetic},
                            {"source", suspect.source},
                            {"look", suspect.look},
                            {"fix", suspect.fix}});
    }
    return suspects;
}

}  // namespace

std::string checklist_json(const diagnose::ChecklistQuestion& question,
                           const diagnose::Checklist& list) {
    auto out = json::array();
    for (const auto& one : list.ruled_out) {
        out.push_back({{"id", one.id}, {"title", one.title}, {"why", one.why}});
    }
    const json document = {{"schema", "railhead.checklist/1"},
                           {"mfu", rounded(question.mfu)},
                           {"gpus", question.gpus},
                           {"nodes", list.nodes},
                           {"accelerator", question.accelerator->name},
                           {"precision", to_string(question.precision)},
                           {"best_mfu", rounded(list.best)},
                           {"best_source", list.best_source},
                           {"best_published", list.best_is_published},
                           {"lost_share", rounded(list.lost)},
                           {"suspects", suspects_json(list)},
                           {"ruled_out", std::move(out)},
                           {"assumptions", list.assumptions}};
    return document_text(document);
}

}  // namespace railhead::report
