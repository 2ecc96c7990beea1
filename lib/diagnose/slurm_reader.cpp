#include "diagnose/slurm_reader.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "diagnose/kind.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20U;

struct Reader {
    std::string_view kind;
    std::unique_ptr<SlurmLines> (*make)(SlurmRecords&, std::uint32_t);
    bool (*is)(std::string_view head, std::string_view first);
};

bool has_field(std::string_view heading, std::string_view name) {
    const auto fields = split(heading, '|');
    return fields.size() > 1 && std::ranges::find(fields, name) != fields.end();
}

/// In order; `first` is the first line that is not blank.
constexpr std::array readers{
    Reader{"sacct --parsable2", read_job_table,
           [](std::string_view, std::string_view first) {
               return has_field(first, "JobID") || has_field(first, "JobIDRaw");
           }},
    Reader{"sacctmgr show event --parsable2", read_event_table,
           [](std::string_view, std::string_view first) {
               return has_field(first, "NodeName") && has_field(first, "TimeStart");
           }},
    Reader{"scontrol show job", read_job_records,
           [](std::string_view, std::string_view first) { return first.starts_with("JobId="); }},
    Reader{"scontrol show node", read_node_records,
           [](std::string_view, std::string_view first) { return first.starts_with("NodeName="); }},
    Reader{"sacct --json", read_sacct_json,
           [](std::string_view head, std::string_view first) {
               return first.starts_with('{') && (guess_kind(head) == FileKind::sacct_json ||
                                                 head.find("\"jobs\"") != std::string_view::npos);
           }},
    Reader{"slurmctld log", read_slurmctld_log,
           [](std::string_view head, std::string_view first) {
               const auto kind = guess_kind(head);
               const auto close = first.find(']');
               return (kind == FileKind::slurmctld_log || kind == FileKind::unknown) &&
                      first.starts_with('[') && close != std::string_view::npos &&
                      parse_slurm_time(first.substr(1, close - 1)).has_value();
           }},
};

const Reader* find_reader(std::string_view head) {
    const auto begin = std::min(head.find_first_not_of(" \t\r\n"), head.size());
    const auto first = trim(head.substr(begin, head.find('\n', begin) - begin));
    const auto* found = std::ranges::find_if(
        readers, [&](const Reader& reader) { return reader.is(head, first); });
    return found == readers.end() ? nullptr : found;
}

}  // namespace

std::string_view kind_of_records(std::string_view head) {
    const auto* reader = find_reader(head);
    return reader != nullptr ? reader->kind : std::string_view{};
}

std::optional<std::int64_t> SlurmLines::time_of(std::string_view text) {
    const auto time = parse_slurm_time(text);
    if (!time) {
        return std::nullopt;
    }
    (time->has_zone ? into_.has_utc_times : into_.has_local_times) = true;
    into_.latest_s = std::max(into_.latest_s, time->at_s);
    return time->at_s;
}

void SlurmLines::note_unread(std::uint64_t number) {
    ++into_.unread;
    if (!into_.first_unread) {
        into_.first_unread = at(number);
    }
}

SlurmReader::SlurmReader(SlurmRecords& into, std::string_view file)
    : into_{into}, file_{into.sources.add(file)} {}

void SlurmReader::feed(std::string_view piece) {
    if (is_chosen_) {
        read_lines(piece);
        return;
    }
    head_ += piece;
    if (head_.size() >= kind_head) {
        choose();
    }
}

void SlurmReader::finish() {
    if (!is_chosen_) {
        choose();
    }
    if (lines_) {
        if (!rest_.empty()) {
            read_lines("\n");
        }
        lines_->finish();
    }
}

void SlurmReader::choose() {
    is_chosen_ = true;
    if (const auto* reader = find_reader(head_)) {
        kind_ = reader->kind;
        lines_ = reader->make(into_, file_);
    }
    read_lines(head_);
    head_.clear();
    head_.shrink_to_fit();
}

void SlurmReader::read_lines(std::string_view text) {
    if (!lines_) {
        return;
    }
    if (lines_->reads_pieces()) {
        lines_->read(text, number_ + 1);
        number_ += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
        return;
    }
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        auto line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (!rest_.empty()) {
            rest_ += line.substr(0, longest_line);
            line = rest_;
        }
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        lines_->read(line, ++number_);
        rest_.clear();
    }
    if (rest_.size() < longest_line) {
        rest_ += text.substr(0, longest_line);
    }
}

}  // namespace railhead::diagnose
