// What do Slurm's daemons say?  sdiag's figures of slurmctld, and slurmd's log of a node.
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

struct RpcCount {
    std::string who;  ///< a message type, or a user
    std::uint64_t count = 0;
    std::uint64_t total_us = 0;
    Evidence evidence;
};

/// Figures that sdiag prints; of a release that does not print one it is absent.
struct ControllerStatistics {
    std::optional<double> at_s, since_s;  ///< seconds since 1970
    std::optional<std::uint64_t> server_threads, agent_queue, dbd_agent_queue;
    std::optional<std::uint64_t> jobs_submitted, jobs_started, jobs_pending, jobs_running;
    // Of the main scheduler, then of backfill.
    std::optional<std::uint64_t> main_last_us, main_max_us, main_mean_us, main_queue;
    std::optional<std::uint64_t> backfilled, backfill_last_us, backfill_max_us, backfill_mean_us;
    std::optional<std::uint64_t> backfill_depth, backfill_depth_try, backfill_queue;
    std::vector<RpcCount> by_type, by_user;
    Evidence evidence;  ///< "sdiag output at …"
};

class SdiagReader : public LineReader {
 public:
    static constexpr std::size_t most_rpcs = 1024;

    using LineReader::LineReader;
    [[nodiscard]] const ControllerStatistics& statistics() const { return statistics_; }

 private:
    enum class Section : std::uint8_t { server, main, backfill, by_type, by_user, rest };

    void read_line(std::string_view line) override;
    bool open_section(std::string_view text);
    void read_rpc(std::string_view text);

    ControllerStatistics statistics_;
    Section section_ = Section::server;
};

enum class SlurmdEventKind : std::uint8_t {
    daemon_started,
    oom,        ///< a step was at its memory limit
    cancelled,  ///< "DUE TO …": time limit, node failure, preemption
    prolog_failed,
    epilog_failed,
    health_check_failed,
    launch_failed,
    not_registered,  ///< slurmctld could not be reached, or refused
    gres_missing,    ///< fewer GPUs than configured
};
[[nodiscard]] std::string_view name_of(SlurmdEventKind kind);

struct SlurmdEvent {
    SlurmdEventKind kind = SlurmdEventKind::daemon_started;
    std::optional<std::uint64_t> job;
    std::string reason;  ///< of a job that was cancelled: "TIME LIMIT"
    std::optional<double> at_s;
    Evidence evidence;
};

struct SlurmdLog {
    std::vector<SlurmdEvent> events;  ///< in the order of the file
    std::uint64_t left_out = 0;
};

class SlurmdLogReader : public LineReader {
 public:
    static constexpr std::size_t most_events = 16384;

    using LineReader::LineReader;
    [[nodiscard]] const SlurmdLog& log() const { return log_; }

 private:
    void read_line(std::string_view line) override;

    SlurmdLog log_;
};

}  // namespace railhead::diagnose
