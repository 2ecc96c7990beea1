#include <cstddef>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/explain.hpp"
#include "report/explain_words.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;

json levels_json(const policy::Seen& seen) {
    json levels = json::array();
    for (const auto& level : seen.above) {
        if (level.least > 0) {
            levels.push_back(
                {{"level", level.level}, {"least", level.least}, {"usable", level.usable}});
        }
    }
    return levels;
}

json price_json(const policy::Seen& seen) {
    if (!seen.wait) {
        return nullptr;
    }
    const auto& wait = *seen.wait;
    return {{"from", to_string(wait.price.from)},
            {"source", source_text(wait)},
            {"slowdown", wait.slowdown},
            {"run_time_s", wait.run_time.seconds},
            {"run_time_from", to_string(wait.run_time.from)},
            {"times", wait.times},
            {"wait_s", wait.wanted_s},
            {"wait_in_force_s", wait.in_force_s}};
}

json variables_json(const std::vector<policy::Variable>& variables) {
    json out = json::object();
    for (const auto& variable : variables) {
        out[variable.name] = variable.value;
    }
    return out;
}

json changes_json(const policy::Changes& changes) {
    json out = json::object();
    const auto put = [&out](const char* name, const auto& value) {
        if (value) {
            out[name] = *value;
        }
    };
    put("min_nodes", changes.min_nodes);
    put("max_nodes", changes.max_nodes);
    if (changes.exclusive) {
        out["exclusive"] = true;
    }
    put("cpus_per_task", changes.cpus_per_task);
    put("tasks", changes.tasks);
    put("switches", changes.switches);
    put("switch_wait_s", changes.switch_wait_s);
    put("segment", changes.segment);
    put("prefer", changes.prefer);
    put("exclude", changes.exclude);
    put("time_limit_min", changes.time_limit_min);
    if (changes.warning) {
        out["signal"] = signal_text(*changes.warning);
    }
    if (changes.requeue) {
        out["requeue"] = true;
    }
    if (changes.append) {
        out["open_mode"] = "append";
    }
    if (!changes.environment.empty()) {
        out["environment"] = variables_json(changes.environment);
    }
    return out;
}

json checkpoint_json(const policy::Seen& seen) {
    if (!seen.checkpoint) {
        return nullptr;
    }
    const auto& checkpoint = *seen.checkpoint;
    json out{{"nodes", checkpoint.nodes},
             {"mtbf_s", checkpoint.schedule.mtbf_s},
             {"cost_s", checkpoint.cost_s},
             {"optimum_s", checkpoint.schedule.optimum_s},
             {"interval_s", checkpoint.schedule.interval_s},
             {"from", checkpoint.from},
             {"lead_s", checkpoint.schedule.lead_s},
             {"declared", nullptr},
             {"clock", checkpoint.clock}};
    if (!checkpoint.declared.empty()) {
        out["declared"] = checkpoint.declared;
    }
    return out;
}

json component_json(const Explained& component) {
    const auto& review = component.review;
    json notes = json::array();
    for (const auto& note : review.notes) {
        notes.push_back({{"rule", note.rule}, {"kind", kind_word(note)}, {"text", note.text}});
    }
    json out{{"asked", asked_text(component.request)},
             {"partition", review.seen.partition},
             {"off", review.off},
             {"gpus", review.seen.gpus},
             {"gpus_per_node", review.seen.gpus_per_node},
             {"nodes", review.seen.nodes},
             {"least_leaves", review.seen.least_leaves},
             {"leaves", review.seen.leaves},
             {"levels", levels_json(review.seen)},
             {"price", price_json(review.seen)},
             {"checkpoint", checkpoint_json(review.seen)},
             {"changes", changes_json(review.changes)},
             {"notes", std::move(notes)},
             {"refusal", nullptr}};
    if (review.refusal) {
        out["refusal"] = {{"rule", review.refusal->rule}, {"text", review.refusal->text}};
    }
    return out;
}

}  // namespace

std::string explain_json(const std::string& script, std::span<const Explained> components) {
    json list = json::array();
    for (const auto& component : components) {
        list.push_back(component_json(component));
    }
    const json out{
        {"schema", "railhead.explain/1"}, {"script", script}, {"components", std::move(list)}};
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
