// The syntax that slurm.conf, gres.conf and topology.conf share: lines of Key=Value.
//
// A "#" starts a comment unless a backslash stands before it, a backslash at the end of a line
// continues it, a value with blanks is quoted.  What the keys mean is left to the readers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::fabric {

/// One Key=Value, or a word that has no "=": its key is empty then.
struct ConfItem {
    std::string_view key;
    std::string_view value;
    unsigned line = 0;    ///< 1-based
    unsigned column = 0;  ///< 1-based, in bytes
    /// "Topology= CoreSpecCount=36": the value is taken as empty here, but Slurm takes the
    /// next key and value for it.
    bool ambiguous = false;
};

/// Cuts a file into lines and lines into items.
class ConfReader {
 public:
    ConfReader(std::string_view text, std::string file);

    /// Reads the next line that holds anything; false at the end.  The items point into the
    /// text or into this reader, and live until the next call.
    bool next(std::vector<ConfItem>& items);

    /// Where an item stands, for an error.
    [[nodiscard]] Position where(const ConfItem& item) const;

 private:
    /// Where a part of logical_ was written.
    struct Segment {
        std::size_t offset;
        unsigned line;
        unsigned column;
    };
    void read_logical_line();
    bool append_physical_line();
    [[nodiscard]] ConfItem item_at(std::size_t offset) const;
    ConfItem take_item(std::size_t& at) const;

    std::string_view rest_;
    std::string file_;
    unsigned line_ = 0;
    std::string logical_;
    std::vector<Segment> segments_;
};

}  // namespace railhead::fabric
