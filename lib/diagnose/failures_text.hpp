// Which rank failed first, and of what?  Python tracebacks, torchrun's summary, what srun and
// slurmstepd say of tasks that ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

enum class FailureKind : std::uint8_t {
    gpu_memory,     ///< CUDA out of memory
    host_memory,    ///< out of memory of the job or the node
    shared_memory,  ///< /dev/shm is full
    gpu_hardware,   ///< ECC error, GPU lost
    gpu_program,    ///< illegal address, assertion in a kernel
    not_a_number,   ///< NaN or infinity in loss or gradients
    disk_full,      ///< or over quota
    crash,          ///< a signal: segmentation fault, bus error, abort
    other,          ///< any other exception, or an exit code
    timeout,        ///< a collective or a rendezvous: another rank was absent
    nccl,           ///< NCCL gave an error back
    consequence,    ///< the end of others: torchrun's summary, connections closed, signals
    count_
};
[[nodiscard]] std::string_view name_of(FailureKind kind);
/// Whether it may have begun the trouble; the others follow what another rank did.
[[nodiscard]] bool may_be_cause(FailureKind kind);

struct RankFailure {
    FailureKind kind = FailureKind::other;
    std::string label;  ///< of the launcher: "rank3", "default3", "3"; empty: none
    std::optional<std::uint32_t> rank;
    std::string host;              ///< where it is told
    std::string type;              ///< "torch.OutOfMemoryError"; "srun", "slurmstepd", "torchrun"
    std::string message;           ///< cut
    std::string frame;             ///< the innermost: "train.py:88"; empty: none
    std::optional<double> at_s;    ///< of the line's time stamp, seconds since 1970
    bool is_chained = false;       ///< came while another, told before it, was handled
    std::uint64_t first_line = 0;  ///< of the traceback
    Evidence evidence;             ///< the line that names it
};

struct Failures {
    std::vector<RankFailure> failures;  ///< in the order of the file
    std::uint64_t left_out = 0;
    std::uint64_t unfinished = 0;  ///< tracebacks whose last line is not there
};

/// The failure that most likely began it: the first that may be a cause and is not chained to
/// another, by time where all of them have one, else by line; else the first of all.  Null where
/// there is none.
[[nodiscard]] const RankFailure* find_first(const Failures& failures);

class FailureReader : public LineReader {
 public:
    static constexpr std::size_t most_failures = 16384;
    static constexpr std::size_t most_labels = 65536;

    using LineReader::LineReader;
    [[nodiscard]] const Failures& failures() const { return failures_; }

 private:
    /// A traceback that is being read, of one label.
    struct Open {
        std::size_t indent = 0;
        std::uint64_t first_line = 0;
        unsigned lines = 0;
        std::string frame;
        bool is_chained = false;
    };

    void read_line(std::string_view line) override;
    void read_end() override;
    bool read_traceback(std::string_view text, std::size_t indent);
    bool read_slurm(std::string_view text);
    bool read_torchrun(std::string_view text);
    void add(RankFailure failure);

    Failures failures_;
    std::map<std::string, Open, std::less<>> open_;
    std::map<std::string, std::uint64_t, std::less<>> chained_;  ///< label to the line that says so
    std::string label_;
    std::optional<double> at_s_;
    std::optional<RankFailure> torchrun_;  ///< "Root Cause" that is being read
};

}  // namespace railhead::diagnose
