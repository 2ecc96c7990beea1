// What does a running job's NCCL say of itself?  Answers of NCCL's RAS service (ncclras, or
// "echo verbose status | nc localhost 28028"), since NCCL 2.24.
// Source: docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/ras.html
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

/// A line of the table of communicators: those that are alike.
struct RasGroup {
    std::uint64_t communicators = 0;
    std::uint64_t nodes = 0;  ///< a communicator
    std::uint64_t ranks = 0;  ///< a communicator
    std::string status;       ///< "RUNNING", "INIT", "FINALIZE", "MISMATCH"
    std::string errors;       ///< "OK", "INCOMPLETE", "MISMATCH", …
    Evidence evidence;
};

/// A process, or a rank of a communicator, that is named.
struct RasMember {
    std::optional<std::uint32_t> rank;
    std::string node, gpu, process;
    std::string said;  ///< of it and those beside it: "6 ranks have launched up to operation 6649"
};

/// An entry below "Errors" or "Warnings".
struct RasProblem {
    bool is_error = false;
    std::string communicator;            ///< "#0-0"; empty: of the job
    std::string word;                    ///< "DEAD", "INCOMPLETE", "MISMATCH", "TIMEOUT"
    std::string said;                    ///< its first line
    std::vector<std::uint32_t> missing;  ///< ranks that gave no answer, the first of them
    std::vector<RasMember> members;      ///< the first of them
    Evidence evidence;
};

struct RasReport {
    std::optional<std::uint64_t> nodes, processes, gpus;
    std::vector<RasGroup> groups;
    std::vector<RasProblem> problems;
};

class RasReader : public LineReader {
 public:
    static constexpr std::size_t most = 4096;

    using LineReader::LineReader;
    [[nodiscard]] const RasReport& report() const { return report_; }

 private:
    enum class Section : std::uint8_t { none, summary, groups, errors, warnings };

    void read_line(std::string_view line) override;
    [[nodiscard]] bool open_section(std::string_view text);
    void read_group(std::string_view text);
    void read_problem(std::string_view text);
    void read_member(RasProblem& problem, std::string_view text);

    RasReport report_;
    Section section_ = Section::none;
    std::string said_;
};

}  // namespace railhead::diagnose
