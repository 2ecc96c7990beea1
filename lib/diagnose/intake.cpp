#include "diagnose/intake.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "diagnose/checklist.hpp"
#include "diagnose/run_setup.hpp"
#include "training/log_line.hpp"

namespace railhead::diagnose {

namespace {

/// A table of nccl-tests is a few hundred lines: what is beyond this is another thing.
constexpr std::size_t most_table_text = std::size_t{8} << 20U;

/// Something of NCCL or of PyTorch's watchdog was in the files.
bool says_something(const NcclLog& log) {
    return log.records > 0 || !log.timeouts.empty();
}

/// Files that lines of `log` come from.
std::set<std::uint32_t> files_of(const NcclLog& log) {
    std::set<std::uint32_t> files;
    for (const auto& rank : log.ranks) {
        if (rank.last_line > 0) {
            files.insert(rank.file);
        }
    }
    for (const auto& saying : log.sayings) {
        files.insert(saying.first.file);
    }
    for (const auto& warning : log.warnings) {
        files.insert(warning.first.file);
    }
    for (const auto& timeout : log.timeouts) {
        files.insert(timeout.first.file);
    }
    for (const auto& link : log.graph_links) {
        files.insert(link.first.file);
    }
    for (const auto& path : log.paths) {
        files.insert(path.first.file);
    }
    return files;
}

/// `text` without what launchers and collectors of logs write before each line.
std::string without_prefixes(std::string_view text) {
    std::string plain;
    std::string line;
    for (const auto raw : split(text, '\n')) {
        training::strip_escapes(raw, line);
        plain += training::strip_prefixes(line).text;
        plain += '\n';
    }
    return plain;
}

}  // namespace

Intake::Intake(Given given) : given_{std::move(given)} {
    facts_.hardware = given_.hardware;
}

void Intake::begin_file(std::string_view name) {
    file_ = facts_.sources.add(name);
    nccl_.begin_file(file_);
    training_.emplace(std::string{name});
    machine_.reset();
    head_.clear();
    text_.clear();
    is_decided_ = false;
    kind_ = FileKind::unknown;
}

/// Tells the kind from the head of the file, and hands it to the reader of that kind.
void Intake::decide() {
    is_decided_ = true;
    kind_ = guess_kind(head_);
    const auto kind = kind_ == FileKind::unknown ? FileKind::traceback : kind_;
    machine_ = make_machine_reader(kind, file_, facts_.sources.name(file_), facts_.machine);
    if (machine_) {
        machine_->feed(head_);
    }
    head_.clear();
}

void Intake::keep_table_text(std::string_view piece) {
    text_ += piece.substr(0, most_table_text - std::min(most_table_text, text_.size()));
}

void Intake::feed(std::string_view piece) {
    if (!is_decided_) {
        head_ += piece;
        if (head_.size() >= kind_head) {
            decide();
        }
    } else if (machine_) {
        machine_->feed(piece);
    }
    if (is_decided_ && kind_ != FileKind::unknown && !is_job_output(kind_)) {
        return;
    }
    keep_table_text(piece);
    nccl_.feed(piece);
    training_->feed(piece);
}

bool Intake::take_training() {
    training_->finish();
    auto log = training_->log();
    const auto chosen = training::choose_run(log);
    if (!chosen) {
        return false;
    }
    TrainingFacts facts;
    facts.file = file_;
    facts.summary = training::summarize(log, *chosen);
    facts.log = std::move(log);
    facts_.training.push_back(std::move(facts));
    return true;
}

/// A GPU that was not said is that which a log or a batch script names.
void Intake::find_accelerator() {
    auto& hardware = facts_.hardware;
    if (hardware.accelerator != nullptr || given_.catalogue == nullptr) {
        return;
    }
    for (const auto& named : named_gpus(facts_)) {
        if (const auto found = training::find_accelerator(*given_.catalogue, named.text)) {
            hardware.accelerator = *found;
            hardware.accelerator_at = named.at;
            hardware.usual_nic = usual_nic(*given_.catalogue, **found);
            given_.mfu.accelerator = *found;
            given_.mfu.inputs.push_back(
                {"GPU", (*found)->name, place_of(facts_.sources, named.at)});
            return;
        }
    }
}

/// From what was said, the log, and for the log with most steps from configurations.
void Intake::work_out_mfu(TrainingFacts& facts) const {
    auto question = given_.mfu;
    const bool is_main = &facts == facts_.main_training();
    if (is_main && given_.catalogue != nullptr) {
        add_named_model(facts_, *given_.catalogue, question);
    }
    training::add_log(question, facts.log, facts.summary);
    if (is_main) {
        add_configurations(facts_, question);
    }
    facts.mfu_needs = training::missing_of(question);
    if (!facts.mfu_needs.empty()) {
        return;
    }
    auto answer = training::answer(question);
    if (answer) {
        facts.mfu = std::move(*answer);
    } else {
        facts.mfu_needs.push_back(to_string(answer.error()));
    }
}

bool Intake::take_table() {
    // A last line that has no end may be cut within a figure.
    text_.resize(text_.rfind('\n') + 1);
    const auto& name = facts_.sources.name(file_);
    auto table = fabric::parse_nccl_tests(text_, name);
    if (!table) {
        table = fabric::parse_nccl_tests(without_prefixes(text_), name);
    }
    if (!table) {
        return false;
    }
    facts_.bandwidth.push_back({file_, std::move(*table)});
    return true;
}

void Intake::end_file() {
    if (!is_decided_) {
        decide();
    }
    const auto failures = [&] {
        return facts_.machine.failures.empty() ? 0 : facts_.machine.failures.back().failures.size();
    };
    const auto reports_before = facts_.machine.ranks.size();
    const auto troubles_before = facts_.machine.troubles.size();
    if (machine_) {
        machine_->finish();
    }
    nccl_.end_file();
    FileFacts file{file_, kind_, machine_ != nullptr, {}};
    if (facts_.machine.troubles.size() > troubles_before) {
        file.is_read = false;
        file.trouble = facts_.machine.troubles.back().what;
    }
    if (kind_ == FileKind::unknown || is_job_output(kind_)) {
        const bool training = take_training();
        const bool table = take_table();
        const bool failed = failures() > 0;
        const bool reported = facts_.machine.ranks.size() > reports_before;
        file.is_read = training || table || failed || reported;
        if (kind_ == FileKind::unknown && file.is_read) {
            file.kind = training ? FileKind::training_log
                        : table  ? FileKind::nccl_tests
                        : failed ? FileKind::traceback
                                 : FileKind::cpu_bindings;
        }
    }
    const bool may_be_other = kind_ == FileKind::unknown || kind_ == FileKind::nccl_tests;
    if (may_be_other && !file.is_read) {
        facts_.machine.failures.pop_back();  // of a file that is no job output after all
    }
    facts_.files.push_back(file);
}

Facts Intake::take() {
    auto log = nccl_.take();
    if (says_something(log)) {
        const auto files = files_of(log);
        for (auto& file : facts_.files) {
            if (files.contains(file.file)) {
                file.is_read = true;
                file.kind = file.kind == FileKind::unknown ? FileKind::nccl_log : file.kind;
            }
        }
        facts_.nccl = std::move(log);
    }
    auto& records = facts_.machine.slurm;
    merge_repeated(records);
    add_failed_nodes(records);
    add_logged_events(records);
    find_accelerator();
    for (auto& training : facts_.training) {
        work_out_mfu(training);
    }
    return std::move(facts_);
}

}  // namespace railhead::diagnose
