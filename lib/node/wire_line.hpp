// One line of a recorded node while it is read: its fields, and the first thing wrong with them.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "node/node.hpp"

namespace railhead::node {

/// Reads the fields behind the line's first word, one after the other.  What is wrong first is
/// kept; what is read from then on is empty.
class WireLine {
 public:
    explicit WireLine(std::string_view line) : line_{line}, fields_{split(line, '\t')} {}

    [[nodiscard]] std::string_view kind() const { return fields_[0]; }

    /// Makes the line bad unless it has this many fields behind its first word.
    void expect(std::size_t count);

    /// The next field; `name` tells people which one it is.
    std::string_view text(std::string_view name);

    template <std::integral T>
    T number(std::string_view name) {
        const auto word = text(name);
        const auto value = parse_number<T>(word);
        if (!value) {
            fail("a number");
        }
        return value.value_or(T{});
    }

    template <std::integral T>
    std::optional<T> optional(std::string_view name) {
        return is_empty() ? skip<T>(name) : std::optional{number<T>(name)};
    }

    std::optional<double> optional_rate(std::string_view name);
    bool flag(std::string_view name);
    CpuSet cpus(std::string_view name);
    std::optional<PciAddress> pci(std::string_view name);
    /// The name of a device; the line is bad where it cannot be one.
    std::string device(std::string_view name);

    /// Makes the line bad: the field that was read last is not `expected`, "a number".
    void fail(std::string_view expected);
    /// Makes the line bad as a whole.
    void fail_line(std::string why);

    /// How many CPUs the lists that were read have in all.
    [[nodiscard]] std::size_t cpus_listed() const { return cpus_listed_; }
    [[nodiscard]] bool good() const { return trouble_.empty(); }
    [[nodiscard]] const std::string& trouble() const { return trouble_; }
    /// Where the trouble is, in characters from 1 on.
    [[nodiscard]] unsigned column() const { return column_; }

 private:
    [[nodiscard]] bool is_empty() const { return next_ < fields_.size() && fields_[next_].empty(); }
    template <class T>
    std::optional<T> skip(std::string_view name) {
        text(name);
        return std::nullopt;
    }

    std::string_view line_;
    std::vector<std::string_view> fields_;
    std::size_t next_ = 1;
    std::string_view name_;  ///< of the field that was read last
    std::string trouble_;
    unsigned column_ = 1;
    std::size_t cpus_listed_ = 0;
};

}  // namespace railhead::node
