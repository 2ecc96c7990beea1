// What a reader of topology.yaml asks of a map, with errors that name key, place and remedy.
//
// Takes what Slurm takes (a single map for a list of one, nearly any word for true) and warns
// where that is rarely meant.  Inside of the module: not for others.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fabric/builder.hpp"
#include "fabric/yaml_file.hpp"

namespace railhead::fabric {

class YamlReader {
 public:
    YamlReader(const std::string& file, std::vector<Error>& warnings)
        : file_{file}, warnings_{warnings} {}

    /// Warns of keys that are not `known`, and of any that is given twice.
    void warn_about_keys(const Yaml& map, std::span<const std::string_view> known);

    /// The word under `key`; unset when it is empty or absent.  Fails on a list or a map.
    [[nodiscard]] Result<std::optional<Field>> field_of(const Yaml& map, std::string_view key);

    /// The list under `key`, whose items are all maps.  Fails where it is absent or another thing.
    [[nodiscard]] Result<std::span<const Yaml>> maps_of(const Yaml& map, std::string_view key);

    /// The words of the list under `key`, or the single one; none where it is absent.
    [[nodiscard]] Result<std::vector<Field>> words_of(const Yaml& map, std::string_view key);

    /// "name", "nodes" and "children" of a switch, block, ring or torus.
    [[nodiscard]] Result<Entry> entry_of(const Yaml& map, std::string_view name_key);

    /// Whether a word says true.
    [[nodiscard]] Result<bool> flag_of(const Yaml& value);

    [[nodiscard]] Position where(const Yaml& value) const {
        return {file_, value.line, value.column};
    }
    [[nodiscard]] tl::unexpected<Error> fail_at(const Yaml& value, std::string message) const {
        return fail(Errc::bad_input, std::move(message), where(value));
    }
    /// "tree is to be a map, not a word".
    [[nodiscard]] tl::unexpected<Error> wrong_shape(const Yaml& value,
                                                    std::string_view wanted) const;
    void warn(const Yaml& value, std::string message) {
        warnings_.push_back({Errc::bad_input, std::move(message), where(value)});
    }
    [[nodiscard]] std::vector<Error>& warnings() { return warnings_; }

 private:
    const std::string& file_;
    std::vector<Error>& warnings_;
};

}  // namespace railhead::fabric
