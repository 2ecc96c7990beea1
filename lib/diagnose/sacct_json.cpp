// sacct --json, job by job: a year of a large cluster is gigabytes.
//
// Its shape changed: 22.05 writes plain numbers and one state, 23.11 and later {"set": true,
// "number": 12} and a list of states.
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "diagnose/slurm_reader.hpp"

namespace railhead::diagnose {

namespace {

using nlohmann::json;

const json& at_key(const json& object, const char* key) {
    static const json nothing;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() ? *found : nothing;
}

/// 12 of 12 and of {"set": true, "infinite": false, "number": 12}; nothing of anything else.
std::optional<std::int64_t> number_of(const json& value) {
    if (value.is_number_integer()) {
        return value.get<std::int64_t>();
    }
    const auto& set = at_key(value, "set");
    const auto& number = at_key(value, "number");
    return set.is_boolean() && set.get<bool>() && number.is_number_integer()
               ? std::optional{number.get<std::int64_t>()}
               : std::nullopt;
}

/// A text, or the first of a list of them.
std::string text_of(const json& value) {
    if (value.is_array() && !value.empty()) {
        return text_of(value.front());
    }
    return value.is_string() ? printable(value.get_ref<const std::string&>()) : std::string{};
}

/// Zero is Slurm's "not yet".
std::optional<std::int64_t> seconds_of(const json& value) {
    const auto number = number_of(value);
    return number && *number > 0 ? number : std::nullopt;
}

std::string id_of(const json& job) {
    const auto number = number_of(at_key(job, "job_id")).value_or(0);
    const auto array = number_of(at_key(at_key(job, "array"), "job_id")).value_or(0);
    const auto task = number_of(at_key(at_key(job, "array"), "task_id"));
    const auto het = number_of(at_key(at_key(job, "het"), "job_id")).value_or(0);
    const auto offset = number_of(at_key(at_key(job, "het"), "job_offset"));
    return array > 0 && task    ? fmt::format("{}_{}", array, *task)
           : het > 0 && offset ? fmt::format("{}+{}", het, *offset)
                               : fmt::format("{}", number);
}

/// "1:9": exit status and signal.
std::string exit_code_of(const json& code) {
    const auto status = number_of(at_key(code, "return_code"));
    const auto& signal = at_key(code, "signal");
    const auto number = number_of(at_key(signal, "id")).value_or(
        number_of(at_key(signal, "signal_id")).value_or(0));
    return status || number != 0 ? fmt::format("{}:{}", status.value_or(0), number)
                                 : std::string{};
}

std::uint64_t gpus_of(const json& allocated) {
    std::uint64_t all = 0;
    std::uint64_t typed = 0;
    for (const auto& one : allocated) {
        const auto name = text_of(at_key(one, "name"));
        const auto count = number_of(at_key(one, "count")).value_or(0);
        if (text_of(at_key(one, "type")) != "gres" || count < 0) {
            continue;
        }
        if (name == "gpu") {
            all += static_cast<std::uint64_t>(count);
        } else if (name.starts_with("gpu:")) {
            typed += static_cast<std::uint64_t>(count);
        }
    }
    return all > 0 ? all : typed;
}

class SacctJson final : public SlurmLines {
 public:
    using SlurmLines::SlurmLines;

    [[nodiscard]] bool reads_pieces() const override { return true; }

    void read(std::string_view piece, std::uint64_t number) override {
        for (const char c : piece) {
            read_byte(c, number);
            number += c == '\n' ? 1 : 0;
        }
    }

    void finish() override {
        if (depth_ != 0) {
            note_unread(object_line_);  // cut
        }
    }

 private:
    static constexpr int job_depth = 3;  // {"jobs": [ {
    static constexpr std::size_t most_bytes = std::size_t{64} << 20U;

    void read_byte(char c, std::uint64_t number) {
        if (depth_ >= job_depth && object_.size() < most_bytes) {
            object_ += c;
        }
        if (is_text_) {
            is_text_ = is_escaped_ || c != '"';
            is_escaped_ = !is_escaped_ && c == '\\';
            return;
        }
        if (c == '"') {
            is_text_ = true;
        } else if (c == '{' || c == '[') {
            if (++depth_ == job_depth && c == '{') {
                object_ = "{";
                object_line_ = number;
            }
        } else if ((c == '}' || c == ']') && depth_-- == job_depth && c == '}') {
            read_object();
            object_.clear();
        }
    }

    void read_object() {
        const auto job = json::parse(object_, nullptr, false);
        if (job.is_discarded()) {
            note_unread(object_line_);
        } else if (job.contains("job_id") && job.contains("time")) {  // others: errors, warnings
            add(job);
        }
    }

    void add(const json& job) {
        JobAttempt attempt;
        attempt.id = id_of(job);
        attempt.number = static_cast<std::uint32_t>(number_of(at_key(job, "job_id")).value_or(0));
        attempt.name = text_of(at_key(job, "name"));
        attempt.user = text_of(at_key(job, "user"));
        attempt.state = text_of(at_key(at_key(job, "state"), "current"));
        attempt.reason = text_of(at_key(at_key(job, "state"), "reason"));
        attempt.reason = attempt.reason == "None" ? "" : attempt.reason;
        attempt.exit_code = exit_code_of(at_key(job, "exit_code"));
        attempt.node_list = text_of(at_key(job, "nodes"));
        attempt.node_list = attempt.node_list == "None assigned" ? "" : attempt.node_list;
        attempt.nodes =
            static_cast<std::uint64_t>(number_of(at_key(job, "allocation_nodes")).value_or(0));
        attempt.gpus = gpus_of(at_key(at_key(job, "tres"), "allocated"));
        const auto& time = at_key(job, "time");
        for (const auto& [key, field] : {std::pair{"submission", &attempt.submit_s},
                                         {"start", &attempt.start_s},
                                         {"end", &attempt.end_s}}) {
            *field = seconds_of(at_key(time, key));
            if (*field) {
                time_of(fmt::format("{}", **field));
            }
        }
        attempt.failed_node = text_of(at_key(job, "failed_node"));
        if (const auto restarts = number_of(at_key(job, "restart_cnt"))) {
            attempt.restarts = static_cast<std::uint32_t>(*restarts);
        }
        attempt.from = at(object_line_);
        into().attempts.push_back(std::move(attempt));
    }

    int depth_ = 0;
    bool is_text_ = false, is_escaped_ = false;
    std::string object_;
    std::uint64_t object_line_ = 0;
};

}  // namespace

std::unique_ptr<SlurmLines> read_sacct_json(SlurmRecords& into, std::uint32_t file) {
    return std::make_unique<SacctJson>(into, file);
}

}  // namespace railhead::diagnose
