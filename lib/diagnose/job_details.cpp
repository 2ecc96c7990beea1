#include "diagnose/job_details.hpp"

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

/// "JobId=13 HetJobId=12 HetJobOffset=1": as users name it.
std::string id_of(std::string_view ids) {
    const auto array = scontrol_value(ids, "ArrayJobId");
    const auto het = scontrol_value(ids, "HetJobId");
    if (!array.empty()) {
        return std::string{array} + "_" + std::string{scontrol_value(ids, "ArrayTaskId")};
    }
    return het.empty() ? std::string{scontrol_value(ids, "JobId")}
                       : std::string{het} + "+" + std::string{scontrol_value(ids, "HetJobOffset")};
}

/// A path may hold blanks: it goes to the end of its line, or to the next field of -o.
std::string path_of(std::string_view line, std::string_view key) {
    const auto at = line.find(key);
    if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ')) {
        return {};
    }
    auto value = line.substr(at + key.size());
    for (const std::string_view next : {" StdErr=", " StdIn=", " StdOut=", " Power=", " TresPer",
                                        " TresBind=", " TRES", " MailUser=", " CpusPerTres="}) {
        value = value.substr(0, value.find(next));
    }
    return trim(value) == "(null)" ? std::string{} : std::string{trim(value)};
}

}  // namespace

std::string_view scontrol_value(std::string_view line, std::string_view key) {
    for (const auto word : split_words(line)) {
        if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
            const auto value = word.substr(key.size() + 1);
            const bool is_nothing =
                value == "(null)" || value == "None" || value == "Unknown" || value == "N/A";
            return is_nothing ? std::string_view{} : value;
        }
    }
    return {};
}

void JobDetailsReader::read_line(std::string_view line) {
    if (line.starts_with("JobId=")) {
        if (jobs_.size() == most_jobs) {
            return;
        }
        auto& job = jobs_.emplace_back();
        // The ids stand before the name, which is the user's and may look like a key.
        const auto name_at = line.find(" JobName=");
        job.id = printable(id_of(line.substr(0, name_at)));
        job.evidence = evidence();
        const auto user_at = line.rfind(" UserId=");
        if (user_at != std::string_view::npos) {
            read_fields(line.substr(user_at));  // -o: all in one line
        }
    } else if (!jobs_.empty() && line.starts_with("   ")) {
        read_fields(line);
    }
}

/// Slurm's own fields come before those that a user writes: the first of a key counts.
void JobDetailsReader::read_fields(std::string_view line) {
    auto& job = jobs_.back();
    const auto set = [&](std::string& field, std::string_view key) {
        if (const auto value = scontrol_value(line, key); field.empty() && !value.empty()) {
            field = printable(value);
        }
    };
    const auto set_detail = [&](Detail& field, std::string_view key) {
        if (field.value.empty()) {
            set(field.value, key);
            if (!field.value.empty()) {
                field.evidence = evidence();
            }
        }
    };
    const auto set_count = [&](std::uint64_t& field, std::string_view key) {
        if (field == 0) {
            const auto value = scontrol_value(line, key);
            field = parse_number<std::uint64_t>(value.substr(0, value.find('-'))).value_or(0);
        }
    };
    if (job.user.empty()) {
        const auto user = scontrol_value(line, "UserId");
        job.user = printable(user.substr(0, user.find('(')));
        job.user_id = parse_number<std::uint32_t>(word_after(user, "(", ")"));
    }
    set(job.state, "JobState");
    set(job.partition, "Partition");
    set_detail(job.node_list, "NodeList");
    set_count(job.nodes, "NumNodes");
    set_count(job.tasks, "NumTasks");
    if (scontrol_value(line, "TresPerTask").find("gpu") != std::string_view::npos) {
        set_detail(job.gpus_per_task, "TresPerTask");
    }
    set_detail(job.gpu_bind, "TresBind");
    read_paths(line);
}

void JobDetailsReader::read_paths(std::string_view line) {
    auto& job = jobs_.back();
    const auto set = [&](std::string& field, std::string_view key) {
        if (field.empty()) {
            field = path_of(line, key);
        }
    };
    set(job.work_dir, "WorkDir=");
    set(job.std_out, "StdOut=");
    set(job.std_err, "StdErr=");
}

void PartitionReader::read_line(std::string_view line) {
    if (const auto name = scontrol_value(line, "PartitionName");
        !name.empty() && partitions_.size() < most_partitions) {
        partitions_.push_back({printable(name), {}});
    }
    if (const auto nodes = scontrol_value(line, "Nodes");
        !nodes.empty() && !partitions_.empty() && partitions_.back().nodes.empty()) {
        partitions_.back().nodes = nodes;
    }
}

}  // namespace railhead::diagnose
