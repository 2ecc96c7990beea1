// Makes a Fabric of switches and blocks, as a reader of either topology file meets them.
//
// What holds for both files is checked here; their syntax is the readers' business.  Inside of
// the module: not for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "fabric/fabric.hpp"
#include "fabric/tree.hpp"

namespace railhead::fabric {

/// A value with the key that it was written under, and where.
struct Field {
    std::string_view key;
    std::string_view value;
    Position where;
};

/// What describes one switch or block; what is empty in the file is unset here.
struct Entry {
    Field name;
    std::optional<Field> nodes;
    std::optional<Field> children;  ///< of a switch
};

class FabricBuilder {
 public:
    /// `where`: the place of what is wrong with the whole.
    FabricBuilder(Position where, std::vector<Error>& warnings)
        : where_{std::move(where)}, warnings_{warnings} {}

    /// Each fails with `bad_input` on what Slurm refuses: a name that is missing or taken, a bad
    /// host list, sizes that are no doublings of the first.
    [[nodiscard]] Result<> add_switch(const Entry& entry);
    [[nodiscard]] Result<> add_block(const Entry& entry);
    [[nodiscard]] Result<> set_block_sizes(std::span<const Field> sizes);

    /// The finished fabric; warns of what Slurm takes and people rarely mean: nodes on two leaves,
    /// several networks, no node at all (kind `none` then).
    [[nodiscard]] Result<Fabric> finish();

    void warn(std::string message, Position where) {
        warnings_.push_back({Errc::bad_input, std::move(message), std::move(where)});
    }

 private:
    using Names = std::unordered_map<std::string, std::uint32_t>;

    Result<> claim(Names& names, const Field& name);
    Result<std::vector<std::uint32_t>> add_nodes(const std::optional<Field>& list);
    void set_kind(Kind kind, const Position& where);
    void set_default_sizes();
    void warn_about_shared_nodes();
    void warn_about_networks();

    Position where_;
    std::vector<Error>& warnings_;
    Fabric fabric_;
    Names nodes_, switches_, blocks_;
    std::vector<ChildList> child_lists_;
    std::size_t references_ = 0;
};

/// Text from a file for a message: quoted, printable, cut after 60 bytes.
[[nodiscard]] std::string shown(std::string_view text);

/// The names of a list in a Field; fails with its key and place.
[[nodiscard]] Result<std::vector<std::string>> expand(const Field& list);

}  // namespace railhead::fabric
