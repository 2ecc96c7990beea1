// What kinds of storage can do, each figure with its source.
//
// config/catalogue/storage.toml is built in; a site adds its own in files of the same form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::plan {

/// A number and where it is from.
struct Figure {
    double value = 0;  ///< bytes a second, or operations a second
    std::string source;
    bool is_guess = false;
};

/// A kind of storage.  What has no limit, or none that was published, is absent.
struct Store {
    std::string name;  ///< as people type it: "lustre"
    std::string what;
    std::string unit;               ///< what it is built of: "OSS"
    bool in_nodes = false;          ///< each node has its own, and sees no other's
    bool metadata_by_unit = false;  ///< creates and opens are limited a unit, not a metadata server
    bool gds = false;  ///< GPUs can read it without the CPU's memory (GPUDirect Storage)

    std::optional<Figure> client_write, client_read;  ///< the most of one node, bytes/s
    std::optional<Figure> unit_write, unit_read;      ///< the most of one unit, bytes/s
    std::optional<Figure> client_reads, unit_reads;   ///< random reads of 4 KiB a second
    std::optional<Figure> creates, opens;             ///< files a second and metadata server
};

/// Reads stores from TOML; `file` names it in messages.
///
/// Fails with every error found: a syntax error (then it is the only one), unknown keys with "did
/// you mean", a figure without a number or without a source, a store without a name or named twice.
[[nodiscard]] tl::expected<std::vector<Store>, std::vector<Error>> parse_stores(
    std::string_view text, const std::string& file);

/// Those of config/catalogue/storage.toml.
[[nodiscard]] const std::vector<Store>& built_in_stores();

/// Puts `more` over `stores`: one of the same name takes the other's place.
void add_stores(std::vector<Store>& stores, std::vector<Store> more);

/// The store of this name, without regard to case.  Fails with `not_found`, and what may have been
/// meant.
[[nodiscard]] Result<const Store*> find_store(const std::vector<Store>& stores,
                                              std::string_view name);

}  // namespace railhead::plan
