// What did a job ask for, and where does its output lie?  scontrol show job, beyond what
// SlurmRecords keep of each attempt; and the nodes of partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

/// A value, and the line that it stands in.
struct Detail {
    std::string value;
    Evidence evidence;
};

/// One job, one task of an array, or one component of a heterogeneous job.  Empty: not told.
struct JobDetails {
    std::string id;  ///< as users name it: "12", "12_3", "12+1"
    std::string user;
    std::optional<std::uint32_t> user_id;
    std::string state, partition;
    Detail node_list;
    std::uint64_t nodes = 0, tasks = 0;  ///< 0: not told
    Detail gpus_per_task;                ///< TresPerTask, where it has GPUs
    Detail gpu_bind;                     ///< TresBind
    std::string std_out, std_err, work_dir;
    Evidence evidence;  ///< its first line
};

/// Reads scontrol show job, with -o or without.
class JobDetailsReader : public LineReader {
 public:
    static constexpr std::size_t most_jobs = 4096;

    using LineReader::LineReader;
    [[nodiscard]] const std::vector<JobDetails>& jobs() const { return jobs_; }

 private:
    void read_line(std::string_view line) override;
    void read_fields(std::string_view line);
    void read_paths(std::string_view line);

    std::vector<JobDetails> jobs_;
};

struct PartitionNodes {
    std::string name;
    std::string nodes;  ///< a host list
};

/// Reads scontrol show partition.
class PartitionReader : public LineReader {
 public:
    static constexpr std::size_t most_partitions = 4096;

    using LineReader::LineReader;
    [[nodiscard]] const std::vector<PartitionNodes>& partitions() const { return partitions_; }

 private:
    void read_line(std::string_view line) override;

    std::vector<PartitionNodes> partitions_;
};

/// The value of `key` in a line of scontrol, at the start of a word; empty for Slurm's words for
/// nothing, and where the key is not.
[[nodiscard]] std::string_view scontrol_value(std::string_view line, std::string_view key);

}  // namespace railhead::diagnose
