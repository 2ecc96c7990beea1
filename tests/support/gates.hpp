// Questions to the gate, and what is asked of its answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "diagnose/gate.hpp"
#include "policy/parse.hpp"
#include "support/catch.hpp"
#include "training/catalogue.hpp"
#include "training/flops.hpp"

namespace railhead::test {

constexpr std::int64_t gate_start = 1'000'000;

/// Times count from `gate_start`.
inline diagnose::JobAttempt attempt(std::string id, std::string nodes, std::uint64_t count,
                                    std::uint64_t gpus, std::int64_t begin_s, std::int64_t end_s,
                                    std::string state = "COMPLETED") {
    diagnose::JobAttempt job;
    job.id = std::move(id);
    job.node_list = std::move(nodes);
    job.nodes = count;
    job.gpus = gpus;
    job.start_s = gate_start + begin_s;
    job.end_s = gate_start + end_s;
    job.state = std::move(state);
    return job;
}

inline diagnose::SlurmRecords records_of(std::vector<diagnose::JobAttempt> attempts) {
    diagnose::SlurmRecords records;
    static_cast<void>(records.sources.add("jobs.txt"));
    records.attempts = std::move(attempts);
    for (const auto& job : records.attempts) {
        records.latest_s = std::max(records.latest_s, job.end_s.value_or(0));
    }
    return records;
}

inline diagnose::NodeRecord node(std::string name, std::uint64_t gpus) {
    return {std::move(name), "IDLE", gpus, {}};
}

/// A question with what every test needs.
inline diagnose::GateQuestion question() {
    diagnose::GateQuestion about;
    about.catalogue = &training::built_in_catalogue();
    return about;
}

inline diagnose::GateCheck ask(const diagnose::GateQuestion& about, std::string_view id) {
    const auto gate = diagnose::pass_gate(about);
    const auto found = std::ranges::find(gate.checks, id, &diagnose::GateCheck::id);
    REQUIRE(found != gate.checks.end());
    return *found;
}

inline std::string verdict_of(const diagnose::GateQuestion& about, std::string_view id) {
    return std::string{name_of(ask(about, id).verdict)};
}

inline const training::Accelerator& accelerator(std::string_view name) {
    return **training::find_accelerator(training::built_in_catalogue(), name);
}

/// A run of so many timed steps on GPUs of that kind.
inline diagnose::Facts run_facts(std::string_view gpu, std::uint64_t gpus, double step_s) {
    diagnose::Facts facts;
    diagnose::TrainingFacts log;
    log.file = facts.sources.add("train.log");
    log.log.runs.emplace_back();
    log.log.runs.front().first_line = 7;
    log.summary.measure = training::Measure::step_s;
    log.summary.timed = 100;
    log.summary.lines = 100;
    log.summary.time.median = step_s;
    facts.hardware.accelerator = &accelerator(gpu);
    facts.hardware.gpus = gpus;
    facts.training.push_back(std::move(log));
    return facts;
}

inline void set_mfu(diagnose::Facts& facts, double share, training::Precision precision) {
    training::MfuAnswer mfu;
    mfu.accelerator = facts.hardware.accelerator;
    mfu.precision = precision;
    mfu.utilization.mfu = share;
    mfu.utilization.convention = &training::conventions().front();
    mfu.utilization.peak_tflops = facts.hardware.accelerator->peak_tflops(precision).value_or(0);
    mfu.rate.gpus = static_cast<double>(facts.hardware.gpus);
    facts.training.front().mfu = std::move(mfu);
}

inline policy::GateTargets targets_in(const std::string& toml) {
    const auto read = policy::parse_policy(toml, "railhead.toml");
    if (!read) {
        FAIL(to_string(read.error().front()));
    }
    return read->gate;
}

inline std::string errors_in(const std::string& toml) {
    const auto read = policy::parse_policy(toml, "railhead.toml");
    std::string text;
    if (!read) {
        for (const auto& error : read.error()) {
            text += to_string(error) + "\n";
        }
    }
    return text;
}

/// nccl-tests over so many nodes of 8 GPUs.
inline diagnose::BandwidthFacts table(diagnose::Facts& facts, std::uint64_t hosts, double busbw) {
    diagnose::BandwidthFacts found;
    found.file = facts.sources.add("nccl-tests.txt");
    found.table.hosts = hosts;
    found.table.ranks = hosts * 8;
    found.table.rows.push_back({0x1p33, 0, busbw, {}, {}, 0});
    return found;
}

inline std::string config(std::string_view tres, std::string_view scheduler,
                          std::string_view preempt) {
    return fmt::format(
        "Configuration data as of 2026-12-01T00:00:00\n"
        "AccountingStorageTRES   = {}\nKillOnBadExit           = 1\n"
        "PreemptMode             = {}\nPrivateData             = none\n"
        "SchedulerParameters     = bf_window=60\nSchedulerType           = {}\n",
        tres, preempt, scheduler);
}

}  // namespace railhead::test
