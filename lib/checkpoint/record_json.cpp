// The JSON of record.hpp.  Read by sbatch in the user's name, so nothing here throws.
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "checkpoint/record.hpp"

namespace railhead::checkpoint {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* record_schema = "railhead.ckpt-record/1";
constexpr const char* history_schema = "railhead.ckpt-history/1";

template <class T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

std::string dump(const json& document) {
    constexpr int indent = 1;
    return document.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Values of an object, or what stands for them where they are missing or of another kind.
class Object {
 public:
    explicit Object(const json& from) : from_{from} {}

    [[nodiscard]] std::optional<double> time(const char* key) const {
        const auto* value = find(key);
        if (value == nullptr || !value->is_number()) {
            return std::nullopt;
        }
        constexpr double most_s = 1e12;
        const auto seconds = value->get<double>();
        return std::isfinite(seconds) && seconds >= 0 && seconds < most_s ? std::optional{seconds}
                                                                          : std::nullopt;
    }
    [[nodiscard]] double seconds(const char* key) const { return time(key).value_or(0); }
    template <class T>
    [[nodiscard]] T count(const char* key) const {
        const auto* value = find(key);
        const bool fits = value != nullptr && value->is_number_unsigned() &&
                          value->get<std::uint64_t>() <= std::numeric_limits<T>::max();
        return fits ? static_cast<T>(value->get<std::uint64_t>()) : T{};
    }
    [[nodiscard]] std::string text(const char* key) const {
        const auto* value = find(key);
        return value != nullptr && value->is_string() ? value->get<std::string>() : std::string{};
    }
    [[nodiscard]] bool flag(const char* key) const {
        const auto* value = find(key);
        return value != nullptr && value->is_boolean() && value->get<bool>();
    }
    /// The objects in the list of that name, at most `most`: the last ones.
    [[nodiscard]] std::vector<Object> objects(const char* key, std::size_t most) const {
        std::vector<Object> found;
        const auto* list = find(key);
        if (list == nullptr || !list->is_array()) {
            return found;
        }
        for (const auto& one : *list) {
            if (one.is_object()) {
                found.emplace_back(one);
            }
        }
        const auto over = found.size() - std::min(found.size(), most);
        return {found.begin() + static_cast<std::ptrdiff_t>(over), found.end()};
    }
    [[nodiscard]] std::optional<Object> object(const char* key) const {
        const auto* value = find(key);
        return value != nullptr && value->is_object() ? std::optional{Object{*value}}
                                                      : std::nullopt;
    }

 private:
    [[nodiscard]] const json* find(const char* key) const {
        const auto at = from_.get().find(key);
        return at == from_.get().end() ? nullptr : &*at;
    }
    std::reference_wrapper<const json> from_;
};

json attempt_json(const Attempt& attempt) {
    return {{"restarts", attempt.restarts},       {"started", attempt.started_s},
            {"ended", or_null(attempt.ended_s)},  {"cause", to_string(attempt.cause)},
            {"checkpoints", attempt.checkpoints}, {"last", or_null(attempt.last_s)},
            {"lost_s", or_null(lost_s(attempt))}, {"failed_step", attempt.has_failed_step}};
}

Attempt read_attempt(const Object& from) {
    return {from.count<std::uint32_t>("restarts"),
            from.seconds("started"),
            from.time("ended"),
            parse_cause(from.text("cause")),
            from.count<std::uint64_t>("checkpoints"),
            from.time("last"),
            from.flag("failed_step")};
}

json checkpoint_json(const Saved& checkpoint) {
    return {{"name", checkpoint.name},
            {"layout", checkpoint.layout},
            {"at", checkpoint.at_s},
            {"bytes", checkpoint.bytes},
            {"write_s", or_null(checkpoint.write_s)},
            {"interval_s", or_null(checkpoint.interval_s)}};
}

Saved read_checkpoint(const Object& from) {
    return {from.text("name"),
            from.text("layout"),
            from.seconds("at"),
            from.time("write_s"),
            from.count<std::uint64_t>("bytes"),
            from.time("interval_s")};
}

/// The document, when it is an object of this schema.
Result<json> parse_document(std::string_view text, const char* schema) {
    constexpr bool throws = false;
    auto document = json::parse(text, nullptr, throws);
    if (!document.is_object() || Object{document}.text("schema") != schema) {
        return fail(Errc::bad_input, fmt::format("it is no {}", schema));
    }
    return document;
}

}  // namespace

std::string to_json(const Record& record) {
    auto attempts = json::array();
    for (const auto& attempt : record.attempts) {
        attempts.push_back(attempt_json(attempt));
    }
    auto latest = json::array();
    for (const auto& checkpoint : record.latest) {
        latest.push_back(checkpoint_json(checkpoint));
    }
    auto broken = json::array();
    for (const auto& one : record.broken) {
        broken.push_back({{"name", one.name}, {"why", one.why}});
    }
    json hold = nullptr;
    if (record.hold) {
        hold = {{"since", record.hold->since_s},
                {"reason", record.hold->reason},
                {"comment", record.hold->comment}};
    }
    return dump({{"schema", record_schema},
                 {"job", record.job},
                 {"name", record.name},
                 {"cluster", record.cluster},
                 {"submitted", or_null(record.submitted_s)},
                 {"folder", record.folder},
                 {"node_list", record.node_list},
                 {"interval_s", record.interval_s},
                 {"nodes", record.nodes},
                 {"attempts", attempts},
                 {"checkpoints", record.checkpoints},
                 {"costs", record.costs},
                 {"cost_sum_s", record.cost_sum_s},
                 {"latest", latest},
                 {"broken", broken},
                 {"trouble", record.trouble},
                 {"hold", hold}});
}

Result<Record> parse_record(std::string_view text) {
    const auto document = parse_document(text, record_schema);
    if (!document) {
        return tl::unexpected{document.error()};
    }
    const Object from{*document};
    Record record;
    record.job = from.count<std::uint32_t>("job");
    record.name = from.text("name");
    record.cluster = from.text("cluster");
    record.submitted_s = from.time("submitted");
    record.folder = from.text("folder");
    record.node_list = from.text("node_list");
    record.interval_s = from.seconds("interval_s");
    record.nodes = from.count<std::uint64_t>("nodes");
    record.checkpoints = from.count<std::uint64_t>("checkpoints");
    record.costs = from.count<std::uint64_t>("costs");
    record.cost_sum_s = from.seconds("cost_sum_s");
    for (const auto& one : from.objects("attempts", Record::most_attempts)) {
        record.attempts.push_back(read_attempt(one));
    }
    for (const auto& one : from.objects("latest", Record::most_latest)) {
        record.latest.push_back(read_checkpoint(one));
    }
    for (const auto& one : from.objects("broken", Record::most_latest)) {
        record.broken.push_back({one.text("name"), one.text("why")});
    }
    record.trouble = from.text("trouble");
    if (const auto hold = from.object("hold")) {
        record.hold = Hold{hold->seconds("since"), hold->text("reason"), hold->text("comment")};
    }
    return record;
}

Result<History> History::parse(std::string_view text) {
    const auto document = parse_document(text, history_schema);
    if (!document) {
        return tl::unexpected{document.error()};
    }
    History history;
    for (const auto& job : Object{*document}.objects("jobs", most_names)) {
        Costs costs{job.text("name"), {}};
        for (const auto& one : job.objects("costs", Costs::most)) {
            if (const auto cost_s = one.time("cost_s"); cost_s && *cost_s > 0) {
                costs.costs.push_back({one.count<std::uint32_t>("job"),
                                       one.count<std::uint32_t>("restarts"), *cost_s,
                                       one.seconds("at")});
            }
        }
        history.jobs_.push_back(std::move(costs));
    }
    return history;
}

std::string History::json() const {
    using nlohmann::ordered_json;
    auto jobs = ordered_json::array();
    for (const auto& job : jobs_) {
        auto costs = ordered_json::array();
        for (const auto& one : job.costs) {
            costs.push_back({{"job", one.job},
                             {"restarts", one.restarts},
                             {"cost_s", one.cost_s},
                             {"at", one.at_s}});
        }
        jobs.push_back({{"name", job.name}, {"costs", costs}});
    }
    return dump({{"schema", history_schema}, {"jobs", jobs}});
}

}  // namespace railhead::checkpoint
