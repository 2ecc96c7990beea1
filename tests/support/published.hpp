// Published figures that the models are measured against: tables that are not part of this
// repository.
//
// They lie beside the checkout, or where RAILHEAD_PUBLISHED says.  A test that needs them begins
// with RAILHEAD_NEED_PUBLISHED() and is skipped, with a message, where there are none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace railhead::test {

/// One line of a table, by the names of its columns.
class PublishedRow {
 public:
    explicit PublishedRow(std::map<std::string, std::string> cells) : cells_{std::move(cells)} {}
    /// Throws where there is no such column.
    [[nodiscard]] const std::string& text(const std::string& column) const {
        return cells_.at(column);
    }
    [[nodiscard]] bool has(const std::string& column) const { return !text(column).empty(); }
    /// Throws where the cell is no number.
    [[nodiscard]] double number(const std::string& column) const;

 private:
    std::map<std::string, std::string> cells_;
};

/// The tables' folder; empty when there is none.
[[nodiscard]] std::string published();
/// The rows of <name>.csv.  Throws when it is not there, is empty or has a torn row.
[[nodiscard]] std::vector<PublishedRow> read_published(std::string_view name);

}  // namespace railhead::test

#define RAILHEAD_NEED_PUBLISHED()                                                               \
    do {                                                                                        \
        if (railhead::test::published().empty()) {                                              \
            SKIP(                                                                               \
                "no published tables: set RAILHEAD_PUBLISHED, or put them beside the checkout " \
                "as shared/published");                                                         \
        }                                                                                       \
    } while (false)
