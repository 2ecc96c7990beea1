#include "diagnose/nccl_log.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "diagnose/nccl_records.hpp"

namespace railhead::diagnose {
namespace {

constexpr std::size_t longest_line = std::size_t{64} << 10U;  // what is over it is not looked at
constexpr std::size_t longest_join = 4096;

std::string_view between(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
}

constexpr std::string_view repeated = " [repeated ";  // 7x across cluster]: Ray

/// The line from `begin` to `end`, as much of it as is looked at, without what collectors hang on
/// behind: an escape for colour, and marks of quotation.
std::string_view line_at(const char* begin, const char* end) {
    std::string_view line = between(begin, end).substr(0, longest_line);
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    if (line.ends_with('m')) {
        const auto escape = line.rfind('\x1b');
        if (escape != std::string_view::npos && line.size() - escape <= 8) {
            line = line.substr(0, escape);
        }
    }
    if (line.ends_with(']')) {
        const auto open = line.rfind(" [cite: ");
        line = line.substr(0, open);
    }
    while (line.ends_with(' ')) {
        line.remove_suffix(1);
    }
    return line;
}

/// What a launcher or collector put before a record: what is before NCCL's own prefix.  Where there
/// is none, blanks are not from a launcher: the text is indented.
std::string_view lead_of(std::string_view before) {
    const Prefix prefix = read_prefix(before.data(), before.data() + before.size());
    if (prefix.begin == nullptr) {
        return before.substr(0, before.find_last_not_of(' ') + 1);
    }
    return before.substr(0, static_cast<std::size_t>(prefix.begin - before.data()));
}

/// `line` without a lead like this one, but for its digits: a time goes on from line to line.
std::string_view behind_lead(std::string_view line, std::string_view lead) {
    const bool has_lead = line.size() >= lead.size() &&
                          std::equal(lead.begin(), lead.end(), line.begin(), [](char a, char b) {
                              return a == b || (is_digit(a) && is_digit(b));
                          });
    return has_lead ? line.substr(lead.size()) : line;
}

}  // namespace

NcclLogReader::NcclLogReader() : book_{std::make_unique<NcclBook>()} {}
NcclLogReader::NcclLogReader(NcclLogReader&&) noexcept = default;
NcclLogReader& NcclLogReader::operator=(NcclLogReader&&) noexcept = default;
NcclLogReader::~NcclLogReader() = default;

void NcclLogReader::begin_file(std::uint32_t file) {
    book_->file = file;
    book_->line = 0;
    book_->has_prefixes = false;
}

void NcclLogReader::feed(std::string_view piece) {
    book_->log.bytes += piece.size();
    if (!rest_.empty()) {
        const auto end = piece.find('\n');
        const auto more = piece.substr(0, end);
        rest_ += more.substr(0, longest_line - std::min(longest_line, rest_.size()));
        if (end == std::string_view::npos) {
            return;
        }
        const std::string line = std::exchange(rest_, {});
        take_line(line);
        piece.remove_prefix(end + 1);
    }
    rest_ = take_lines(piece).substr(0, longest_line);
}

/// Takes all lines that have an end, and gives what is behind the last.  Lines are looked at some
/// ahead of their turn, so that what they need is in the CPU's cache by then.
std::string_view NcclLogReader::take_lines(std::string_view text) {
    struct Ahead {
        std::string_view line;
        Record record;
    };
    constexpr std::size_t depth = 8;
    std::array<Ahead, depth> ahead;
    std::size_t seen = 0;
    std::size_t taken = 0;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        const auto* stop =
            static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        if (stop == nullptr) {
            break;
        }
        if (seen - taken == depth) {
            const Ahead& next = ahead[taken++ % depth];
            take_line(next.line, next.record);
        }
        Ahead& last = ahead[seen % depth];
        last.line = line_at(at, stop);
        last.record = find_record(last.line.data(), last.line.data() + last.line.size());
        book_->prefetch_index(last.record.prefix.hash);
        if (seen - taken >= depth / 2) {
            book_->prefetch_rank(ahead[(seen - depth / 2) % depth].record.prefix.hash);
        }
        ++seen;
        at = stop + 1;
    }
    while (taken < seen) {
        const Ahead& next = ahead[taken++ % depth];
        take_line(next.line, next.record);
    }
    return between(at, end);
}

void NcclLogReader::end_file() {
    if (!rest_.empty()) {
        const std::string line = std::exchange(rest_, {});
        book_->is_cut = true;
        take_line(line);
        book_->is_cut = false;
        book_->log.cut = true;
    }
    give_up_join();
}

NcclLog NcclLogReader::take() {
    book_->finish();
    return std::move(book_->log);
}

void NcclLogReader::take_line(std::string_view line) {
    line = line_at(line.data(), line.data() + line.size());
    take_line(line, find_record(line.data(), line.data() + line.size()));
}

void NcclLogReader::take_line(std::string_view line, Record record) {
    NcclBook& book = *book_;
    ++book.line;
    ++book.log.lines;
    if (record.mark.begin == nullptr) {
        take_loose_line(line);
        return;
    }
    const char* const begin = line.data();
    const char* const end = begin + line.size();
    give_up_join();
    book.line_text = line;
    std::uint32_t rank = nothing;
    const char* from = begin;
    while (record.mark.begin != nullptr) {
        const Mark mark = record.mark;
        book.log.glued += from == begin ? 0 : 1;
        if (mark.kind == MarkKind::watchdog) {
            take_watchdog(book, between(from, end));
            return;
        }
        if (record.prefix.begin != nullptr) {
            rank = book.rank_of(record.prefix);
            book.has_prefixes = true;
        } else if (rank == nothing && mark.kind <= MarkKind::warning && !book.has_prefixes) {
            rank = book.rank_of({});
        }
        if (mark.kind == MarkKind::version) {
            ++book.log.records;
            from = mark.text + take_version(book, rank, between(mark.text, end));
            record = find_record(from, end);
            continue;
        }
        const std::string_view before = between(from, mark.begin);
        from = mark.text;
        record = find_record(from, end);
        const char* const stop = record.mark.begin == nullptr     ? end
                                 : record.prefix.begin != nullptr ? record.prefix.begin
                                                                  : record.mark.begin;
        take_record(mark, rank, between(mark.text, stop), before);
    }
}

void NcclLogReader::take_record(const Mark& mark, std::uint32_t rank, std::string_view text,
                                std::string_view before) {
    NcclBook& book = *book_;
    ++book.log.records;
    skip_blanks(text);
    if (text.ends_with(']')) {
        if (const auto at = text.rfind(repeated); at != std::string_view::npos) {
            book.log.deduplicated = true;
            text = text.substr(0, at);
        }
    }
    book.rank(rank).last_line = book.line;
    switch (mark.kind) {
        case MarkKind::info:
            if (!take_info(book, rank, text, false)) {
                torn_ = text.substr(0, longest_join);
                torn_lead_ = lead_of(before).substr(0, longest_join);
                torn_rank_ = rank;
                torn_line_ = book.line;
            }
            break;
        case MarkKind::warning:
        case MarkKind::failure:
            take_warning(book, rank, text, before);
            break;
        case MarkKind::version:
        case MarkKind::watchdog:
            break;  // taken before
    }
}

void NcclLogReader::take_loose_line(std::string_view line) {
    NcclBook& book = *book_;
    if (!torn_.empty()) {
        const std::size_t size = torn_.size();
        const auto behind = behind_lead(line, torn_lead_);
        // A line is broken at a blank, or within a word: then the next is not indented.
        const auto more = trim(behind).substr(0, longest_join);
        torn_ += line.starts_with(' ') || behind.starts_with(' ') ? " " : "";
        torn_ += more;
        book.line_text = torn_;
        const std::uint64_t here = std::exchange(book.line, torn_line_);
        const bool is_whole = take_info(book, torn_rank_, torn_, false);
        book.line = here;
        if (is_whole) {
            ++book.log.joined;
            torn_.clear();
            return;
        }
        torn_.resize(size);
        give_up_join();
    }
    constexpr std::string_view libfabric = "libfabric:";
    const auto at = line.find(libfabric);
    if (at != std::string_view::npos) {
        book.line_text = line;
        book.say(nothing, NcclTopic::provider,
                 trim(line.substr(std::min(line.size(), line.rfind('>') + 1))));
    }
}

void NcclLogReader::give_up_join() {
    if (torn_.empty()) {
        return;
    }
    NcclBook& book = *book_;
    book.line_text = torn_;
    const std::uint64_t here = std::exchange(book.line, torn_line_);
    book.log.torn += take_info(book, torn_rank_, torn_, true) ? 0 : 1;
    book.line = here;
    torn_.clear();
}

NcclLog read_nccl_log(std::string_view text, std::uint32_t file) {
    NcclLogReader reader;
    reader.begin_file(file);
    reader.feed(text);
    reader.end_file();
    return reader.take();
}

}  // namespace railhead::diagnose
