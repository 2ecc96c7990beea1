// Rules on ranks that failed or are absent: tracebacks, flight records, NCCL's RAS.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "diagnose/rules.hpp"

namespace railhead::diagnose {

namespace {

/// The failure that began it, of all files; null where none may be a cause.
const RankFailure* first_failure(const Facts& facts) {
    for (const auto& failures : facts.machine.failures) {
        const auto* first = find_first(failures);
        if (first != nullptr && may_be_cause(first->kind)) {
            return first;
        }
    }
    return nullptr;
}

std::string rank_text(const RankFailure& failure) {
    auto text = failure.rank ? fmt::format("Rank {}", *failure.rank) : std::string{"A rank"};
    if (!failure.host.empty()) {
        text += fmt::format(" on {}", printable(failure.host));
    }
    return text;
}

Finding find_gpu_memory(const Facts& facts) {
    if (facts.machine.failures.empty()) {
        return unknown({Input::job_output});
    }
    const auto* failure = first_failure(facts);
    if (failure == nullptr || failure->kind != FailureKind::gpu_memory) {
        return not_found();
    }
    auto finding =
        found(Confidence::certain,
              fmt::format("{} ran out of GPU memory{}{}.", rank_text(*failure),
                          failure->frame.empty() ? "" : " at ", printable(failure->frame)),
              {failure->evidence});
    finding.fix = {
        "a smaller micro-batch, selective or full recomputation",
        "a sharded optimizer (ZeRO, --use-distributed-optimizer, FSDP), more tensor or "
        "pipeline parallelism",
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where much is reserved and not "
        "allocated"};
    finding.expected = "railhead size tells the memory of a layout before it is run";
    return finding;
}

Finding find_failed_rank(const Facts& facts) {
    if (facts.machine.failures.empty()) {
        return unknown({Input::job_output});
    }
    const auto* failure = first_failure(facts);
    if (failure == nullptr || failure->kind == FailureKind::gpu_memory) {
        return not_found();
    }
    auto finding =
        found(Confidence::likely,
              fmt::format("{} failed first, of {}: {}{}{}.", rank_text(*failure),
                          name_of(failure->kind), printable(failure->type),
                          failure->message.empty() ? "" : ": ", printable(failure->message)),
              {failure->evidence});
    finding.role = Role::symptom;
    finding.fix = {fmt::format("look at {} first: what others print then follows from it",
                               failure->frame.empty() ? "its log" : printable(failure->frame)),
                   "dmesg -T on its node at that time: Xid, out of memory"};
    finding.expected = "ranks that live";
    return finding;
}

Finding find_absent(const Facts& facts) {
    constexpr std::size_t two = 2;
    if (facts.machine.flight_records.size() < two) {
        return unknown({Input::flight_records});
    }
    const auto gaps = find_gaps(facts.machine.flight_records);
    const auto gap =
        std::ranges::find_if(gaps, [](const auto& one) { return !one.behind.empty(); });
    if (gap == gaps.end()) {
        return not_found();
    }
    constexpr std::size_t most = 8;
    const std::vector<std::uint32_t> named(
        gap->behind.begin(),
        gap->behind.begin() + static_cast<std::ptrdiff_t>(std::min(most, gap->behind.size())));
    auto finding = found(
        Confidence::certain,
        fmt::format("In process group {} ({}) {} did not come to collective {}{}{}, in which the "
                    "others wait: {}{}.",
                    printable(gap->group), printable(gap->description),
                    count_of(gap->behind.size(), "rank"), gap->furthest,
                    gap->call.empty() ? "" : ", ", printable(gap->call), fmt::join(named, ", "),
                    named.size() < gap->behind.size() ? ", ..." : ""),
        {{gap->file, gap->line, {}}});
    finding.role = Role::symptom;
    finding.fix = {"the logs of these ranks: their last lines, a traceback, a signal",
                   "py-spy dump --pid PID where they still run",
                   "do all ranks go the same way through the program?  A condition on the rank, or "
                   "loaders of different length, part them"};
    finding.expected = "the run goes on";
    return finding;
}

Finding find_ras(const Facts& facts) {
    if (facts.machine.ras.empty()) {
        return unknown({Input::ras});
    }
    for (const auto& report : facts.machine.ras) {
        const auto problem = std::ranges::find(report.problems, true, &RasProblem::is_error);
        if (problem == report.problems.end()) {
            continue;
        }
        auto finding = found(Confidence::certain,
                             fmt::format("NCCL says of the running job, {}: {}",
                                         printable(problem->word), printable(problem->said)),
                             {problem->evidence});
        finding.role = Role::symptom;
        finding.fix = {"the logs and the nodes of the ranks that are named",
                       "scancel -s ABRT, or TORCH_NCCL_DUMP_ON_TIMEOUT=1, for stacks"};
        finding.expected = "the run goes on";
        return finding;
    }
    return not_found();
}

std::string rank_text(const RankComplaint& complaint) {
    auto text = complaint.rank ? fmt::format("Rank {}", *complaint.rank) : std::string{"A rank"};
    if (complaint.device) {
        text += fmt::format(", GPU {}", *complaint.device);
    }
    if (!complaint.host.empty()) {
        text += fmt::format(" of {}", printable(complaint.host));
    }
    return text;
}

/// A rank that computed something else than it does again, or than another GPU does.
const RankComplaint* proven_complaint(const RankReports& reports) {
    const auto found = std::ranges::find_if(reports.complaints, [](const RankComplaint& one) {
        return one.kind != ComplaintKind::local_nan;
    });
    return found == reports.complaints.end() ? nullptr : &*found;
}

/// The rank that alone has gradients that are no number before they are mixed.
const RankComplaint* lone_complaint(const RankReports& reports) {
    const RankComplaint* lone = nullptr;
    for (const auto& one : reports.complaints) {
        if (one.kind != ComplaintKind::local_nan) {
            continue;
        }
        if (!one.rank || (lone != nullptr && lone->rank != one.rank)) {
            return nullptr;
        }
        lone = &one;
    }
    return lone;
}

Finding diverging(Confidence confidence, std::string what, const Evidence& evidence) {
    auto finding =
        found(confidence, std::move(what) + " Suspect silent data corruption.", {evidence});
    finding.fix = {
        "drain its node: scontrol update NodeName=NODE State=DRAIN Reason=\"suspect corruption\"; "
        "dcgmi diag -r 4 and nvidia-smi -q -d ECC,ROW_REMAPPER there",
        "start again from a checkpoint before that iteration, without the node (--exclude=NODE): "
        "the same steps, well on other nodes, show that it was the GPU",
        "--check-for-nan-in-loss-and-grad and --rerun-mode=validate_results of Megatron-LM find it "
        "at once"};
    finding.expected = "weights that all ranks agree on; the steps since then are lost";
    return finding;
}

Finding find_diverging(const Facts& facts) {
    if (facts.machine.ranks.empty()) {
        return unknown({Input::rank_norms});
    }
    bool is_compared = false;
    for (const auto& reports : facts.machine.ranks) {
        is_compared = is_compared || reports.compared > 0 || !reports.complaints.empty();
        if (const auto* proven = proven_complaint(reports)) {
            const bool persistent = proven->kind == ComplaintKind::persistent;
            return diverging(persistent ? Confidence::certain : Confidence::likely,
                             fmt::format("{} computed what {} does not.", rank_text(*proven),
                                         persistent ? "another GPU" : "the same GPU, asked again,"),
                             proven->evidence);
        }
        if (!reports.differences.empty()) {
            const auto& difference = reports.differences.front();
            return diverging(
                Confidence::likely,
                fmt::format("Rank {} has gradient norm {:.4g} at iteration {}, and {} of {} ranks "
                            "have {:.4g}; it is one number, reduced over all of them.",
                            difference.odd.front(), difference.value, difference.iteration,
                            difference.ranks - difference.odd.size(), difference.ranks,
                            difference.usual),
                difference.evidence);
        }
        if (const auto* lone = lone_complaint(reports)) {
            auto finding = diverging(
                Confidence::possible,
                fmt::format("{} alone has gradients that are no number, before they are reduced: "
                            "its samples do it, or its GPU.",
                            rank_text(*lone)),
                lone->evidence);
            finding.role = Role::symptom;
            return finding;
        }
    }
    return is_compared ? not_found() : unknown({Input::rank_norms});
}

constexpr std::string_view of_divergence[] = {"nan", "loss-spike", "gradient-blow-up",
                                              "rank-failed", "skipped-iterations"};
constexpr std::string_view of_failure[] = {"collective-timeout", "hang", "retry-exceeded",
                                           "nccl-connect"};
constexpr std::string_view of_absence[] = {"collective-timeout", "hang", "nccl-ras"};

constexpr Rule rules[] = {
    {"rank-diverges", "a rank that computes something else than the others",
     "what it computes goes into the weights of all", of_divergence, find_diverging},
    {"gpu-out-of-memory", "ranks that ran out of GPU memory", "one rank that dies ends all",
     of_failure, find_gpu_memory},
    {"rank-failed", "the rank that failed first", "what all others print follows from it",
     of_failure, find_failed_rank},
    {"absent-rank", "ranks that did not come to a collective", "all others wait for them",
     of_absence, find_absent},
    {"nccl-ras",
     "errors that NCCL tells of a running job",
     "ranks that are gone stop all",
     {},
     find_ras},
};

}  // namespace

std::span<const Rule> failure_rules() {
    return rules;
}

}  // namespace railhead::diagnose
