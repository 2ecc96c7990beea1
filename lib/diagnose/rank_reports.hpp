// What does each rank say of itself, beside failures: the CPUs that it is bound to, and figures
// that all ranks should have alike?
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.hpp"
#include "diagnose/evidence.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

/// The CPUs of one task, as Linux numbers them.  What is not told is absent.
struct CpuBinding {
    std::optional<std::uint32_t> rank;   ///< of the job
    std::optional<std::uint32_t> local;  ///< of its node
    std::optional<std::uint32_t> gpu;    ///< as nvidia-smi numbers it
    std::string host;
    CpuSet cpus;
    Evidence evidence;
};

/// Ranks whose gradient norm is not that of the others, in one iteration.  It is reduced over all
/// ranks, so that all print the same.
struct RankDifference {
    std::uint64_t iteration = 0;
    std::size_t ranks = 0;           ///< that told it
    double usual = 0;                ///< what most of them say
    std::vector<std::uint32_t> odd;  ///< fewer than a third of them, sorted
    double value = 0;                ///< of the first of them; may be no number
    Evidence evidence;               ///< its line
    std::uint64_t iterations = 1;    ///< in which these ranks differ
};

/// What a program says of a result that it could not trust, before ranks were mixed.
enum class ComplaintKind : std::uint8_t {
    local_nan,   ///< Megatron's check of gradients before they are reduced
    transient,   ///< computed again, the same GPU had another result
    persistent,  ///< another GPU had another result
};
struct RankComplaint {
    ComplaintKind kind = ComplaintKind::local_nan;
    std::optional<std::uint32_t> rank, device;
    std::string host;
    Evidence evidence;
};

struct RankReports {
    std::vector<CpuBinding> bindings;  ///< in the order of the file
    std::vector<RankDifference> differences;
    std::uint64_t compared = 0;  ///< iterations of which three ranks and more told a norm
    std::vector<RankComplaint> complaints;
    std::uint64_t left_out = 0;

    [[nodiscard]] bool empty() const {
        return bindings.empty() && compared == 0 && complaints.empty();
    }
};

/// Reads what a job prints: lines of srun --cpu-bind=verbose, "taskset -cp", Cpus_allowed_list, of
/// railhead's own verbose line; steps that ranks with labels print; Megatron's checks of results.
class RankReportReader : public LineReader {
 public:
    static constexpr std::size_t most_bindings = 65536;
    static constexpr std::size_t most_complaints = 1024;
    static constexpr std::size_t most_values = 65536;  ///< of one iteration
    static constexpr std::size_t most_open = 8;        ///< iterations of which ranks still print

    using LineReader::LineReader;
    [[nodiscard]] const RankReports& reports() const { return reports_; }

 private:
    struct Value {
        std::uint32_t rank = 0;
        double norm = 0;
        std::uint64_t line = 0;
    };
    struct Open {
        std::uint64_t iteration = 0;
        std::vector<Value> values;
    };

    void read_line(std::string_view line) override;
    void read_end() override;
    bool read_binding(std::string_view text, std::string_view label);
    bool read_complaint(std::string_view text, std::string_view label);
    void read_norm(std::string_view text);
    void judge(const Open& open);

    RankReports reports_;
    std::deque<Open> open_;
    std::optional<std::uint32_t> suspect_;  ///< rank of the last result that was called unexpected
};

/// The CPUs that NCCL tells: a mask ("ff,fff00000") or, from 2.27 on, a list ("0-31,64-95").
[[nodiscard]] std::optional<CpuSet> cpus_of_nccl(std::string_view text);

}  // namespace railhead::diagnose
