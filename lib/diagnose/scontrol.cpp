// scontrol show job and show node, with -o or without.
#include <string>
#include <utility>

#include "base/text.hpp"
#include "diagnose/slurm_reader.hpp"
#include "job/gpu_request.hpp"

namespace railhead::diagnose {

namespace {

/// The value of a key at the start of a word; empty for Slurm's words for nothing, and where the
/// key is not.
std::string_view value_of(std::string_view line, std::string_view key) {
    for (const auto word : split_words(line)) {
        if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
            const auto value = word.substr(key.size() + 1);
            const bool is_nothing = value == "(null)" || value == "None" || value == "Unknown";
            return is_nothing ? std::string_view{} : value;
        }
    }
    return {};
}

class JobRecords final : public SlurmLines {
 public:
    using SlurmLines::SlurmLines;

    void read(std::string_view line, std::uint64_t number) override {
        if (line.starts_with("JobId=")) {
            finish();
            has_job_ = true;
            job_ = {};
            job_.from = at(number);
            read_first(line);
        } else if (has_job_ && line.starts_with("   ")) {
            read_words(line);
        }
    }

    void finish() override {
        if (!std::exchange(has_job_, false)) {
            return;
        }
        const auto state = short_state(job_.state);
        if (state == "RUNNING" || state == "PENDING" || state == "SUSPENDED") {
            job_.end_s.reset();  // Slurm tells when it is to end
        }
        if (state == "PENDING") {
            job_.start_s.reset();
        }
        into().attempts.push_back(std::move(job_));
    }

 private:
    /// The ids stand before the name, which is the user's and may look like a key.
    void read_first(std::string_view line) {
        constexpr std::string_view name_key = " JobName=";
        const auto name_at = line.find(name_key);
        const auto ids = line.substr(0, name_at);
        job_.number = parse_number<std::uint32_t>(value_of(ids, "JobId")).value_or(0);
        const auto array = value_of(ids, "ArrayJobId");
        const auto het = value_of(ids, "HetJobId");
        job_.id =
            !array.empty() ? std::string{array} + "_" + std::string{value_of(ids, "ArrayTaskId")}
            : !het.empty() ? std::string{het} + "+" + std::string{value_of(ids, "HetJobOffset")}
                           : std::string{value_of(ids, "JobId")};
        if (name_at == std::string_view::npos) {
            return;
        }
        auto name = line.substr(name_at + name_key.size());
        if (const auto user_at = name.rfind(" UserId="); user_at != std::string_view::npos) {
            read_words(name.substr(user_at));  // -o: all in one line
            name = name.substr(0, user_at);
        }
        job_.name = printable(name);
    }

    /// Slurm's own fields come before those that a user writes: the first of a key counts.
    void read_words(std::string_view line) {
        const auto set = [line](std::string& field, std::string_view key) {
            if (const auto value = value_of(line, key); field.empty() && !value.empty()) {
                field = printable(value);
            }
        };
        const auto set_time = [&](std::optional<std::int64_t>& field, std::string_view key) {
            if (const auto time = parse_slurm_time(value_of(line, key)); time && !field) {
                field =
                    time_is_past(key) ? time_of(value_of(line, key)) : std::optional{time->at_s};
            }
        };
        set(job_.user, "UserId");
        job_.user = job_.user.substr(0, job_.user.find('('));
        set(job_.state, "JobState");
        set(job_.reason, "Reason");
        set(job_.exit_code, "ExitCode");
        set(job_.node_list, "NodeList");
        set_time(job_.submit_s, "SubmitTime");
        set_time(job_.start_s, "StartTime");
        set_time(job_.end_s, "EndTime");
        for (const std::string_view key : {"TRES", "AllocTRES"}) {
            if (const auto tres = value_of(line, key); job_.gpus == 0 && !tres.empty()) {
                job_.gpus = gpus_of_tres(tres);
            }
        }
        if (const auto nodes = parse_number<std::uint64_t>(value_of(line, "NumNodes"));
            nodes && job_.nodes == 0) {
            job_.nodes = *nodes;
        }
        if (const auto restarts = parse_number<std::uint32_t>(value_of(line, "Restarts"));
            restarts && !job_.restarts) {
            job_.restarts = *restarts;
        }
    }

    /// The end of a job that runs lies ahead: it is not the latest time of the records.
    [[nodiscard]] bool time_is_past(std::string_view key) const {
        const auto state = short_state(job_.state);
        return key == "SubmitTime" || (state != "RUNNING" && state != "PENDING");
    }

    JobAttempt job_;
    bool has_job_ = false;
};

/// A node that is out of service says since when, behind its reason: "[root@2026-12-01T12:00:30]".
class NodeRecords final : public SlurmLines {
 public:
    using SlurmLines::SlurmLines;

    void read(std::string_view line, std::uint64_t number) override {
        if (line.starts_with("NodeName=")) {
            node_ = value_of(line, "NodeName");
            state_.clear();
            into().nodes.push_back({printable(node_), {}, 0, at(number)});
        }
        if (const auto state = value_of(line, "State"); !state.empty()) {
            state_ = state;
        }
        add_to_node(line);
        constexpr std::string_view key = "Reason=";
        const auto at_reason = line.find(key);
        const auto open = line.rfind(" [");
        const auto sign = line.rfind('@');
        const auto close = line.rfind(']');
        if (node_.empty() || at_reason == std::string_view::npos ||
            open == std::string_view::npos || sign == std::string_view::npos ||
            close == std::string_view::npos || open < at_reason || sign < open || close < sign) {
            return;
        }
        if (const auto begin_s = time_of(line.substr(sign + 1, close - sign - 1))) {
            const auto begin = at_reason + key.size();
            into().events.push_back({node_, *begin_s, std::nullopt, printable(state_),
                                     printable(trim(line.substr(begin, open - begin))),
                                     at(number)});
        }
    }

 private:
    void add_to_node(std::string_view line) {
        if (node_.empty()) {
            return;
        }
        auto& node = into().nodes.back();
        node.state = printable(state_);
        if (const auto gres = value_of(line, "Gres"); !gres.empty()) {
            const auto gpus = job::parse_gpus(gres, job::Repeated::add);
            node.gpus = gpus ? gpus->total() : 0;
        }
    }

    std::string node_, state_;
};

}  // namespace

std::unique_ptr<SlurmLines> read_job_records(SlurmRecords& into, std::uint32_t file) {
    return std::make_unique<JobRecords>(into, file);
}

std::unique_ptr<SlurmLines> read_node_records(SlurmRecords& into, std::uint32_t file) {
    return std::make_unique<NodeRecords>(into, file);
}

}  // namespace railhead::diagnose
