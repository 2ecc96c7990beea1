#include "checkpoint/targets.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.hpp"

namespace railhead::checkpoint {

namespace {

constexpr int deepest = 64;  // no launcher is; a table that changes while it is read may seem so

/// Those that hand on what they catch to all their ranks, or end at it: what they catch says
/// nothing of the ranks, which are looked at one by one.
constexpr std::array<std::string_view, 14> launchers{
    "mpirun",          "mpiexec",         "mpiexec.hydra", "orterun",   "prterun",
    "orted",           "prted",           "prte",          "torchrun",  "pt_elastic",
    "hydra_pmi_proxy", "hydra_bstrap_pr", "deepspeed",     "accelerate"};

bool is_launcher(std::string_view name) {
    return std::ranges::find(launchers, name) != launchers.end();
}

/// Slurm's, between its fork and its exec: what it catches is Slurm's.
bool is_starting(std::string_view name) {
    return name.starts_with("slurmstepd");
}

std::optional<std::string_view> field(std::string_view text, std::string_view key) {
    for (const auto line : split(text, '\n')) {
        if (line.starts_with(key)) {
            return trim(line.substr(key.size()));
        }
    }
    return std::nullopt;
}

struct Search {
    const ProcessView& view;
    int signal;
    Catching found;

    void look(pid_t pid, bool itself, int depth) {
        const auto status = view.status(pid);
        if (!status || depth > deepest) {
            return;
        }
        if (depth == 0) {
            found.name = status->name;
        }
        if (status->name == "srun") {
            found.has_step = true;
            return;
        }
        if (itself && status->catches(signal) && !is_launcher(status->name) &&
            !is_starting(status->name)) {
            found.pids.push_back(pid);
            return;
        }
        for (const auto child : view.children(pid)) {
            look(child, true, depth + 1);
        }
    }
};

}  // namespace

bool ProcessStatus::catches(int signal) const {
    return signal >= 1 && signal <= 64 &&
           ((caught >> (static_cast<unsigned>(signal) - 1)) & 1U) != 0;
}

std::optional<ProcessStatus> parse_process_status(std::string_view text) {
    const auto name = field(text, "Name:");
    const auto parent = parse_number<pid_t>(field(text, "PPid:").value_or(""));
    const auto caught = field(text, "SigCgt:");
    if (!name || !parent || !caught) {
        return std::nullopt;
    }
    const auto numbers = split_words(field(text, "NSpid:").value_or(""));
    ProcessStatus status{std::string{*name}, *parent, 0, static_cast<std::uint32_t>(numbers.size())};
    const auto* const end = caught->data() + caught->size();
    const auto [last, error] = std::from_chars(caught->data(), end, status.caught, 16);
    return error == std::errc{} && last == end ? std::optional{std::move(status)} : std::nullopt;
}

Catching find_catching(const ProcessView& view, pid_t root, int signal, bool with_root) {
    Search search{view, signal, {}};
    search.look(root, with_root, 0);
    return std::move(search.found);
}

}  // namespace railhead::checkpoint
