// A YAML text as a small tree of words, lists and maps, each with its place.
//
// YAML is a large language; topology files need little of it.  What Slurm's own reader refuses
// (aliases) or a topology never has (keys that are no words, deep nesting) is refused here, so
// that no text can make much of little.  For this module, and for run configurations of diagnose.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::fabric {

struct Yaml {
    enum class Shape : std::uint8_t { empty, word, list, map };

    Shape shape = Shape::empty;
    std::string key;          ///< of a map's value
    std::string word;         ///< quotes and escapes resolved; numbers are words
    std::vector<Yaml> items;  ///< of a list, or the values of a map, in the order of the file
    unsigned line = 1;        ///< 1-based, of the key where there is one, else of the value
    unsigned column = 1;      ///< 1-based

    /// The value of a map under `wanted`, the last one where it is there twice; null when none is.
    [[nodiscard]] const Yaml* find(std::string_view wanted) const;
    /// "a word", "a list", "a map", "nothing", for a message.
    [[nodiscard]] std::string_view shape_word() const;
};

/// Reads the first document of `text`; an empty one is a Yaml of shape `empty`.
///
/// Fails with `bad_input` and a position on what is no YAML, an alias, a key that is no word, and
/// on a text that is longer, deeper or has more values than any topology.  `more` is set where
/// another document follows.
[[nodiscard]] Result<Yaml> parse_yaml(std::string_view text, const std::string& file, bool& more);

}  // namespace railhead::fabric
