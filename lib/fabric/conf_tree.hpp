// A configuration file with the files that it includes, line by line, and the settings of a line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "fabric/cluster.hpp"
#include "fabric/conf_file.hpp"

namespace railhead::fabric {

/// The folder of a path, with its slash; "" when it has none.
[[nodiscard]] std::string folder_of(std::string_view path);

/// Reads a file and, where it says Include, others, as one.
class ConfTree {
 public:
    using OnLine = std::function<Result<>(const ConfReader&, const std::vector<ConfItem>&)>;

    /// `folder`: what relative Include paths start from.  `cluster_name` is read when an Include
    /// has "%c" and may change until then.
    ConfTree(const ReadFile& read, std::string folder, const std::string& cluster_name,
             std::vector<Error>& warnings)
        : read_{read},
          folder_{std::move(folder)},
          cluster_name_{cluster_name},
          warnings_{warnings} {}

    /// Calls `on_line` for every line of `path` and of what it includes; fails as that does, or
    /// when `path` itself cannot be read.
    Result<> read(const std::string& path, const OnLine& on_line);

 private:
    Result<> read_text(std::string_view text, const std::string& path, const OnLine& on_line);
    Result<> include(const ConfReader& reader, const std::vector<ConfItem>& items,
                     const OnLine& on_line);
    [[nodiscard]] std::string path_of(std::string_view written) const;

    const ReadFile& read_;
    std::string folder_;
    const std::string& cluster_name_;
    std::vector<Error>& warnings_;
    unsigned depth_ = 0;
    unsigned files_ = 0;
};

/// The keys of a line, in any case, and their values.  Later ones win.
class Settings {
 public:
    /// Takes the items of a line; words without "=" and ambiguous ones become warnings.
    void add(const ConfReader& reader, const std::vector<ConfItem>& items,
             std::vector<Error>& warnings);
    /// Empty when there is none, or it is empty.
    [[nodiscard]] std::string_view find(std::string_view key) const;
    [[nodiscard]] const Position& where() const { return where_; }

 private:
    std::vector<std::pair<std::string, std::string>> values_;
    Position where_;
};

}  // namespace railhead::fabric
