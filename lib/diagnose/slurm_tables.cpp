// Tables with a heading and "|" between the fields: sacct --parsable2 (or --parsable) and sacctmgr
// show event --parsable2.  Fields may stand in any order, and any but the few that are asked for
// may be missing.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "diagnose/slurm_reader.hpp"

namespace railhead::diagnose {

namespace {

constexpr auto none = static_cast<std::size_t>(-1);

class Table : public SlurmLines {
 public:
    /// `free`: the field that holds a user's text, in which a "|" may stand.
    Table(SlurmRecords& into, std::uint32_t file, std::string_view free)
        : SlurmLines{into, file}, free_name_{free} {}

    void read(std::string_view line, std::uint64_t number) final {
        if (trim(line).empty()) {
            return;
        }
        if (heading_.empty()) {
            for (const auto name : split(line, '|')) {
                heading_.emplace_back(trim(name));
            }
            const auto at = std::ranges::find(heading_, free_name_);
            free_ = at == heading_.end() ? none
                                         : static_cast<std::size_t>(at - heading_.begin());
            return;
        }
        fields_ = split(line, '|');
        if (fields_.size() > heading_.size() && free_ != none) {
            join_free();
        }
        if (fields_.size() != heading_.size()) {
            note_unread(number);
        } else if (fields_[0] != heading_[0]) {  // else: tables one after another
            read_row(number);
        }
    }

 protected:
    virtual void read_row(std::uint64_t number) = 0;

    /// The field of this heading; empty where there is none, and for Slurm's words for nothing.
    [[nodiscard]] std::string_view field(std::string_view name) const {
        const auto at = std::ranges::find(heading_, name);
        if (at == heading_.end()) {
            return {};
        }
        const auto text = trim(fields_[static_cast<std::size_t>(at - heading_.begin())]);
        constexpr std::array<std::string_view, 5> nothing{"None", "Unknown", "(null)",
                                                          "None assigned", "N/A"};
        return std::ranges::find(nothing, text) == nothing.end() ? text : std::string_view{};
    }

 private:
    void join_free() {
        const auto more = fields_.size() - heading_.size();
        const auto first = fields_[free_];
        const auto last = fields_[free_ + more];
        fields_[free_] = {first.data(),
                          static_cast<std::size_t>(last.data() + last.size() - first.data())};
        const auto from = fields_.begin() + static_cast<std::ptrdiff_t>(free_) + 1;
        fields_.erase(from, from + static_cast<std::ptrdiff_t>(more));
    }

    std::string_view free_name_;
    std::size_t free_ = none;
    std::vector<std::string> heading_;
    std::vector<std::string_view> fields_;
};

class JobTable final : public Table {
 public:
    JobTable(SlurmRecords& into, std::uint32_t file) : Table{into, file, "JobName"} {}

 private:
    void read_row(std::uint64_t number) override {
        JobAttempt job;
        job.id = field("JobID").empty() ? field("JobIDRaw") : field("JobID");
        if (job.id.find('.') != std::string::npos) {
            return;  // a step
        }
        if (job.id.empty() || job.id.front() < '0' || job.id.front() > '9') {
            note_unread(number);
            return;
        }
        const auto raw = field("JobIDRaw").empty() ? std::string_view{job.id} : field("JobIDRaw");
        job.number = parse_number<std::uint32_t>(raw).value_or(0);
        job.name = printable(field("JobName"));
        job.user = printable(field("User"));
        job.state = printable(field("State"));
        job.exit_code = printable(field("ExitCode"));
        job.reason = printable(field("Reason"));
        job.node_list = field("NodeList");
        job.gpus = gpus_of_tres(field("AllocTRES"));
        job.nodes = parse_number<std::uint64_t>(
                        field("AllocNodes").empty() ? field("NNodes") : field("AllocNodes"))
                        .value_or(0);
        job.submit_s = time_of(field("Submit"));
        job.start_s = time_of(field("Start"));
        job.end_s = time_of(field("End"));
        job.failed_node = printable(field("FailedNode"));
        job.restarts = parse_number<std::uint32_t>(field("Restarts"));
        job.from = at(number);
        into().attempts.push_back(std::move(job));
    }
};

class EventTable final : public Table {
 public:
    EventTable(SlurmRecords& into, std::uint32_t file) : Table{into, file, "Reason"} {}

 private:
    void read_row(std::uint64_t number) override {
        if (field("NodeName").empty()) {
            return;  // of the cluster as a whole: slurmctld registered, or its TRES changed
        }
        const auto begin_s = time_of(field("TimeStart"));
        if (!begin_s) {
            note_unread(number);
            return;
        }
        into().events.push_back({std::string{field("NodeName")}, *begin_s,
                                 time_of(field("TimeEnd")), printable(field("State")),
                                 printable(field("Reason")), at(number)});
    }
};

}  // namespace

std::unique_ptr<SlurmLines> read_job_table(SlurmRecords& into, std::uint32_t file) {
    return std::make_unique<JobTable>(into, file);
}

std::unique_ptr<SlurmLines> read_event_table(SlurmRecords& into, std::uint32_t file) {
    return std::make_unique<EventTable>(into, file);
}

}  // namespace railhead::diagnose
