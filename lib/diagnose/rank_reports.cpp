#include "diagnose/rank_reports.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "affinity/cpu_mask.hpp"
#include "base/text.hpp"
#include "training/log_fields.hpp"
#include "training/log_line.hpp"

namespace railhead::diagnose {

namespace {

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

constexpr double most_steps = 1e15;

std::optional<std::uint32_t> number(std::string_view text) {
    return parse_number<std::uint32_t>(text);
}

/// The rank in a launcher's label: "3" of srun, "rank3" and "default3" of torchrun, "1,3" of
/// mpirun.
std::optional<std::uint32_t> rank_in_label(std::string_view label) {
    const auto at = label.find_last_not_of("0123456789");
    const auto digits = at == std::string_view::npos ? label : label.substr(at + 1);
    const auto name = label.substr(0, label.size() - digits.size());
    return name.empty() || name == "rank" || name == "default" || name.ends_with(',')
               ? number(digits)
               : std::nullopt;
}

std::optional<CpuSet> list_of(std::string_view text) {
    auto cpus = parse_cpu_list(trim(text));
    return cpus && !cpus->empty() ? std::optional{std::move(*cpus)} : std::nullopt;
}

std::optional<CpuSet> mask_of(std::string_view text) {
    auto cpus = affinity::parse_cpu_mask(text);
    return cpus && !cpus->empty() ? std::optional{std::move(*cpus)} : std::nullopt;
}

/// "cpu-bind=MASK - n1, task  3  1 [4711]: mask 0xff00 set" of srun --cpu-bind=verbose.
std::optional<CpuBinding> of_srun(std::string_view text) {
    if (!has(text, "cpu-bind=") && !has(text, "cpu_bind=")) {
        return std::nullopt;
    }
    const auto cpus = mask_of(word_after(text, ": mask "));
    const auto dash = text.find(" - ");
    const auto comma = text.find(", task", dash == std::string_view::npos ? text.size() : dash);
    if (!cpus || comma == std::string_view::npos) {
        return std::nullopt;
    }
    CpuBinding binding;
    binding.host = printable(trim(text.substr(dash + 3, comma - dash - 3)));
    constexpr std::size_t key = std::string_view{", task"}.size();
    const auto words = split_words(text.substr(comma + key));
    if (words.size() > 1) {
        binding.rank = number(words[0]);
        binding.local = number(words[1]);
    }
    binding.cpus = *cpus;
    return binding;
}

/// "railhead: node n01 task 3 rank 11: GPU 3, CPUs 12-15,76-79 (NUMA 0), memory 0, NIC mlx5_3:1".
std::optional<CpuBinding> of_railhead(std::string_view text) {
    const auto node = text.find("node ");
    const auto cpus = node == std::string_view::npos || !has(text, " task ") || !has(text, ": GPU ")
                          ? std::nullopt
                          : list_of(word_after(text, ", CPUs ", " "));
    if (!cpus) {
        return std::nullopt;
    }
    CpuBinding binding;
    binding.host = printable(word_after(text, "node "));
    binding.local = number(word_after(text, " task ", " :"));
    binding.rank = number(word_after(text, " rank ", " :"));
    binding.gpu = number(word_after(text, ": GPU ", " (,"));
    binding.cpus = *cpus;
    return binding;
}

/// "pid 4711's current affinity list: 0-15" and "... mask: ffff" of taskset; "Cpus_allowed_list:
/// 0-15".
std::optional<CpuBinding> of_shell(std::string_view text) {
    std::optional<CpuSet> cpus;
    constexpr std::string_view list = "'s current affinity list: ";
    constexpr std::string_view mask = "'s current affinity mask: ";
    constexpr std::string_view status = "Cpus_allowed_list:";
    if (const auto at = text.find(list); at != std::string_view::npos) {
        cpus = list_of(text.substr(at + list.size()));
    } else if (has(text, mask)) {
        cpus = mask_of(word_after(text, mask));
    } else if (const auto found = text.find(status); found != std::string_view::npos) {
        cpus = list_of(text.substr(found + status.size()));
    }
    if (!cpus) {
        return std::nullopt;
    }
    CpuBinding binding;
    binding.cpus = std::move(*cpus);
    return binding;
}

/// The middle of `values`, which is not empty; no numbers stand last.
double middle_of(std::vector<double> values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), at, values.end(),
                     [](double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); });
    return *at;
}

/// Ranks print three to five digits.
bool is_alike(double value, double usual) {
    constexpr double rounding = 0.01;
    return value == usual || std::abs(value - usual) <= rounding * std::abs(usual);
}

}  // namespace

std::optional<CpuSet> cpus_of_nccl(std::string_view text) {
    text = trim(text);
    if (has(text, "-") || text.empty()) {
        return list_of(text);
    }
    // Words of 32 bits, the highest first; leading zeros of the first alone are left out.
    constexpr std::size_t word = 8;
    std::string mask;
    for (const auto part : split(text, ',')) {
        if (part.empty() || part.size() > word || (!mask.empty() && part.size() != word)) {
            return list_of(text);
        }
        mask += part;
    }
    return mask_of(mask);
}

void RankReportReader::read_line(std::string_view line) {
    // Most lines tell none of it: they are passed over by these words, and NCCL's by their name.
    if (has(line, " NCCL ")) {
        return;
    }
    const bool is_norm = has(line, "norm");
    const bool is_binding = has(line, "bind=") || has(line, "ffinity ") || has(line, ", CPUs ") ||
                            has(line, "Cpus_allowed_list:");
    const bool is_complaint = has(line, "found NaN in") || has(line, "found Inf in") ||
                              has(line, "Unexpected result") || has(line, "Possible ");
    if (!is_norm && !is_binding && !is_complaint) {
        return;
    }
    auto text = line;
    const auto label = take_label(text, "NCCL");
    if ((is_binding && read_binding(text, label)) ||
        (is_complaint && read_complaint(text, label)) || !is_norm) {
        return;
    }
    read_norm(line);
}

bool RankReportReader::read_binding(std::string_view text, std::string_view label) {
    auto binding = of_srun(text);
    binding = binding ? std::move(binding) : of_railhead(text);
    binding = binding ? std::move(binding) : of_shell(text);
    if (!binding) {
        return false;
    }
    if (reports_.bindings.size() == most_bindings) {
        ++reports_.left_out;
        return true;
    }
    const auto rank = rank_in_label(label);
    binding->rank = binding->rank ? binding->rank : rank;
    if (binding->host.empty() && !rank) {
        binding->host = printable(label);  // of pdsh and clush
    }
    binding->evidence = evidence();
    reports_.bindings.push_back(std::move(*binding));
    return true;
}

/// Megatron-LM's words: param_and_grad_buffer.py, rerun_state_machine.py.
bool RankReportReader::read_complaint(std::string_view text, std::string_view label) {
    constexpr std::string_view unexpected = "Unexpected result ";
    if (has(text, unexpected) && !has(text, "found NaN") && !has(text, "found Inf")) {
        suspect_ = number(word_after(text, " on rank ", " ,"));
        return true;
    }
    RankComplaint complaint;
    if (has(text, "in local grad norm") || has(text, "in local forward loss")) {
        complaint.kind = ComplaintKind::local_nan;
    } else if (has(text, "Possible transient error!")) {
        complaint.kind = ComplaintKind::transient;
    } else if (has(text, "Possible persistent error!")) {
        complaint.kind = ComplaintKind::persistent;
    } else {
        return false;
    }
    if (reports_.complaints.size() == most_complaints) {
        ++reports_.left_out;
        return true;
    }
    complaint.rank = number(word_after(text, "Rank ", " :,"));
    complaint.rank = complaint.rank ? complaint.rank : number(word_after(text, " on rank ", " ,"));
    complaint.rank = complaint.rank                               ? complaint.rank
                     : complaint.kind == ComplaintKind::local_nan ? rank_in_label(label)
                     : suspect_                                   ? suspect_
                                                                  : rank_in_label(label);
    complaint.device = number(word_after(text, "Device: ", " ,"));
    complaint.host = printable(word_after(text, "node: "));
    complaint.evidence = evidence();
    reports_.complaints.push_back(std::move(complaint));
    return true;
}

void RankReportReader::read_norm(std::string_view text) {
    const auto stripped = training::strip_prefixes(text);
    const auto rank = rank_in_label(stripped.label);
    if (!rank) {
        return;
    }
    auto norm = training::number_after(stripped.text, "grad norm");
    norm = norm ? norm : training::number_after(stripped.text, "grad_norm");
    if (!norm) {
        return;
    }
    auto iteration = training::find_iteration(stripped.text).number;
    if (!iteration) {  // torchtitan
        const auto step = training::number_after(stripped.text, "step:");
        iteration = step && *step >= 0 && *step < most_steps
                        ? std::optional{static_cast<std::uint64_t>(*step)}
                        : std::nullopt;
    }
    if (!iteration) {
        return;
    }
    const auto found = std::ranges::find(open_, *iteration, &Open::iteration);
    if (found == open_.end()) {
        if (open_.size() == most_open) {
            judge(open_.front());
            open_.pop_front();
        }
        open_.push_back({*iteration, {}});
    }
    auto& values = (found == open_.end() ? open_.back() : *found).values;
    if (values.size() == most_values) {
        ++reports_.left_out;
    } else {
        values.push_back({*rank, *norm, line()});
    }
}

void RankReportReader::judge(const Open& open) {
    constexpr std::size_t least = 3;  // of two nobody knows which is wrong
    std::vector<double> norms;
    for (const auto& value : open.values) {
        norms.push_back(value.norm);
    }
    if (norms.size() < least) {
        return;
    }
    ++reports_.compared;
    RankDifference difference;
    difference.iteration = open.iteration;
    difference.ranks = norms.size();
    difference.usual = middle_of(std::move(norms));
    for (const auto& value : open.values) {
        if (is_alike(value.norm, difference.usual)) {
            continue;
        }
        if (difference.odd.empty()) {
            difference.value = value.norm;
            difference.evidence = {file(), value.line, {}};
        }
        difference.odd.push_back(value.rank);
    }
    // Norms of each rank's own part differ on all of them.
    if (difference.odd.empty() || difference.odd.size() * 3 >= difference.ranks ||
        std::isnan(difference.usual)) {
        return;
    }
    std::ranges::sort(difference.odd);
    const auto same = std::ranges::find(reports_.differences, difference.odd, &RankDifference::odd);
    if (same != reports_.differences.end()) {
        ++same->iterations;
    } else if (reports_.differences.size() < most_complaints) {
        reports_.differences.push_back(std::move(difference));
    }
}

void RankReportReader::read_end() {
    for (const auto& open : open_) {
        judge(open);
    }
    open_.clear();
}

}  // namespace railhead::diagnose
