#include "diagnose/nccl_log.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "diagnose/nccl_records.hpp"

namespace railhead::diagnose {
namespace {

constexpr std::size_t longest_line = std::size_t{64} << 10U;  // what is over it is not looked at
constexpr std::size_t longest_join = 4096;

/// `text` without what collectors hang on behind: an escape for colour, "[repeated 7x across
/// cluster]" of Ray, and marks of quotation.
std::string_view without_tail(NcclBook& book, std::string_view text) {
    if (text.ends_with('m')) {
        const auto escape = text.rfind('\x1b');
        if (escape != std::string_view::npos && text.size() - escape <= 8) {
            text = text.substr(0, escape);
        }
    }
    if (text.ends_with(']')) {
        const auto open = text.rfind(" [");
        const auto tail = text.substr(open == std::string_view::npos ? text.size() : open);
        if (tail.starts_with(" [repeated ")) {
            book.log.deduplicated = true;
            text.remove_suffix(tail.size());
        } else if (tail.starts_with(" [cite: ")) {
            text.remove_suffix(tail.size());
        }
    }
    while (text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    return text;
}

/// A record that was found in a line.
struct Record {
    Mark mark;
    Prefix prefix;
};

Record find_record(const char* from, const char* end) {
    Record record;
    record.mark = find_mark(from, end);
    if (record.mark.begin != nullptr) {
        record.prefix = read_prefix(from, record.mark.begin);
    }
    return record;
}

std::string_view between(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
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
    const char* at = piece.data();
    const char* const end = at + piece.size();
    while (at < end) {
        const auto* stop =
            static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        if (stop == nullptr) {
            rest_ = between(at, end).substr(0, longest_line);
            return;
        }
        take_line(between(at, stop));
        at = stop + 1;
    }
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
    NcclBook& book = *book_;
    ++book.line;
    ++book.log.lines;
    line = line.substr(0, longest_line);
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    const char* const begin = line.data();
    const char* const end = begin + line.size();
    Record record = find_record(begin, end);
    if (record.mark.begin == nullptr) {
        take_loose_line(line);
        return;
    }
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
    text = without_tail(book, text);
    book.rank(rank).last_line = book.line;
    switch (mark.kind) {
        case MarkKind::info:
            if (!take_info(book, rank, text, false)) {
                torn_ = text.substr(0, longest_join);
                torn_rank_ = rank;
                torn_line_ = book.line;
            }
            break;
        case MarkKind::warning:
        case MarkKind::failure:
            take_warning(book, rank, text, before);
            break;
        case MarkKind::version:
            take_version(book, rank, text);
            break;
        case MarkKind::watchdog:
            break;
    }
}

void NcclLogReader::take_loose_line(std::string_view line) {
    NcclBook& book = *book_;
    if (!torn_.empty()) {
        const std::size_t size = torn_.size();
        // A line is broken at a blank, or within a word: then the next is not indented.
        const auto more = trim(line).substr(0, longest_join);
        torn_ += line.starts_with(' ') ? " " : "";
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
                 line.substr(std::min(line.size(), line.rfind('>') + 1)));
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
