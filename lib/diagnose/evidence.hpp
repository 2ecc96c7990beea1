// Where was a fact read?  The file, the line, and what stands there.
//
// Evidence is kept for thousands of ranks, so that it names its file by a number: Sources knows the
// names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace railhead::diagnose {

constexpr std::size_t evidence_limit = 240;  // bytes of a line that are kept

/// A line that says something.
struct Evidence {
    std::uint32_t file = 0;  ///< its number in Sources
    std::uint64_t line = 0;  ///< 1-based; 0: of the file as a whole
    std::string text;        ///< the line without its end, cut to `evidence_limit`, printable

    bool operator==(const Evidence&) const = default;
};

/// The files of a diagnosis, numbered in the order in which they were given.
class Sources {
 public:
    /// The number of `name`, new when it was not there; "-" is standard input.
    std::uint32_t add(std::string_view name);
    [[nodiscard]] const std::string& name(std::uint32_t file) const { return names_.at(file); }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }

 private:
    std::vector<std::string> names_;
};

/// Evidence from a line of any length: blanks at both sides are left out, control characters are
/// shown as "?", escapes for colour are left out, and what was cut ends in "…".
[[nodiscard]] Evidence make_evidence(std::uint32_t file, std::uint64_t line, std::string_view text);

/// "job-17.out:1204"; the name alone for evidence of a whole file.
[[nodiscard]] std::string place_of(const Sources& sources, const Evidence& evidence);

}  // namespace railhead::diagnose
