// What all readers of diagnosis inputs have in common: text comes in pieces cut anywhere, facts
// are there at the end, and nothing in the text can make them fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "diagnose/evidence.hpp"

namespace railhead::diagnose {

/// Reads one file.  Never fails: what it does not know it passes over.  Memory is bounded.
class Reader {
 public:
    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    virtual ~Reader() = default;

    virtual void feed(std::string_view piece) = 0;
    /// There is no more.  A last line without an end is read too.
    virtual void finish() = 0;
};

/// A reader of lines: without their ends (LF or CRLF), and without escape sequences for colour.
class LineReader : public Reader {
 public:
    /// `file`: its number in Sources.
    explicit LineReader(std::uint32_t file) : file_{file} {}
    void feed(std::string_view piece) final;
    void finish() final;

 protected:
    virtual void read_line(std::string_view line) = 0;
    /// After the last line.
    virtual void read_end() {}

    [[nodiscard]] std::uint64_t line() const { return line_; }  ///< 1-based, the one that is read
    [[nodiscard]] std::uint32_t file() const { return file_; }
    /// The line that is read, as evidence.
    [[nodiscard]] Evidence evidence() const { return make_evidence(file_, line_, text_); }

 private:
    void take(std::string_view line);

    std::uint32_t file_;
    std::uint64_t line_ = 0;
    std::string carry_;  ///< of a line whose end has not come yet
    std::string plain_;  ///< a line without its escape sequences
    std::string_view text_;
};

/// A label that a launcher put before each line: "3: " of srun, "gpu-017: " of pdsh and clush,
/// "[1,3]<stdout>:" of mpirun.  It is taken off `line`; what follows keeps its indentation.
/// `not_label` is a word that begins lines of the text itself.  Empty where there is none.
[[nodiscard]] std::string_view take_label(std::string_view& line, std::string_view not_label = {});

/// "Key   : value" and "Key=value" in two, trimmed; nothing without `separator`.
struct KeyValue {
    std::string_view key, value;
};
[[nodiscard]] std::optional<KeyValue> split_key(std::string_view text, char separator);

/// A number with a unit after it: "700.00 W", "16x", "30 C"; nothing where there is none ("N/A").
[[nodiscard]] std::optional<double> number_in(std::string_view text);

/// The word after `mark`, up to one of `ends`; empty where `mark` is not there.
[[nodiscard]] std::string_view word_after(std::string_view text, std::string_view mark,
                                          std::string_view ends = " ,;)\t");

}  // namespace railhead::diagnose
